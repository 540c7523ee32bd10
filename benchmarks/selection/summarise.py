"""Tables of a benchmark run: means with standard errors, wins and losses, targets.

    python -m benchmarks.selection.summarise benchmarks/selection/results/standard > tables.md

Comparisons are paired: the two methods saw the same data sets. A setting is won or lost clearly
when the mean difference of ln risk over its data sets is more than two standard errors from zero.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.selection import store
from benchmarks.selection.methods import TOLD

OURS = ("auto", "prediction", "structure", "subset", "average")
# Columns compared by ratio; others, which may be zero, by difference.
RATIOS = ("risk", "test_error")
SPREADS = ("lam_spread", "support_spread", "fit_spread")
# What the compact table of results keeps.
RECORDED = ("relative_risk", "risk", "test_error", "f1", "k", "lam", "seconds", *SPREADS)
TINY = 1e-12
SIGNAL = ["shape", "correlation", "beta_type", "snr"]


def load(folder: Path) -> pd.DataFrame:
    """One row per kind, setting, repeat and method."""
    rows: list[dict[str, Any]] = []
    for key, row in store.latest(folder).items():
        kind, setting, repeat, group = key
        shape, _, rest = setting.partition("/")
        base = {"kind": kind, "setting": setting, "repeat": repeat, "group": group, "shape": shape}
        if rest:
            values = [part.lstrip("rhobetasn") for part in rest.split("/")]
            base |= dict(zip(SIGNAL[1:], map(float, values), strict=True))
        if "error" in row:
            rows.append(base | {"method": group, "error": row["error"]})
            continue
        for method, result in row["results"].items():
            notes = result.pop("notes", {})
            rows.append(base | {"method": method, "winner": notes.get("winner")} | result)
    frame = pd.DataFrame(rows)
    if "error" not in frame:
        frame["error"] = np.nan
    return frame


def with_error(values: pd.Series) -> str:
    """Format a mean and its standard error."""
    clean = values.dropna()
    if clean.empty:
        return ""
    if clean.size == 1:
        return f"{clean.iloc[0]:.3f}"
    error = clean.std(ddof=1) / np.sqrt(clean.size)
    return f"{clean.mean():.3f} ± {error:.3f}"


def mean_over_settings(values: pd.DataFrame, column: str) -> str:
    """Mean over settings of each setting's mean; the error is that of the repeats alone."""
    by = values.dropna(subset=[column]).groupby("setting")[column]
    if by.ngroups == 0:
        return ""
    variances = (by.var(ddof=1) / by.size()).dropna()
    if variances.empty:
        return f"{by.mean().mean():.3f}"
    error = np.sqrt(variances.sum()) / by.ngroups
    return f"{by.mean().mean():.3f} ± {error:.3f}"


def grid_table(frame: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    """Methods down, a property of the setting across, means of a column with errors."""
    table: dict[Any, dict[str, str]] = {}
    for (method, level), group in frame.groupby(["method", by]):
        table.setdefault(level, {})[str(method)] = mean_over_settings(group, column)
    return pd.DataFrame(table).fillna("")


def versus(frame: pd.DataFrame, ours: str, other: str, column: str) -> pd.DataFrame:
    """Pair two methods on the data sets both have seen: per setting, means, ratio, difference, z.

    z is that of the mean difference of logarithms (of the values themselves where not in `RATIOS`).
    """
    keys = ["setting", "repeat"]
    left = frame[frame.method == ours].set_index(keys)[column]
    right = frame[frame.method == other].set_index(keys)[column]
    both = pd.concat({"ours": left, "other": right}, axis=1, join="inner").dropna().astype(float)
    per_setting = both.groupby("setting").mean()
    per_setting["ratio"] = per_setting.ours / per_setting.other.clip(lower=TINY)
    per_setting["difference"] = per_setting.ours - per_setting.other
    scale = np.log(both.clip(lower=TINY)) if column in RATIOS else both
    change = (scale.ours - scale.other).groupby("setting")
    error = change.std(ddof=1) / np.sqrt(change.size())
    per_setting["z"] = change.mean() / error.where(error > 0.0)
    return per_setting


def compare_all(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Compare every method that is ours with every other, by one column (smaller is better)."""
    rows = []
    for ours in (m for m in OURS if m in set(frame.method)):
        for other in (m for m in frame.method.unique() if m != ours):
            found = versus(frame, ours, other, column)
            if found.empty:
                continue
            row = {
                "method": ours,
                "against": other,
                "settings": len(found),
                "at or below": f"{np.mean(found.difference <= 1e-12):.0%}",
                "clear wins": int((found.z < -2.0).sum()),
                "clear losses": int((found.z > 2.0).sum()),
            }
            size = found.ratio if column in RATIOS else found.difference
            kind = "ratio" if column in RATIOS else "difference"
            row[f"median {kind}"] = f"{size.median():.3f}"
            row[f"worst {kind}"] = f"{size.max():.3f}"
            row["worst setting"] = str(size.idxmax())
            rows.append(row)
    return pd.DataFrame(rows)


def targets(frame: pd.DataFrame) -> pd.DataFrame:
    """Say how the targets set for `auto` and `structure` were met, in numbers."""
    signal = frame[(frame.kind == "fit") & (frame.beta_type > 0)]
    half = frame[frame.kind == "spread"]
    noise = frame[(frame.kind == "fit") & (frame.beta_type == 0) & (frame.method == "auto")]
    rows: list[tuple[str, str, str]] = []
    for column in RATIOS:
        cv = versus(signal, "auto", "lasso_cv", column)
        relaxed = versus(signal, "auto", "relaxed_cv", column)
        if cv.empty or relaxed.empty:
            continue
        below, worst = f"{np.mean(cv.ratio <= 1.0):.0%}", f"{cv.ratio.max():.3f}"
        rows += [(f"{column} at or below lasso_cv", "90% of settings", below)]
        rows += [(f"{column} over lasso_cv's, worst setting", "1.05", worst)]
        share = f"{np.mean(relaxed.ratio <= 1.0):.0%}"
        rows += [(f"{column} at or below relaxed_cv", "67% of settings", share)]
    for column in SPREADS:
        found = versus(half, "auto", "lasso_cv", column)
        if len(found):
            rows.append((f"{column} over lasso_cv's, median", "0.5", f"{found.ratio.median():.3f}"))
    f1 = versus(signal.assign(f1=-signal.f1), "structure", "bic_known", "f1")
    if len(f1):
        share = f"{np.mean(f1.difference <= 0.0):.0%}"
        rows.append(("structure: F1 at least bic_known's", "80% of settings", share))
    if len(noise):
        rows.append(("empty model in pure noise", "90%", f"{np.mean(noise.k == 0):.1%}"))
    return pd.DataFrame(rows, columns=["auto, unless said", "target", "found"])


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """Give means, standard errors and counts per kind of work, setting and method."""
    columns = [column for column in RECORDED if column in frame]
    by = frame.groupby(["kind", "setting", "method"])[columns]
    counts = by.count()
    errors = by.std(ddof=1) / np.sqrt(counts.where(counts > 1))
    table = pd.concat({"mean": by.mean(), "error": errors}, axis=1).swaplevel(axis=1)
    table = table.reindex(columns=[(c, of) for c in columns for of in ("mean", "error")])
    table.columns = [c if of == "mean" else f"{c}_error" for c, of in table.columns]
    table.insert(0, "n", counts.max(axis=1))
    return table.dropna(axis=1, how="all")


def show(title: str, table: pd.DataFrame, *, index: bool = True) -> None:
    """Print a table in Markdown."""
    print(f"\n## {title}\n")
    if table.empty:
        print("(nothing yet)")
        return
    shown = table.reset_index(names="") if index else table
    print("| " + " | ".join(map(str, shown.columns)) + " |")
    print("|" + "---|" * len(shown.columns))
    for row in shown.itertuples(index=False):
        print("| " + " | ".join(map(str, row)) + " |")


def simulated_report(fits: pd.DataFrame) -> None:
    """Print everything about the simulated grid."""
    signal, noise = fits[fits.beta_type > 0], fits[fits.beta_type == 0]
    print(f"\n{signal.setting.nunique()} settings with signal, ", end="")
    print(f"{signal.groupby('setting').repeat.nunique().mean():.1f} data sets each on average. ")
    print(f"Told the truth and so not open to users: {', '.join(TOLD)}; `lars_*` are told sigma ")
    print("where D >= N.")
    show("Risk (in units of the noise variance) by shape", grid_table(signal, "risk", "shape"))
    show("Relative risk by shape (empty model: 1)", grid_table(signal, "relative_risk", "shape"))
    show("Relative risk by SNR", grid_table(signal, "relative_risk", "snr"))
    show("Relative risk by coefficient type", grid_table(signal, "relative_risk", "beta_type"))
    show("Support F1 by shape", grid_table(signal, "f1", "shape"))
    show("Wins and losses, risk", compare_all(signal, "risk"), index=False)
    show("Wins and losses, test error", compare_all(signal, "test_error"), index=False)
    f1 = signal.assign(miss=1.0 - signal.f1)
    show("Wins and losses, 1 - F1", compare_all(f1, "miss"), index=False)
    show("Seconds by shape", grid_table(fits, "seconds", "shape"))
    if len(noise):
        empty = noise.assign(empty=(noise.k == 0).astype(float))
        show("Pure noise: share of empty models", grid_table(empty, "empty", "shape"))
    if "winner" in fits and fits.winner.notna().any():
        won = signal[signal.winner.notna()]
        counts = won.groupby(["method", "shape"]).winner.value_counts(normalize=True)
        show("Which code won", counts.unstack(fill_value=0.0).round(2).reset_index(), index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--csv", type=Path, help="also write means and errors per setting")
    options = parser.parse_args()
    frame = load(options.folder)
    failed = frame[frame.error.notna()]
    frame = frame[frame.error.isna()]
    if options.csv:
        compact(frame).to_csv(options.csv, float_format="%.4g")
    print("# Selection benchmark")
    if len(failed):
        show("Failures", failed.groupby(["method", "error"]).size().reset_index(name="times"))
    show("Targets", targets(frame), index=False)
    simulated_report(frame[frame.kind == "fit"])
    half = frame[frame.kind == "spread"]
    if len(half):
        for column, what in (
            ("lam_spread", "standard deviation of ln lam"),
            ("support_spread", "mean Jaccard distance of supports"),
            ("fit_spread", "root mean squared change of the fit / sigma"),
        ):
            show(f"Spread over half-samples: {what}", grid_table(half, column, "shape"))
            show(f"Wins and losses, {what}", compare_all(half, column), index=False)
    tables = frame[frame.kind == "table"]
    if len(tables):
        error = {
            str(name): {str(m): with_error(g.test_error) for m, g in group.groupby("method")}
            for name, group in tables.groupby("setting")
        }
        show("Tables: held-out squared error over that of the mean", pd.DataFrame(error).fillna(""))
        show("Wins and losses, tables", compare_all(tables, "test_error"), index=False)
        size = tables.groupby(["method", "setting"]).k.mean().unstack().round(1).fillna("")
        show("Tables: columns chosen", size)


if __name__ == "__main__":
    main()
