"""The table of awkward inputs in docs/guide/inputs.md, and where each row is demonstrated."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "inputs.md"

# Row of the page -> tests of tests/test_inputs.py that demonstrate it.
ROWS = {
    "NaN or infinity in X, y or the weights": ("a_value_that_is_not_finite_is_located",),
    "No rows or no columns": ("an_empty_design_is_refused",),
    "y of another length, or a column": ("an_empty_or_short_response_is_refused",),
    "One row": ("one_row",),
    "One column": ("one_column",),
    "A constant column": ("a_constant_column_never_enters_beside_an_intercept",),
    "A column of zeros": ("a_column_of_zeros_never_enters_and_costs_nothing",),
    "Duplicated columns": ("duplicated_columns_share_one_coefficient",),
    "Many more columns than rows": ("many_more_columns_than_rows",),
    "Rank-deficient X": ("a_rank_deficient_design_is_answered",),
    "As many active columns as rows": ("as_many_active_columns_as_rows_is_doubted",),
    "Integers, booleans, single precision": ("integers_and_single_precision_are_converted",),
    "Objects and text": ("objects_and_text_are_refused_with_the_conversion_to_make",),
    "Scales of 1e±150": (
        "scales_beyond_double_precision_are_refused",
        "any_scale_that_is_accepted_gives_the_same_choice",
        "columns_of_very_different_scales_are_answered",
    ),
    "y exactly in the column space, sigma unknown": (
        "an_exact_fit_with_an_unknown_scale_is_doubted",
    ),
    "y = 0, or constant beside an intercept": ("a_response_of_zeros_has_no_scale",),
    "Huge penalties": ("huge_penalties_leave_the_empty_model",),
    "Tiny penalties": ("tiny_penalties_are_computed_or_refused",),
    "Unsorted or repeated penalties": ("unsorted_and_repeated_penalties_come_back_as_asked",),
    "Groups that overlap or leave columns out": ("groups_that_are_no_partition_are_refused",),
    "Labels of one class, or of three": ("labels_of_one_class_are_read_and_of_three_refused",),
    "Weights that are negative or all zero": ("weights_must_count_something",),
    "Read-only memory, Fortran order, strides, sparse": (
        "layout_and_read_only_memory_do_not_matter",
    ),
    "More memory than there is": ("memory_is_estimated_before_it_is_taken",),
}


def rows_of_page():
    """Give the first column of the page's table."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    return [cell for cell in cells if cell != "input"]


# Groups of four columns that are no partition, and the complaint.
BAD_GROUPS = [
    ([[0, 1], [1, 2, 3]], "column 1 is in groups 0 and 1; groups may not overlap"),
    ([[0, 1], [3]], "1 columns are in no group, column 2 the first; give each a group"),
    ([[0, 1], [2, 4]], "group 1 must hold column indices from 0 to 3"),
    ([[0, 1], [], [2, 3]], "group 1 has no columns; leave it out"),
    ([[0, 0], [1, 2, 3]], "group 0 lists a column twice"),
    (["a", "a", "b"], "groups has 3 labels for 4 columns of X; give one for each"),
    (["a", "a", None, "b"], "column 2 has no group label"),
    ([], "groups is empty"),
]


def spoiled(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed
