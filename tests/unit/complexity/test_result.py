"""The result's words and its JSON form."""

import json

from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.complexity.result import ComplexityResult


def test_summary_names_value_error_method_and_region():
    result = ComplexityResult(
        1.23412, 0.0123, "path", n_draws=4000, ess=812.3, rank_rhat=1.004, seed=7
    )
    assert repr(result) == (
        "ln C = 1.234 ± 0.012 nats (path, luckiness, 4000 draws, ESS 812, R-hat 1.004)"
    )


def test_exact_result_shows_no_sampling():
    result = ComplexityResult(1.5, 0.0, "closed_form", NormBall(2))
    assert (
        result.summary() == "ln C = 1.500000 ± 0.000000 nats (closed_form, norm of coef at most 2)"
    )


def test_warnings_and_failures_are_shown():
    result = ComplexityResult(1.5, float("inf"), "path", failures=3, warnings=("look here",))
    assert "3 failed" in result.summary()
    assert "warning: look here" in result.summary()


def test_to_dict_goes_through_json():
    result = ComplexityResult(1.5, 0.1, "path", Luckiness(0.5), warnings=("a",))
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["region"] == {"kind": "Luckiness", "tau": 0.5}
    assert plain["warnings"] == ["a"]
    assert plain["ess"] is None
