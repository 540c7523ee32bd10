"""Regions are validated where they are made."""

import pytest

from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.errors import InvalidProblem


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), "3", True, None])
def test_bad_radius(value):
    with pytest.raises(InvalidProblem, match="radius must be"):
        NormBall(value)


def test_bad_tau():
    with pytest.raises(InvalidProblem, match="tau must be positive"):
        Luckiness(0.0)


def test_words():
    assert str(Luckiness()) == "luckiness"
    assert str(Luckiness(0.25)) == "luckiness, tau = 0.25"
    assert NormBall(3).radius == 3.0
