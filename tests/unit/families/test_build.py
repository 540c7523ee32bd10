"""Checks of options, data vectors and weights, and the two scalings of the penalty."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families import build


@pytest.mark.parametrize(
    "good", [1, 0.5, np.float32(2.0), np.int64(3), np.array(1.5), 1e-100, 1e100]
)
def test_a_positive_number_is_a_penalty_and_a_noise_scale(good):
    assert build.check_lam(good) == float(good)
    assert build.check_sigma(good) == float(good)


@pytest.mark.parametrize(
    "bad",
    [
        0,
        0.0,
        -1.0,
        np.nan,
        np.inf,
        -np.inf,
        True,
        np.True_,
        "1",
        b"1",
        None,
        1j,
        [1.0],
        1e-150,
        1e150,
    ],
)
@pytest.mark.parametrize(
    ("check", "name"), [(build.check_lam, "lam"), (build.check_sigma, "sigma")]
)
def test_anything_else_is_refused_by_name(check, name, bad):
    with pytest.raises(InvalidProblem, match=name):
        check(bad)


def test_lam_zero_says_why():
    with pytest.raises(InvalidProblem, match="nothing is penalised and the complexity integral"):
        build.check_lam(0.0)


def test_a_ridge_may_be_zero_but_not_negative():
    assert build.check_non_negative(0, "lam2") == 0.0
    for bad in (-1e-9, np.nan, np.inf, "x", True):
        with pytest.raises(InvalidProblem, match="lam2"):
            build.check_non_negative(bad, "lam2")


def test_penalties_in_any_order_and_repeated_are_sorted_and_found_again():
    given = np.array([0.5, 3.0, 0.5, 1.0, 3.0])
    grid = build.check_lams(given)
    np.testing.assert_array_equal(grid.lams, [3.0, 1.0, 0.5])
    np.testing.assert_array_equal(grid.lams[grid.position], given)
    assert grid.lams.flags.c_contiguous


@pytest.mark.parametrize(
    "bad",
    [[], 1.0, [[1.0]], [1.0, np.nan], [1.0, 0.0], [1.0, -2.0], ["a"], [[1.0], [1.0, 2.0]], None],
)
def test_a_list_of_penalties_must_be_one(bad):
    with pytest.raises(InvalidProblem):
        build.check_lams(bad)


def test_alpha_is_lam_per_row():
    assert build.alpha_to_lam(0.25, 8) == 2.0
    assert build.lam_to_alpha(2.0, 8) == 0.25


@pytest.mark.parametrize(
    "y",
    [[1, 2, 3], np.float32([1, 2, 3]), np.array([True, False, True]), range(3), np.arange(6)[::2]],
)
def test_a_response_becomes_a_float64_copy(y):
    vector = build.check_response(y, 3)
    assert vector.dtype == np.float64
    assert vector.shape == (3,)
    np.testing.assert_array_equal(vector, np.asarray(y, dtype=float))


def test_a_response_is_copied_and_may_be_read_only():
    y = np.arange(3.0)
    y.flags.writeable = False
    vector = build.check_response(y, 3)
    assert vector.flags.writeable
    assert not np.shares_memory(vector, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, np.inf], "2 NaN or infinite values, the first at row 1"),
        ([1.0, 2.0], "2 entries but X has 3 rows"),
        (np.ones((3, 1)), r"one-dimensional.*ravel"),
        (1.0, "one-dimensional"),
        (["a", "b", "c"], "not numeric"),
        (np.array([1, 2, 3], dtype=object), "not numeric"),
        (np.array([1j, 2, 3]), "complex"),
        ([1e150, 1.0, 1.0], "rescale"),
        ([1e-150, 0.0, 0.0], "rescale"),
        ([[1.0], [1.0, 2.0], 3.0], "one-dimensional"),
        (np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "masked"),
    ],
)
def test_a_bad_response_says_what_to_change(y, message):
    with pytest.raises(InvalidProblem, match=message):
        build.check_response(y, 3)


def test_an_all_zero_response_is_fine():
    np.testing.assert_array_equal(build.check_response(np.zeros(4), 4), np.zeros(4))


def test_series_are_read_with_missing_values_named():
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(build.check_response(pandas.Series([1, 2]), 2), [1.0, 2.0])
    nullable = pandas.Series([1, 2], dtype="Int64")
    np.testing.assert_array_equal(build.check_response(nullable, 2), [1.0, 2.0])
    with pytest.raises(InvalidProblem, match="first at row 1"):
        build.check_response(pandas.Series([1, None], dtype="Int64"), 2)
    with pytest.raises(InvalidProblem, match="not numeric"):
        build.check_response(pandas.Series(["a", "b"]), 2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "negative at row 1"),
        ([0.0, 0.0], "every sample_weight is zero"),
        ([1.0, np.inf], "NaN or infinite"),
        ([1.0, np.nan], "NaN or infinite"),
        ([1.0, 1e-200], "between"),
        ([1.0], "1 entries but X has 2 rows"),
    ],
)
def test_bad_weights_say_what_to_change(weights, message):
    with pytest.raises(InvalidProblem, match=message):
        build.check_weights(weights, 2)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, []),
        ([], []),
        ([2, 0, 2], [0, 2]),
        (-1, [2]),
        ("b", [1]),
        (["c", "a"], [0, 2]),
        (np.array(["c"], dtype=object), [2]),
        ([True, False, True], [0, 2]),
    ],
)
def test_columns_by_index_name_or_mask(columns, expected):
    np.testing.assert_array_equal(build.check_columns(columns, 3, ("a", "b", "c")), expected)


@pytest.mark.parametrize("bad", [[3], [-4], ["d"], [True], [[0]], [0.5], [[0], [0, 1]], [("a",)]])
def test_columns_that_do_not_exist_are_named(bad):
    with pytest.raises(InvalidProblem, match="unpenalised"):
        build.check_columns(bad, 3, ("a", "b", "c"))


def test_a_repeated_name_is_ambiguous_and_a_nameless_design_has_none():
    for names in (("a", "a"), None):
        with pytest.raises(InvalidProblem, match="exactly once"):
            build.check_columns("a", 2, names)


def test_memory_is_checked_before_allocating(monkeypatch):
    monkeypatch.setattr(build, "available_memory", lambda: 2**30)
    build.check_memory(2**30, "a thing", "make it smaller")
    with pytest.raises(InvalidProblem, match=r"a thing needs 3.0 GiB but 1.0 GiB.*make it smaller"):
        build.check_memory(3 * 2**30, "a thing", "make it smaller")
    monkeypatch.setattr(build, "available_memory", lambda: None)
    build.check_memory(2**60, "a thing", "make it smaller")


def test_available_memory_reads_the_system_and_the_control_group(monkeypatch, tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:  4000 kB\n")
    monkeypatch.setattr(build, "_PROC_MEMINFO", meminfo)
    monkeypatch.setattr(build, "_CGROUP", tmp_path / "absent")
    assert build.available_memory() == 4000 * 1024
    group = tmp_path / "group"
    group.mkdir()
    monkeypatch.setattr(build, "_CGROUP", group)
    (group / "memory.max").write_text("max\n")
    assert build.available_memory() == 4000 * 1024
    (group / "memory.max").write_text("3000\n")
    (group / "memory.current").write_text("1000\n")
    assert build.available_memory() == 2000
    monkeypatch.setattr(build, "_PROC_MEMINFO", tmp_path / "absent")
    assert build.available_memory() == 2000
