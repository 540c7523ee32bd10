"""The command line: `shtarkov select data.csv --target y` and its siblings.

Standard output is the answer, standard error is for progress and for one line about what went
wrong. Exit codes: 0 an answer, 1 a run that failed, 2 input to change, 130 Ctrl-C before any
answer. Nothing heavy is imported until a command runs.
"""

from shtarkov.cli.app import main

__all__ = ["main"]
