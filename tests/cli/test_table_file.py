"""Tables are read as they are, or refused with the name of what is wrong."""

import sys

import numpy as np
import pytest

from shtarkov.cli.table_file import read_table
from shtarkov.errors import InvalidProblem


def write(tmp_path, text, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_delimiters_line_ends_and_byte_order_marks(tmp_path, delimiter, newline, mark):
    rows = [["a", "the target", "c"], ["1", "2", "3e2"], ["4", " 5", "-6"]]
    path = write(tmp_path, mark + newline.join(map(delimiter.join, rows)) + newline)
    table = read_table(path, None, "the target")
    assert table.names == ("a", "c")
    np.testing.assert_array_equal(table.X, [[1, 300], [4, -6]])
    np.testing.assert_array_equal(table.y, [2, 5])


def test_quoted_names_may_hold_the_delimiter(tmp_path):
    path = write(tmp_path, '"a, b",c,y\n1,2,3\n4,5,6\n')
    assert read_table(path, None, "y").names == ("a, b", "c")


def test_columns_can_be_left_out(tmp_path):
    path = write(tmp_path, "id,a,y\nA1,1,2\nA2,3,4\n")
    assert read_table(path, None, "y", ["id"]).names == ("a",)


def test_without_a_target_all_columns_are_the_design(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,2\n3,5\n"), None, None, needs_target=False)
    assert table.y is None
    assert table.X.shape == (2, 2)


def test_missing_values_become_nan_where_that_is_allowed(tmp_path):
    path = write(tmp_path, "a,y\n1,2\nNA,4\n,5\n")
    table = read_table(path, None, "y", allow_missing=True)
    np.testing.assert_array_equal(table.X[:, 0], [1, np.nan, np.nan])


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("a,y\n1,2\n", {"target": "z"}, "there is no column 'z'; there are a, y"),
        ("age,y\n1,2\n", {"target": "aeg"}, "did you mean 'age'"),
        ("a,y\n1,2\n", {"target": None}, "--target, one of a, y"),
        ("a,y\n1,2\n", {"drop": ["b"]}, "there is no column 'b'"),
        ("a,y\n1,2\n", {"drop": ["a"]}, "no column is left"),
        ("a,b,y\n1,red,2\n", {}, "column 'b' of .* is not numeric: row 1 holds 'red'.*--drop b"),
        ("a,b,y\n1,2,3\n1,,2\n", {}, "column 'b' has 1 missing or infinite value;"),
        ("a,b,y\ninf,,3\n1,,2\n", {}, r"column 'b' has 2 missing .* \(so have 'a'\)"),
        ("a,y\n1,2\n1\n", {}, "row 3 of .* has 1 values, the header 2 names"),
        ("a,a,y\n1,2,3\n", {}, "more than one column named 'a'"),
        ("1,2\n3,4\n", {"target": "2"}, "first line of .* is all numbers"),
        ("a,y\n1,good\n", {}, "row 1 holds 'good'; for labels of two values use --family sparse"),
        ("a,y\n1,2\n1,\n", {}, "column 'y' has 1 missing .* value; drop those rows"),
        ("a;y\n1,5;2\n", {}, "row 1 holds '1,5'; write decimals with a point"),
        ("a,y\n", {}, "at least one row of numbers"),
        ("", {}, "at least one row of numbers"),
    ],
)
def test_complaints_name_what_to_change(tmp_path, text, options, complaint):
    path = write(tmp_path, text)
    with pytest.raises(InvalidProblem, match=complaint):
        read_table(path, None, options.get("target", "y"), options.get("drop", ()))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidProblem, match="there is no file"):
        read_table(tmp_path / "none.csv", None, "y")
    with pytest.raises(InvalidProblem, match="is a folder"):
        read_table(tmp_path, None, "y")
    with pytest.raises(InvalidProblem, match="not text in UTF-8"):
        read_table(write(tmp_path, "ä,y\n1,2\n", encoding="latin-1"), None, "y")
    with pytest.raises(InvalidProblem, match="is a workbook; save its sheet as CSV"):
        read_table(write(tmp_path, "PK", "book.xlsx"), None, "y")
    with pytest.raises(InvalidProblem, match="name one table"):
        read_table(None, None, "y")
    with pytest.raises(InvalidProblem, match="no demo 'iris'"):
        read_table(None, "iris", "y")


def test_parquet_is_read_with_its_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    columns = {"a": [1, 2, 3], "flag": [True, False, True], "b": [0.5, None, 1.5], "y": [1.0] * 3}
    parquet.write_table(pa.table({**columns, "city": ["x", "y", "z"]}), path)
    table = read_table(path, None, "y", ["city"], allow_missing=True)
    np.testing.assert_array_equal(table.X, [[1, 1, 0.5], [2, 0, np.nan], [3, 1, 1.5]])
    with pytest.raises(InvalidProblem, match="column 'city'"):
        read_table(path, None, "y", allow_missing=True)
    with pytest.raises(InvalidProblem, match="column 'b' has 1 missing"):
        read_table(path, None, "y", ["city"])
    with pytest.raises(InvalidProblem, match="not a Parquet file"):
        read_table(write(tmp_path, "a,y\n1,2\n", "text.parquet"), None, "y")


def test_parquet_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, "", "table.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidProblem, match=r"pip install 'shtarkov\[tables\]'"):
        read_table(path, None, "y")
