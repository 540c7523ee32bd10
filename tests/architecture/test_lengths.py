"""Files, functions and kernels stay short; exceptions are named here, with the reason."""

import pytest

from tests.architecture.sources import (
    functions,
    is_kernel,
    n_lines,
    package_files,
    python_files,
    relative,
)

MAX_FILE = 300
MAX_FUNCTION = 60
MAX_KERNEL = 40

# "path": "reason", or "path::function": "reason"
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}


@pytest.mark.parametrize("path", python_files(), ids=relative)
def test_file_length(path):
    count = len(path.read_text(encoding="utf-8").splitlines())
    assert count <= MAX_FILE or relative(path) in LONG_FILES, f"{relative(path)}: {count} lines"


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_function_length(path):
    for function in functions(path):
        allowed = MAX_KERNEL if is_kernel(function) else MAX_FUNCTION
        name = f"{relative(path)}::{function.name}"
        assert n_lines(function) <= allowed or name in LONG_FUNCTIONS, (
            f"{name}: {n_lines(function)} lines, {allowed} allowed"
        )


def test_every_exception_is_still_needed():
    lengths = {relative(path): len(path.read_text().splitlines()) for path in python_files()}
    for name in LONG_FILES:
        assert lengths.get(name, 0) > MAX_FILE, f"{name} is no longer long: drop the exception"
    long = {
        f"{relative(path)}::{function.name}"
        for path in package_files()
        for function in functions(path)
        if n_lines(function) > (MAX_KERNEL if is_kernel(function) else MAX_FUNCTION)
    }
    assert set(LONG_FUNCTIONS) <= long, "an exception for a short function"
