"""How docstrings are read for the API page: what stands after `name :` is a description.

Docstrings here say what a parameter means where numpydoc has its type, which the signature gives.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTIONS = ("Parameters", "Attributes")
ENTRY = re.compile(r"^(\w[\w, ]*?) : (.*)$")


def described(text: str) -> str:
    """Move the text after each entry's name to a line of its own, inside the two sections."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        if line and not line.strip("-"):
            inside = found[-1] in SECTIONS
        entry = ENTRY.match(line) if inside else None
        found += [entry[1], f"    {entry[2]}"] if entry else [line]
    return "\n".join(found)


class DescribedParameters(griffe.Extension):
    """Apply `described` to every docstring of the package."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)
