"""Which columns belong together: the checks behind `GroupLasso(X, groups)`.

Groups are a partition of the penalised columns, given as a list of lists of columns (numbers or
names), or as one label per column. `groups_by_prefix` makes labels from column names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_columns, check_non_negative
from shtarkov.types import Floats, Ints


class Groups(NamedTuple):
    """A partition of the penalised columns.

    Attributes
    ----------
    group_of : (D,) number of each penalised column's group
    names : the groups' labels, or their numbers in the list given
    """

    group_of: Ints
    names: tuple[str, ...]

    @property
    def sizes(self) -> Ints:
        """Columns of each group."""
        return np.bincount(self.group_of, minlength=len(self.names)).astype(np.int64)


def groups_by_prefix(columns: Any, separator: str = "_") -> list[str]:
    """Label each column by what its name has before the last separator.

    Dummy variables made by pandas' ``get_dummies`` or scikit-learn's ``OneHotEncoder`` are named
    ``variable_level``: with this they form one group per variable.

    Parameters
    ----------
    columns : a DataFrame, or its column names
    separator : what stands between the group's name and the rest; a column without one is a group
        of its own

    Examples
    --------
    >>> groups_by_prefix(["colour_red", "colour_blue", "size"])
    ['colour', 'colour', 'size']
    """
    names = list(getattr(columns, "columns", columns))
    if not separator or not all(isinstance(name, str) for name in names):
        msg = "groups_by_prefix needs column names that are strings and a separator"
        raise InvalidProblem(msg)
    return [name.rpartition(separator)[0] or name for name in names]


def read_groups(
    groups: Any, n_columns: int, penalised: Ints, names: tuple[str, ...] | None
) -> Groups:
    """Check a user's groups of the columns of X.

    Parameters
    ----------
    groups : lists of columns, or a label for each column
    n_columns : columns of X
    penalised : which of them are penalised, ascending; labels of the others are ignored
    names : the column names, when they are strings
    """
    items = _listed(groups)
    if not items:
        raise InvalidProblem("groups is empty; give a label per column or lists of columns")
    of_columns = [_is_list(item) for item in items]
    if all(of_columns):
        return _from_lists(items, n_columns, penalised, names)
    if any(of_columns):
        raise InvalidProblem("groups mixes labels and lists of columns; give one or the other")
    if len(items) != n_columns:
        msg = f"groups has {len(items)} labels for {n_columns} columns of X; give one for each"
        raise InvalidProblem(msg)
    labels = [_label(items[column], column) for column in penalised]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return Groups(np.array([numbers[label] for label in labels]), tuple(numbers))


def _listed(groups: Any) -> list[Any]:
    if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__"):
        msg = f"groups must hold a label per column or lists of columns; got {groups!r}"
        raise InvalidProblem(msg)
    return list(groups)


def _is_list(item: Any) -> bool:
    return isinstance(item, Sequence | np.ndarray | set | frozenset) and not isinstance(
        item, str | bytes
    )


def _label(item: Any, column: int) -> str:
    """Give a label as text; a missing one is refused."""
    missing = item is None or (isinstance(item, float | np.floating) and np.isnan(item))
    if missing:
        msg = f"column {column} has no group label; give it one of its own to leave it alone"
        raise InvalidProblem(msg)
    return str(item)


def _from_lists(
    lists: list[Any], n_columns: int, penalised: Ints, names: tuple[str, ...] | None
) -> Groups:
    owner = np.full(n_columns, -1, dtype=np.int64)
    for number, members in enumerate(lists):
        if len(members) == 0:
            msg = f"group {number} has no columns; leave it out"
            raise InvalidProblem(msg)
        columns = check_columns(list(members), n_columns, names, f"group {number}")
        if columns.size != len(members):
            msg = f"group {number} lists a column twice: {list(members)!r}"
            raise InvalidProblem(msg)
        for column in columns:
            if owner[column] >= 0:
                msg = (
                    f"{_name(column, names)} is in groups {owner[column]} and {number}; groups may "
                    "not overlap (repeat the column in X to let it serve in both)"
                )
                raise InvalidProblem(msg)
            owner[column] = number
    free = np.setdiff1d(np.arange(n_columns), penalised)
    grouped_free = free[owner[free] >= 0]
    if grouped_free.size:
        msg = f"{_name(grouped_free[0], names)} is both unpenalised and in a group; choose one"
        raise InvalidProblem(msg)
    missing = penalised[owner[penalised] < 0]
    if missing.size:
        msg = (
            f"{missing.size} columns are in no group, {_name(missing[0], names)} the first; give "
            "each a group (of one, to leave it alone) or list it as unpenalised"
        )
        raise InvalidProblem(msg)
    return Groups(owner[penalised], tuple(str(number) for number in range(len(lists))))


def _name(column: int, names: tuple[str, ...] | None) -> str:
    return f"column {int(column)}" if names is None else f"column {names[column]!r}"


def check_group_weights(weights: ArrayLike | None, sizes: Ints) -> Floats:
    """Give each group's weight in the norm: the root of its size unless the user says otherwise."""
    if weights is None:
        return np.sqrt(sizes.astype(np.float64))
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != sizes.shape or not np.all(np.isfinite(given)) or np.any(given <= 0.0):
        msg = f"weights must be {sizes.size} positive numbers, one per group; got {weights!r}"
        raise InvalidProblem(msg)
    return given


def check_l1_ratio(value: float) -> float:
    """Give the share of the absolute values in the penalty."""
    ratio = check_non_negative(value, "l1_ratio")
    if ratio >= 1.0:
        raise InvalidProblem("l1_ratio must be below 1: with 1 the groups play no part; use Lasso")
    return ratio
