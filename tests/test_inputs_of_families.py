"""What is refused is refused by every family, in the same words: no family has checks of its own.

Nothing is sampled here.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse

import shtarkov
from shtarkov import ElasticNet, GroupLasso, Lasso, NuclearNorm, SparseLogistic, SparseSVM
from shtarkov.errors import InvalidProblem, NotConverged
from tests.inputs_table import spoiled

N, D, TARGETS = 20, 4, 2


def groups_of(X):
    return [column // 2 for column in range(np.shape(X)[1])]


FAMILIES = {
    "lasso": Lasso,
    "elastic net": lambda X, **more: ElasticNet(X, l2_ratio=0.1, **more),
    "group lasso": lambda X, **more: GroupLasso(X, groups_of(X), **more),
    "nuclear norm": lambda X, **more: NuclearNorm(X, n_targets=TARGETS, **more),
    "svm": lambda X, **more: SparseSVM(X, "squared_hinge", **more),
    "hinge": lambda X, **more: SparseSVM(X, "hinge", **more),
    "logistic": SparseLogistic,
}
CONTINUOUS = ("lasso", "elastic net", "group lasso", "nuclear norm")
LABELS = ("svm", "hinge", "logistic")


@pytest.fixture(name="make", params=FAMILIES)
def make_family(request):
    return FAMILIES[request.param]


@pytest.fixture(name="continuous", params=CONTINUOUS)
def make_continuous(request):
    return request.param, FAMILIES[request.param]


@pytest.fixture(name="of_labels", params=LABELS)
def make_of_labels(request):
    return FAMILIES[request.param]


@pytest.fixture(name="X")
def make_design(rng):
    return rng.standard_normal((N, D))


def response(family, rng):
    return rng.standard_normal((N, TARGETS) if family == "nuclear norm" else N)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_of_x_that_is_not_finite_is_located(make, X, bad):
    with pytest.raises(InvalidProblem, match=r"X holds 1 NaN or inf.* row 3, column 1; drop"):
        make(spoiled(X, (3, 1), bad))


def test_a_design_must_have_rows_and_columns(make):
    for shape in ((0, 3), (3, 0)):
        with pytest.raises(InvalidProblem, match="at least one of each is needed"):
            make(np.empty(shape))


def test_text_and_objects_are_refused(make, X):
    for wrong in (X.astype(object), X.astype(str)):
        with pytest.raises(InvalidProblem, match=r"not numeric; convert it .*astype\(float\)"):
            make(wrong)
    with pytest.raises(InvalidProblem, match="X holds complex numbers"):
        make(X + 1j)


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_a_scale_beyond_double_precision_is_refused(make, X, factor):
    with pytest.raises(InvalidProblem, match=r"X has largest absolute value .* rescale it"):
        make(X * factor)


def test_types_and_layouts_are_read_alike(make, X):
    whole = np.rint(10 * X)
    fortran = np.asfortranarray(whole)
    fortran.flags.writeable = False
    columns = make(whole).design.X if hasattr(make(whole).design, "X") else None
    for same in (
        fortran,
        whole.astype(np.float32),
        whole.astype(np.int16),
        np.repeat(whole, 2, axis=0)[::2],
        scipy.sparse.csr_array(whole),
    ):
        other = make(same).design
        if columns is not None:
            np.testing.assert_allclose(other.X.T @ other.X, columns.T @ columns, atol=1e-9)


def test_memory_is_estimated_before_it_is_taken(make, X, monkeypatch):
    monkeypatch.setattr("shtarkov.families.build.available_memory", lambda: 100)
    with pytest.raises(InvalidProblem, match="GiB are available"):
        make(X)


def test_awkward_columns_make_a_problem_without_a_word(make, X):
    shapes = (
        X[:1],  # one row
        np.column_stack([X[:, :1], X[:, :1]]),  # duplicated
        spoiled(X, (slice(None), 2), 0.0),  # of zeros
        spoiled(X, (slice(None), 2), 3.0),  # constant
        X[:2],  # more columns than rows
        X * np.array([1e20, 1e-20, 1.0, 1.0]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for awkward in shapes:
            assert make(awkward).name


def test_a_design_of_zeros_is_the_empty_model_or_refused(make):
    try:
        assert make(np.zeros((N, D))).name
    except InvalidProblem as error:  # a basis of a matrix of nothing
        assert "every penalised column of X is zero" in str(error)  # noqa: PT017


def test_a_response_that_cannot_be_used_is_refused(continuous, X, rng):
    family, make = continuous
    y = response(family, rng)
    place = (5, 0) if y.ndim == 2 else 5
    for bad, words in (
        (spoiled(y, place, np.nan), "NaN or inf"),
        (spoiled(y, place, np.inf), "NaN or inf"),
        (y * 1e150, "rescale it"),
        (y * 1e-150, "rescale it"),
        (y[:-1], "20"),
        (y[:0], "20"),
        (y.astype(object), "not numeric"),
        (0.0 * y, "no noise scale to estimate"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            shtarkov.select(make(X), bad, progress=False)


def test_weights_must_count_something(continuous, X):
    _, make = continuous
    ones = np.ones(N)
    for weights, words in (
        (spoiled(ones, 2, -1.0), "negative at row 2"),
        (0.0 * ones, "every sample_weight is zero"),
        (spoiled(ones, 0, np.nan), "NaN or inf"),
        (ones[:-1], "19 entries but X has 20 rows"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            make(X, sample_weight=weights)


def test_labels_that_cannot_be_used_are_refused(of_labels, X):
    two = np.where(X[:, 0] > 0.0, 1.0, 0.0)
    for bad, words in (
        (np.arange(N) % 3, "3 distinct values.*one-vs-rest"),
        (spoiled(two, 4, np.nan), "y holds NaN"),
        (two[:-1], "one label for each of the 20 rows"),
        (np.array(["a", None] * (N // 2), dtype=object), "mixes values"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            shtarkov.select(of_labels(X), bad, progress=False)


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf, 1e300, None, [1.0]])
def test_a_penalty_that_is_none_is_refused(make, X, lam):
    with pytest.raises(InvalidProblem, match="lam"):
        shtarkov.complexity(make(X), lam)
    with pytest.raises(InvalidProblem, match="lam"):
        shtarkov.complexity_path(make(X), [1.0, lam])


def test_labels_at_a_tiny_penalty_are_computed_or_refused_with_the_remedy(of_labels, X):
    rows = X[:6]
    at_small = shtarkov.complexity(of_labels(rows), 0.1, method="enumerate").ln_c
    try:
        at_tiny = shtarkov.complexity(of_labels(rows), 1e-9, method="enumerate").ln_c
    except NotConverged as error:
        assert "raise the penalty" in str(error)  # noqa: PT017
    else:
        assert at_small < at_tiny <= 6.0 * np.log(2.0)


def test_more_draws_than_memory_holds_are_refused(make, X):
    sampler = "label_flips" if hasattr(make(X), "eta") else "hmc"
    with pytest.raises(InvalidProblem, match="GiB are available; ask for fewer draws"):
        shtarkov.sample(make(X), 1.0, sampler=sampler, n_draws=10**13)
    for wrong in ({"n_draws": 0}, {"n_chains": 0}, {"n_warmup": -1}, {"n_jobs": 0}):
        with pytest.raises(InvalidProblem, match=next(iter(wrong))):
            shtarkov.sample(make(X), 1.0, sampler=sampler, **wrong)
