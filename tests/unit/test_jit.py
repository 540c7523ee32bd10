"""The compiled-function decorators: dispatch on the family's type, and the cache on disk."""

from typing import NamedTuple

import numpy as np
import pytest

from shtarkov._jit import bare_kernel, generic, inlined_kernel, kernel, reduction_kernel
from tests.toy_kernels import INNER, make_toy_package, measure


class Scaled(NamedTuple):
    factor: float


class Shifted(NamedTuple):
    offset: float
    times: int


@generic
def transform(family, value):
    """Return the family's image of value."""


@transform.register(Scaled)
def _transform_scaled(family, value):
    return family.factor * value


@transform.register(Shifted)
def _transform_shifted(family, value):
    return family.offset * family.times + value


@kernel
def repeat_transform(family, value, n_times):
    for _ in range(n_times):
        value = transform(family, value)
    return value


@kernel
def ratio(numerator, denominator):
    return numerator / denominator


@reduction_kernel
def inner(left, right):
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


@pytest.mark.parametrize(
    ("family", "expected"),
    [(Scaled(2.0), 24.0), (Shifted(1.5, 2), 12.0)],
    ids=["scaled", "shifted"],
)
def test_generic_selects_by_type_in_python_and_inside_a_kernel(family, expected):
    value = 3.0
    for _ in range(3):
        value = transform(family, value)
    assert value == expected
    assert repeat_transform(family, 3.0, 3) == expected


def test_generic_names_the_missing_implementation():
    class Unknown(NamedTuple):
        factor: float

    with pytest.raises(NotImplementedError, match="transform is not implemented for Unknown"):
        transform(Unknown(1.0), 1.0)


def test_generic_keeps_the_contract_as_its_documentation():
    assert transform.__doc__ == "Return the family's image of value."


@pytest.mark.needs_jit
def test_kernels_divide_as_numpy_does():
    assert ratio(1.0, 0.0) == np.inf
    assert np.isnan(ratio(0.0, 0.0))


@bare_kernel
def sum_of_first(arrays):
    return arrays[0][0] + arrays[1][0]


def test_bare_kernel_reads_fields_and_leaves_them_alive():
    arrays = (np.ones(2), np.full(2, 3.0))
    assert sum_of_first(arrays) == 4.0
    assert arrays[1].tolist() == [3.0, 3.0]


@inlined_kernel
def raised(value):
    if value < 0.0:
        return 0.0
    return value + 1.0


@kernel
def raise_twice(value):
    return raised(raised(value))


def test_inlined_kernel_works_from_both_sides():
    assert raised(1.0) == 2.0
    assert raise_twice(1.0) == 3.0
    assert raise_twice(-3.0) == 1.0


def test_reduction_kernel_sees_nan_and_infinity():
    ones = np.ones(9)
    assert np.isnan(inner(np.full(9, np.nan), ones))
    assert inner(np.full(9, np.inf), ones) == np.inf
    assert inner(np.arange(9.0), ones) == 36.0


# ---- the cache on disk, measured in processes of their own --------------------------------


@pytest.mark.needs_jit
def test_second_process_loads_a_family_kernel_from_disk_until_a_callee_is_edited(tmp_path):
    package = make_toy_package(tmp_path)
    assert measure(tmp_path)[:3] == (50.0, 0, 1)
    assert measure(tmp_path)[:3] == (50.0, 1, 0)
    # The caller's file is untouched: numba alone would go on returning 50.
    (package / "linalg" / "inner.py").write_text(INNER.format(increment=2.0))
    assert measure(tmp_path)[:3] == (60.0, 0, 1)
    assert measure(tmp_path)[:3] == (60.0, 1, 0)
