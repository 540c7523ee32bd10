"""Run the code of a page, and write what it printed back into the page.

    python docs/run_page.py README.md docs/gallery.md

Blocks marked ``python`` run in order in one namespace, those marked ``console`` line by line
through the command line; a ``text`` block that follows is replaced by what was printed. A block
that begins with the name of a file quotes it, and is not run. Pictures go to docs/figures.
`tests/docs` runs the same blocks, compares what they print with the page, and quotations with their
files.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS / "examples"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A quotation names its file in a comment of its own line.
QUOTED = re.compile(r"# ((?:docs|src|tests)/\S+\.py)\n")
# Run by the tests: the other commands a page shows need a network, a cluster or hours.
OURS = "shtarkov "


class Block(NamedTuple):
    """One block of code, and the output shown for it.

    Attributes
    ----------
    language, code : as marked
    line : where it starts in the page
    shown : text of the ``text`` block after it, or None
    span : where that text stands in the page
    """

    language: str
    code: str
    line: int
    shown: str | None
    span: tuple[int, int]


def blocks_of(text: str) -> list[Block]:
    """Read the blocks of a page; output belongs to the block before it if only blanks separate."""
    found = list(FENCE.finditer(text))
    blocks = []
    for index, match in enumerate(found):
        if match[1] not in ("python", "console") or QUOTED.match(match[2]):
            continue
        follower = found[index + 1] if index + 1 < len(found) else None
        shown, span = None, (0, 0)
        if (
            follower is not None
            and follower[1] == "text"
            and not text[match.end() : follower.start()].strip()
        ):
            shown, span = follower[2], follower.span(2)
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(match[1], match[2], line, shown, span))
    return blocks


def run_block(block: Block, namespace: dict[str, Any], name: str) -> str:
    """Run one block in the current folder and return what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        if block.language == "python":
            code = "\n" * block.line + block.code  # so that a traceback names the page's line
            exec(compile(code, name, "exec"), namespace)
        else:
            for command in _commands(block.code):
                _run_command(command)
    return printed.getvalue()


def _commands(code: str) -> Iterator[str]:
    for line in code.replace("\\\n", " ").splitlines():
        command = line.split("  #")[0].strip()
        if command.startswith(OURS):
            yield command


def _run_command(command: str) -> None:
    from shtarkov.cli.app import _run

    status = _run(shlex.split(command)[1:])
    if status != 0:
        msg = f"{command}: exit code {status}"
        raise RuntimeError(msg)


def quiet_settings() -> None:
    """Draw without a window, and the same file from the same numbers."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "shtarkov", "svg.fonttype": "none"})
    os.environ.setdefault("COLUMNS", "100")


def rewrite(page: Path) -> None:
    """Run the page in docs/figures and put what was printed into it."""
    text = page.read_text(encoding="utf-8")
    pieces, done = [], 0
    namespace: dict[str, Any] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks_of(text):
            printed = run_block(block, namespace, str(page))
            if block.shown is not None:
                start, end = block.span
                clean = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
                pieces += [text[done:start], clean]
                done = end
        for picture in Path().glob("*.svg"):
            shutil.copy(picture, DOCS / "figures")
    page.write_text("".join([*pieces, text[done:]]), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(EXAMPLES))
    quiet_settings()
    for argument in sys.argv[1:]:
        rewrite(Path(argument).resolve())
