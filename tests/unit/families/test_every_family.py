"""Every family keeps what the protocol promises; the skeleton of the developer's page too."""

import pytest
from non_negative_lasso import NonNegativeLasso

from shtarkov import ElasticNet, GroupLasso, Lasso, NuclearNorm
from shtarkov.families.compiled import family_of
from shtarkov.families.facts import facts_of
from tests.checks import check_family

MAKERS = {
    "lasso": lambda X: Lasso(X),
    "elastic net": lambda X: ElasticNet(X, lam2=0.5),
    "group lasso": lambda X: GroupLasso(X, [0, 0, 1, 1, 1, 2]),
    "nuclear norm": lambda X: NuclearNorm(X[:, :3], n_targets=2),
    "non-negative lasso": NonNegativeLasso,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_family_keeps_its_promises(make, rng):
    X = rng.standard_normal((9, 6)) + 0.5 * rng.standard_normal((9, 1))
    family = family_of(make(X), 1.3)
    y = 3.0 * rng.standard_normal(facts_of(family).n_dim)
    check_family(family, y, rng)
