"""The decorators every compiled function goes through.

`kernel` compiles one function, `inlined_kernel` one together with its caller. `generic` makes a
function that is dispatched on the type of its first argument (a family NamedTuple), from Python and
from inside compiled code alike, with a single registration. NamedTuple arguments with type-selected
functions are cached on disk across processes; jitclasses and functions passed as arguments are not
(docs/developer/design.md has the measurement).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import types as numba_types
from numba.extending import overload

from shtarkov.kernel_cache import compile_cached

# error_model="numpy": division by zero gives inf or nan, which the status checks look for.
# No fastmath: those checks must be able to see nan and inf.
# No wrapper for calls from C: none are made, and each costs compile time.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Only compiled code calls what an overload gives: Python goes through the single dispatch.
_OVERLOAD_OPTIONS: Any = {**_OPTIONS, "no_cpython_wrapper": True}


# The rooms kernels live in; an architecture test keeps them out of the others.
KERNEL_ROOMS = ("linalg", "geometry", "families", "sampling", "complexity")


def _sources_stamp() -> tuple[tuple[str, int, int], ...]:
    """Name the state of every file a kernel can be compiled from."""
    package = Path(__file__).parent
    files = [package / "_jit.py", package / "types.py"]
    for room in KERNEL_ROOMS:
        files += sorted((package / room).rglob("*.py"))
    stats = [(str(path.relative_to(package)), path.stat()) for path in files if path.exists()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


_STAMP = _sources_stamp()


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    return compile_cached(function, options, _STAMP)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use and keep the machine code on disk."""
    return _compiled(function, _OPTIONS)


def bare_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` without reference counts: it may use arrays but not make any.

    A field read from a tuple of arrays is counted, and counted back, by atomic instructions. Short
    kernels on a large work spend most of their time there (measured: 0.8 us of 0.9).
    """
    return _compiled(function, {**_OPTIONS, "_nrt": False})


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` inside each compiled caller instead of by itself.

    Numba optimises a callee again at every level above it. The few functions between a compiled
    loop and a large callee (the solver) are written apart but compiled with the loop: a quarter of
    the first call's compile time went into the levels between.
    """
    return _compiled(function, {**_OPTIONS, "inline": "always"})


def reduction_kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop that only adds and multiplies, letting sums be reordered and so vectorised.

    nan and inf keep their meaning: of the fast-math flags only `reassoc` and `contract` are on.
    """
    return _compiled(function, {**_OPTIONS, "fastmath": {"reassoc", "contract"}})


def generic(contract: Callable[..., Any]) -> Any:
    """Turn `contract` into a function dispatched on the type of its first argument.

    The body of `contract` is never run; its signature and docstring are the contract.
    Implementations are added with ``@contract.register(FamilyType)`` and must use the same argument
    order.
    """

    @functools.singledispatch
    @functools.wraps(contract)
    def dispatch(family: Any, *args: Any) -> Any:
        msg = f"{contract.__name__} is not implemented for {type(family).__name__}"
        raise NotImplementedError(msg)

    implementations: dict[type, Callable[..., Any]] = {}
    register_python = dispatch.register

    def register(family_type: type) -> Callable[[Callable[..., Any]], Any]:
        def decorate(implementation: Callable[..., Any]) -> Any:
            compiled = kernel(implementation)
            implementations[family_type] = implementation
            register_python(family_type, compiled)
            return compiled

        return decorate

    @overload(dispatch, strict=False, jit_options=_OVERLOAD_OPTIONS)
    def select(*args: Any) -> Callable[..., Any] | None:
        family = args[0]
        if isinstance(family, numba_types.NamedTuple | numba_types.NamedUniTuple):
            return implementations.get(family.instance_class)
        return None

    dispatch.register = register  # type: ignore[assignment]
    return dispatch
