"""What the architecture tests read: every source file, parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "shtarkov"
KERNEL_DECORATORS = {"kernel", "bare_kernel", "inlined_kernel", "reduction_kernel", "register"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def package_files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def python_files() -> tuple[Path, ...]:
    folders = (PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "docs", ROOT / "examples")
    return tuple(sorted(path for folder in folders for path in folder.rglob("*.py")))


@cache
def documents() -> tuple[Path, ...]:
    suffixes = {".md", ".rst", ".toml", ".cff", ".yaml", ".yml", ".html"}
    top = [path for path in ROOT.iterdir() if path.suffix in suffixes or path.name == "Makefile"]
    deep = [path for path in (ROOT / "docs").rglob("*") if path.suffix in suffixes]
    return tuple(sorted(top + deep))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(parse(path)) if isinstance(node, Function)]


def n_lines(function: Function) -> int:
    """Count the lines from `def` to the end, the docstring included."""
    return function.end_lineno - function.lineno + 1


def is_kernel(function: Function) -> bool:
    return any(_last_name(decorator) in KERNEL_DECORATORS for decorator in function.decorator_list)


def _last_name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def imported_modules(tree: ast.AST) -> list[str]:
    """Name every module a tree imports, inside functions and TYPE_CHECKING blocks too."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names
