"""The command line in a process of its own, as for its own tests."""

from tests.cli.conftest import cli_process

__all__ = ["cli_process"]
