"""Whatever is passed, the answer is a usable design or an error that says what to change."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shtarkov.errors import InvalidProblem
from shtarkov.families.reduce import reduce_design

wild = st.one_of(
    st.floats(width=64),
    st.sampled_from([0.0, 1.0, -1.0, 1e-310, 1e-150, 1e-99, 1e99, 1e150, 1e308]),
    st.integers(-3, 3).map(float),
)
dtypes = st.sampled_from([np.float64, np.float32, np.int32, np.uint8, np.bool_, np.complex64, "U3"])


extreme = st.sampled_from([0.0, 1.0, -1.0, 0.3, 7.0, -1e-99, 1e99, 1e8, 1e8 + 1.0, -1e-8])


@st.composite
def anything(draw):
    """Arrays of any small shape and type, some with wild values, some usable but only just."""
    elements = draw(st.sampled_from([wild, extreme, extreme, None]))
    if elements is not None:
        shape = (draw(st.integers(1, 12)), draw(st.integers(1, 5)))
        return draw(arrays.arrays(np.float64, shape, elements=elements))
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=0, max_size=3)))
    return draw(arrays.arrays(draw(dtypes), shape))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    X=anything(),
    fit_intercept=st.booleans(),
    unpenalised=st.one_of(st.none(), st.lists(st.integers(-2, 4), max_size=2)),
    data=st.data(),
)
def test_no_input_gives_a_design_that_is_not_finite(X, fit_intercept, unpenalised, data):
    options = {"fit_intercept": fit_intercept, "unpenalised": unpenalised, "block_rows": 4}
    n_rows = X.shape[0] if X.ndim else 1
    usable = st.sampled_from([0.0, 1.0, 2.0, 1e-99, 1e99])
    vectors = arrays.arrays(np.float64, n_rows, elements=usable)
    strange = st.lists(wild, max_size=12)
    weights = data.draw(st.one_of(st.none(), vectors, strange))
    y = data.draw(st.one_of(vectors, vectors, strange))
    try:
        design = reduce_design(X, sample_weight=weights, **options)
        reduced = design.reduce_response(y)
    except InvalidProblem:
        return
    assert np.isfinite(design.X).all()
    assert np.isfinite(design.X.T @ design.X).all()
    assert np.isfinite(reduced.y).all()
    assert 0.0 <= reduced.orthogonal_sq < np.inf
    intercept, coef = design.unpenalised_coef(reduced, np.zeros(design.n_features))
    assert np.isfinite(intercept)
    assert np.isfinite(coef).all()
    assert design.n_dim == design.X.shape[0] + design.n_orthogonal > 0
    assert design.n_orthogonal >= 0
