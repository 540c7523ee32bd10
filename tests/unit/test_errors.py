"""Every bad status becomes an error whose message says what to change."""

import pickle

import pytest
from sklearn.exceptions import ConvergenceWarning

from shtarkov import errors
from shtarkov.types import Status


def test_ok_raises_nothing():
    errors.raise_for_status(Status.OK, "solving")
    errors.raise_for_status(0, "solving")


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_every_other_status_names_the_context_the_cure_and_itself(status):
    with pytest.raises(errors.ShtarkovError) as caught:
        errors.raise_for_status(int(status), "solving at lam = 2")
    message = str(caught.value)
    assert message.startswith("solving at lam = 2: ")
    assert status.name in message
    assert any(cure in message for cure in ("use ", "raise ", "look for "))


def test_errors_can_be_caught_as_what_they_are_in_python():
    assert issubclass(errors.InvalidProblem, ValueError)
    assert issubclass(errors.RegionRequired, errors.InvalidProblem)
    assert issubclass(errors.SingularGram, ArithmeticError)


def test_the_warning_is_a_convergence_warning_and_survives_pickling():
    warning = errors.SamplingWarning("R-hat is 1.2")
    assert isinstance(warning, ConvergenceWarning)
    assert isinstance(pickle.loads(pickle.dumps(warning)), errors.SamplingWarning)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = errors.Nothing
