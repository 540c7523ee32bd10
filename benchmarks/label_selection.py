"""Test error and sparsity of the classifiers chosen by codelength beside cross-validated ones.

Data shipped with scikit-learn: breast cancer, and the digits 3 and 8. A hundred rows to train on,
all others to test on, columns divided by the training rows' standard deviations, several splits.
The peers have scikit-learn's defaults for a sparse fit: LogisticRegressionCV over ten penalties and
five folds, and LinearSVC over the same grid. One thread; times are those of the processor's clock.

Run with ``python benchmarks/label_selection.py [splits]``; docs/labels.md quotes its table.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from shtarkov import SamplingWarning, SparseLogisticNML, SparseSVMNML

TRAINING_ROWS = 100
PENALTIES = np.geomspace(1e-2, 1e2, 10)
OPTIONS = {"tol_complexity": 0.5, "random_state": 0}


def data_sets() -> dict[str, tuple[Any, Any]]:
    digits, which = load_digits(return_X_y=True)
    kept = np.isin(which, (3, 8))
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits 3 and 8": (digits[kept], which[kept] == 8),
    }


def methods() -> dict[str, Any]:
    logistic_cv = LogisticRegressionCV(
        Cs=PENALTIES,
        cv=5,
        l1_ratios=(1.0,),
        solver="liblinear",
        scoring="accuracy",
        use_legacy_attributes=False,
    )
    svc = LinearSVC(penalty="l1", dual=False, max_iter=20_000)
    return {
        "SparseLogisticNML": SparseLogisticNML(**OPTIONS),
        "SparseSVMNML": SparseSVMNML(**OPTIONS),
        "LogisticRegressionCV": logistic_cv,
        "LinearSVC, 5-fold": GridSearchCV(svc, {"C": PENALTIES}, cv=5),
    }


def fit_once(model: Any, X: Any, y: Any, seed: int) -> tuple[float, int, float, str]:
    """Give test error, columns used, seconds, and the winning code."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=TRAINING_ROWS, random_state=seed, stratify=y
    )
    scaler = StandardScaler().fit(X_train)
    began = time.process_time()
    fitted = model.fit(scaler.transform(X_train), y_train)
    seconds = time.process_time() - began
    best = getattr(fitted, "best_estimator_", fitted)
    error = 1.0 - fitted.score(scaler.transform(X_test), y_test)
    report = getattr(best, "report_", None)
    code = "" if report is None else f"{report.winner}, {report.codelength:.1f} nats"
    return error, int(np.count_nonzero(best.coef_)), seconds, code


def compile_kernels() -> None:
    """Fit something small: the first fit of an installation compiles."""
    X = np.random.default_rng(0).standard_normal((20, 2))
    for name, model in methods().items():
        if "NML" in name:
            model.fit(X, X[:, 0] > 0.0)


def main() -> None:
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", SamplingWarning)
    print(f"{TRAINING_ROWS} training rows, {n_splits} splits; standard errors over splits\n")
    print("| data | method | test error, % | columns | seconds | codes |")
    print("|---|---|---:|---:|---:|---|")
    with threadpool_limits(1):
        compile_kernels()
        for name, (X, y) in data_sets().items():
            for method, model in methods().items():
                runs = [fit_once(model, X, y, seed) for seed in range(n_splits)]
                errors = 100.0 * np.array([run[0] for run in runs])
                spread = errors.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
                codes = "; ".join(run[3] for run in runs if run[3])
                print(
                    f"| {name} | {method} | {errors.mean():.1f} ± {spread:.1f} "
                    f"| {np.mean([run[1] for run in runs]):.1f} "
                    f"| {np.mean([run[2] for run in runs]):.1f} | {codes} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
