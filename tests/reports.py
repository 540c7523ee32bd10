"""Reports made by hand, for tests of what shows them."""

import numpy as np

from shtarkov.selection.report import Code, CodelengthCurve, SelectionReport


def make_curve(n_lams=12, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    lams = np.geomspace(20.0, 0.5, n_lams)
    n_active = np.minimum(np.arange(n_lams) // 2, n_features)
    size = np.maximum(0.0, 1.0 - lams[:, None] / (20.0 / (1.0 + np.arange(n_features))))
    coefs = size * np.array([3.0, -2.0, 1.0, 0.5, *[0.1] * n_features])[:n_features]
    ln_c = 6.0 * np.exp(-np.log(lams / 0.5) / 2.0)
    data = 150.0 + 0.5 * lams + 0.05 * lams**2
    return CodelengthCurve(
        lams=lams,
        kappas=lams / 2.0,
        sigmas=np.full(n_lams, 2.0),
        data_nats=data,
        ln_c=ln_c,
        codelengths=data + ln_c + 2.3,
        std_errors=rng.uniform(0.05, 0.2, n_lams),
        n_active=n_active,
        mean_df=n_active * 0.9,
        coefs=coefs,
    )


def make_report(winner="matched", names=None, n_features=4, reasons=(), notes=(), **changes):
    curve = None if winner == "no curve" else make_curve(n_features=n_features)
    winner = "empty" if curve is None else winner
    codes = {"empty": Code(161.0, 0.0, None, None, 2.4, 0)}
    best, lam, ties, coef = 161.0, None, (), np.zeros(n_features)
    if curve is not None:
        place = int(np.argmin(curve.codelengths))
        lam = float(curve.lams[place])
        ties = tuple(float(value) for value in curve.lams[place - 1 : place + 2])
        best = float(curve.codelengths[place])
        codes["matched"] = Code(best, 0.1, lam, lam, 2.0, 3)
        codes["free"] = Code(best + 1.0, 0.15, lam, lam / 2.0, 2.0, 3)
        codes["subset"] = Code(best + 3.0, 0.0, None, None, 1.9, 2)
        coef = curve.coefs[place]
    code = codes[winner]
    values = {
        "family": "lasso",
        "criterion": "auto",
        "winner": winner,
        "lam": code.lam,
        "tau": code.tau,
        "sigma": code.sigma,
        "coef": np.zeros(n_features) if winner == "empty" else coef,
        "intercept": 1.5,
        "codelength": code.nats,
        "std_error": code.std_error,
        "codelengths": codes,
        "ln_c": None if winner == "subset" else 3.2,
        "curve": curve,
        "near_ties": ties,
        "ok": not reasons,
        "reasons": tuple(reasons),
        "notes": tuple(notes),
        "sigma_known": False,
        "conservative": 0.0,
        "n_samples": 50,
        "n_features": n_features,
        "feature_names": names,
        "n_draws": 4000,
        "ess": 812.0,
        "rank_rhat": 1.002,
        "seed": 7,
        "seconds": 0.4,
    }
    return SelectionReport(**{**values, **changes})
