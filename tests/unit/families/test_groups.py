"""What `GroupLasso` accepts as groups, and how it says no."""

import numpy as np
import pandas as pd
import pytest

from shtarkov import GroupLasso, groups_by_prefix
from shtarkov.errors import InvalidProblem

X = np.arange(24.0).reshape(4, 6) ** 0.5
FRAME = pd.DataFrame(X, columns=["a_1", "a_2", "b_1", "b_2", "b_3", "c"])


def test_labels_and_lists_say_the_same():
    by_label = GroupLasso(X, ["u", "u", "v", "v", "v", "w"])
    by_list = GroupLasso(X, [[0, 1], (2, 4, 3), np.array([5])])
    by_name = GroupLasso(FRAME, [["a_2", "a_1"], ["b_1", "b_2", "b_3"], ["c"]])
    by_prefix = GroupLasso(FRAME, groups_by_prefix(FRAME))
    for problem in (by_label, by_list, by_name, by_prefix):
        assert problem.groups.group_of.tolist() == [0, 0, 1, 1, 1, 2]
        assert problem.groups.sizes.tolist() == [2, 3, 1]
        assert problem.weights == pytest.approx(np.sqrt([2, 3, 1]))
    assert by_label.groups.names == ("u", "v", "w")
    assert by_prefix.groups.names == ("a", "b", "c")
    assert "n_groups=3" in repr(by_label)
    assert by_label.penalties(2.0) == (2.0, 0.0)


def test_groups_are_numbered_by_first_appearance():
    problem = GroupLasso(X, [7, 3, 7, 3, 3, 9], weights=[1.0, 2.0, 3.0])
    assert problem.groups.group_of.tolist() == [0, 1, 0, 1, 1, 2]
    assert problem.groups.names == ("7", "3", "9")


def test_unpenalised_columns_have_no_group():
    problem = GroupLasso(X, ["u", None, "u", "v", "v", "v"], unpenalised=[1], fit_intercept=True)
    assert problem.groups.group_of.tolist() == [0, 0, 1, 1, 1]
    lists = GroupLasso(X, [[0, 2], [3, 4, 5]], unpenalised=[1])
    assert lists.groups.group_of.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ([[0, 1], [1, 2, 3, 4, 5]], "column 1 is in groups 0 and 1"),
        ([[0, 1], [2, 3]], "2 columns are in no group, column 4"),
        ([[0, 1, 1], [2, 3, 4, 5]], "lists a column twice"),
        ([[0, 1, 2, 3, 4, 5], []], "group 1 has no columns"),
        ([[0, 1, 2], [3, 4, 6]], "group 1 must hold column indices"),
        ([["x"], [1, 2, 3, 4, 5]], "group 0 names columns"),
        (["u", "v"], "2 labels for 6 columns"),
        (["u", "u", "v", "v", None, "w"], "column 4 has no group label"),
        (["u", "u", "v", "v", np.nan, "w"], "column 4 has no group label"),
        (["u", [1], "v", "v", "v", "w"], "mixes labels and lists"),
        ([], "groups is empty"),
        ("uuvvvw", "a label per column or lists"),
        (3, "a label per column or lists"),
    ],
)
def test_what_is_not_a_partition_is_refused(groups, complaint):
    with pytest.raises(InvalidProblem, match=complaint):
        GroupLasso(X, groups)


def test_names_are_used_in_complaints():
    with pytest.raises(InvalidProblem, match="column 'b_1' is in groups 0 and 1"):
        GroupLasso(FRAME, [["a_1", "a_2", "b_1"], ["b_1", "b_2", "b_3", "c"]])
    with pytest.raises(InvalidProblem, match="column 'c' is both unpenalised and in a group"):
        GroupLasso(FRAME, [["a_1", "a_2"], ["b_1", "b_2", "b_3", "c"]], unpenalised=["c"])


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, 0.0], [1.0, np.nan], [[1.0, 1.0]]])
def test_weights_are_positive_and_one_per_group(weights):
    with pytest.raises(InvalidProblem, match="weights must be 2 positive numbers"):
        GroupLasso(X, [[0, 1, 2], [3, 4, 5]], weights)


def test_prefixes():
    assert groups_by_prefix(["a__1", "a__2", "b", "_x"], "__") == ["a", "a", "b", "_x"]
    assert groups_by_prefix(["day of week_1", "_x"]) == ["day of week", "_x"]
    with pytest.raises(InvalidProblem, match="names that are strings"):
        groups_by_prefix(pd.DataFrame(X))
    with pytest.raises(InvalidProblem, match="separator"):
        groups_by_prefix(["a"], "")
