"""The two decorators every compiled function goes through.

`kernel` compiles one function. `generic` makes a function that is dispatched on the type of its
first argument (a family NamedTuple), from Python and from inside compiled code alike, with a single
registration. NamedTuple arguments with type-selected functions are cached on disk across processes;
jitclasses and functions passed as arguments are not (docs/developer/design.md has the measurement).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba.core import types as numba_types
from numba.extending import overload

# error_model="numpy": division by zero gives inf or nan, which the status checks look for.
# No fastmath: those checks must be able to see nan and inf.
kernel: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")

# For loops that only add and multiply (dot products, axpy): lets the compiler reorder sums and so
# vectorise them. nan and inf keep their meaning: only `reassoc` and `contract` are switched on.
reduction_kernel: Callable[..., Any] = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}
)


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

    @overload(dispatch, strict=False, jit_options={"error_model": "numpy", "nogil": True})
    def select(*args: Any) -> Callable[..., Any] | None:
        family = args[0]
        if isinstance(family, numba_types.NamedTuple | numba_types.NamedUniTuple):
            return implementations.get(family.instance_class)
        return None

    dispatch.register = register  # type: ignore[assignment]
    return dispatch
