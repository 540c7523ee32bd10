"""Read a table from a CSV or Parquet file: a numeric design, a target, and clear complaints."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats

DELIMITERS = ",;\t|"
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
MISSING = {"", "na", "n/a", "nan", "null", "none", "."}
DEMOS = ("diabetes",)


class Table(NamedTuple):
    """A design and, if one was asked for, its target.

    Attributes
    ----------
    source : file name or demo, for headings
    X : (N, D); missing values are NaN if they were allowed
    names : of the columns of X
    y : (N,) numbers, or labels if those were asked for, or None
    target : its name
    """

    source: str
    X: Floats
    names: tuple[str, ...]
    y: Any
    target: str | None


def read_table(
    file: Path | None,
    demo: str | None,
    target: str | None,
    drop: Sequence[str] = (),
    *,
    needs_target: bool = True,
    allow_missing: bool = False,
    labels: bool = False,
) -> Table:
    """Read the table a command names: a file, or data shipped with scikit-learn.

    With `labels` the target is a column of any two values.
    """
    if (file is None) == (demo is None):
        raise InvalidProblem("name one table: a CSV or Parquet file, or --demo diabetes")
    if file is not None:
        names, columns = _read_file(file)
        source = file.name
    else:
        names, columns = _read_demo(demo)
        source, target = f"the {demo} data", target or "target"
    if target is None and needs_target:
        msg = f"name the column to explain: --target, one of {_listed(names)}"
        raise InvalidProblem(msg)
    for name in [*drop, *([] if target is None else [target])]:
        _check_name(name, names)
    kept = [place for place, name in enumerate(names) if name not in {*drop, target}]
    if not kept:
        raise InvalidProblem("no column is left to explain the target with")
    place_of_y = None if target is None else names.index(target)
    wanted = kept if labels or place_of_y is None else [*kept, place_of_y]
    numbers: dict[int | None, Any] = {
        place: _as_numbers(columns[place], names[place], file, is_target=place == place_of_y)
        for place in wanted
    }
    if not allow_missing:
        _refuse_missing({names[place]: numbers[place] for place in wanted}, target)
    if labels and place_of_y is not None:
        numbers[place_of_y] = _as_labels(columns[place_of_y], names[place_of_y])
    return Table(
        source=source,
        X=np.column_stack([numbers[place] for place in kept]),
        names=tuple(names[place] for place in kept),
        y=numbers.get(place_of_y),
        target=target,
    )


def _read_demo(demo: str | None) -> tuple[list[str], list[Any]]:
    if demo not in DEMOS:
        msg = f"there is no demo {demo!r}; use --demo diabetes"
        raise InvalidProblem(msg)
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    return [*data.feature_names, "target"], [*data.data.T, data.target]


def _read_file(file: Path) -> tuple[list[str], list[Any]]:
    """Give the names and the columns, as text or numbers."""
    if not file.exists():
        msg = f"there is no file {file}"
        raise InvalidProblem(msg)
    if file.is_dir():
        msg = f"{file} is a folder; name a CSV or Parquet file in it"
        raise InvalidProblem(msg)
    if file.suffix.lower() in WORKBOOKS:
        msg = f"{file} is a workbook; save its sheet as CSV and name that file"
        raise InvalidProblem(msg)
    if file.suffix.lower() in (".parquet", ".pq"):
        names, columns = _read_parquet(file)
    else:
        names, columns = _read_csv(file)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        msg = f"{file} has more than one column named {twice[0]!r}; rename them"
        raise InvalidProblem(msg)
    return names, columns


def _read_parquet(file: Path) -> tuple[list[str], list[Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        msg = "reading Parquet files needs pyarrow: pip install 'shtarkov[tables]'"
        raise InvalidProblem(msg) from None
    try:
        table = parquet.read_table(file)
    except (pa.ArrowException, OSError) as error:
        msg = f"{file} is not a Parquet file that can be read: {str(error).splitlines()[0]}"
        raise InvalidProblem(msg) from None
    return list(table.column_names), [column.to_numpy() for column in table.columns]


def _read_csv(file: Path) -> tuple[list[str], list[Any]]:
    """Read text with a header line; the delimiter is the one the header has most of."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
            delimiter = max(DELIMITERS, key=header.count)
            stream.seek(0)
            rows = [row for row in csv.reader(stream, delimiter=delimiter) if row]
    except (UnicodeDecodeError, csv.Error):
        msg = f"{file} is not text in UTF-8; save it as CSV in UTF-8, or as Parquet"
        raise InvalidProblem(msg) from None
    if len(rows) < 2:
        msg = f"{file} needs a line of column names and at least one row of numbers"
        raise InvalidProblem(msg)
    names = [name.strip() or f"column {place + 1}" for place, name in enumerate(rows[0])]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            msg = f"row {number} of {file} has {len(row)} values, the header {len(names)} names"
            raise InvalidProblem(msg)
    if all(_is_number(name) for name in names):
        msg = f"the first line of {file} is all numbers; put the column names there"
        raise InvalidProblem(msg)
    return names, [list(column) for column in zip(*rows[1:], strict=True)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_numbers(column: Any, name: str, file: Path | None, *, is_target: bool) -> Floats:
    """Turn one column into numbers, with NaN where a value is missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers = np.empty(len(column))
    for place, value in enumerate(column):
        text = "" if value is None else str(value).strip()
        if text.lower() in MISSING:
            numbers[place] = np.nan
            continue
        try:
            numbers[place] = float(text)
        except ValueError:
            msg = (
                f"column {name!r} of {file} is not numeric: row {place + 1} holds {text[:40]!r}; "
                f"{_number_advice(text, name, is_target)}"
            )
            raise InvalidProblem(msg) from None
    return numbers


def _number_advice(text: str, name: str, is_target: bool) -> str:
    """Say what to do about a text where a number is needed."""
    if _is_number(text.replace(",", ".")):
        return "write decimals with a point"
    if is_target:
        return "for labels of two values use --family sparse-svm or sparse-logistic"
    return f"encode it as numbers, or leave it out with --drop {_quoted(name)}"


def _as_labels(column: Any, name: str) -> Any:
    """Turn one column into labels of two values: whole numbers if all are, else text."""
    texts = ["" if value is None else str(value).strip() for value in column]
    missing = sum(text.lower() in MISSING for text in texts)
    if missing:
        msg = f"column {name!r} has {missing} missing labels; fill them in or drop those rows"
        raise InvalidProblem(msg)
    if all(_is_number(text) for text in texts):
        numbers = np.array([float(text) for text in texts])
        whole = np.all(numbers == np.rint(numbers))
        values = numbers.astype(np.int64) if whole else numbers
    else:
        values = np.array(texts)
    found = np.unique(values)
    if found.size != 2:
        shown = _listed([str(value) for value in found.tolist()], 4)
        msg = (
            f"column {name!r} holds {found.size} distinct values ({shown}); labels take two. "
            "For numbers to predict use --family lasso"
        )
        raise InvalidProblem(msg)
    return values


def _refuse_missing(columns: dict[str, Floats], target: str | None) -> None:
    counts = {name: int(np.sum(~np.isfinite(values))) for name, values in columns.items()}
    bad = {name: count for name, count in counts.items() if count}
    if not bad:
        return
    name, count = max(bad.items(), key=lambda item: item[1])
    rest = [repr(other) for other in bad if other != name]
    others = f" (so have {', '.join(rest[:5])}{', ...' if len(rest) > 5 else ''})" if rest else ""
    values = "value" if count == 1 else "values"
    found = f"column {name!r} has {count} missing or infinite {values}{others}"
    if name == target:
        msg = f"{found}; drop those rows: it is the column to explain"
        raise InvalidProblem(msg)
    msg = (
        f"{found}; fill them in, drop those rows, or leave the column out with "
        f"--drop {_quoted(name)}"
    )
    raise InvalidProblem(msg)


def _check_name(name: str, names: list[str]) -> None:
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"there are {_listed(names)}"
    msg = f"there is no column {name!r}; {advice}"
    raise InvalidProblem(msg)


def _listed(names: Sequence[str], limit: int = 8) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"'{name}'"
