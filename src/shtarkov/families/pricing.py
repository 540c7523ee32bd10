# mypy: allow-untyped-defs, allow-untyped-calls
"""Which inactive columns must enter: checks of all correlations, and cheap ones in between.

A check of all D correlations costs as much as everything else of a round. After one, only the
columns whose correlation came near lam are watched; when none of those violates any more, all are
checked again, so that the answer is still that of all columns.
"""

from __future__ import annotations

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.families.active_work import dot, update_correlations, update_residual

# A correlation of this share of lam is near enough to be watched.
NEAR = 0.85
# A flood of entering columns mostly leaves again: so many at a time, and this share of k more.
FLOOD = 8
FLOOD_SHARE = 0.25
ROUNDING_SLACK = 64 * 2.220446049250313e-16


@reduction_kernel
def find_violators(threshold, work):
    """List inactive columns whose correlation passes `threshold`; return how many."""
    n_entering = 0
    for j in range(work.corr.size):
        if abs(work.corr[j]) > threshold and work.position[j] < 0:
            work.entering[n_entering] = j
            n_entering += 1
    return n_entering


@kernel
def find_watched_violators(threshold, work):
    """List those of the watched columns only."""
    n_entering = 0
    for i in range(work.counts[3]):
        j = work.watched[i]
        if abs(work.corr[j]) > threshold and work.position[j] < 0:
            work.entering[n_entering] = j
            n_entering += 1
    return n_entering


@kernel
def worst_violator(n_entering, work):
    """Return the listed column with the largest correlation."""
    worst = work.entering[0]
    for e in range(1, n_entering):
        if abs(work.corr[work.entering[e]]) > abs(work.corr[worst]):
            worst = work.entering[e]
    return worst


@kernel
def keep_worst(threshold, n_entering, work):
    """Shorten a list of too many violators to the worst of them; return how many are left."""
    most = FLOOD + int(FLOOD_SHARE * work.counts[0])
    while n_entering > most:
        worst = abs(work.corr[worst_violator(n_entering, work)])
        if worst - threshold < 1e-3 * worst:  # as many as this are equal
            break
        threshold += 0.3 * (worst - threshold)
        kept = 0
        for e in range(n_entering):
            if abs(work.corr[work.entering[e]]) > threshold:
                work.entering[kept] = work.entering[e]
                kept += 1
        n_entering = kept
    return n_entering


@reduction_kernel
def watch_near(lam, work):
    """Watch the columns whose correlation is near lam."""
    watched = 0
    for j in range(work.corr.size):
        if abs(work.corr[j]) > NEAR * lam:
            work.watched[watched] = j
            watched += 1
    work.counts[3] = watched


@kernel
def rounding_slack(work):
    """Return the rounding of correlations that come from the residual."""
    largest = 0.0
    for i in range(work.counts[0]):
        largest = max(largest, abs(work.rhs[i]))
    return ROUNDING_SLACK * largest


@kernel
def choose_entering(Xt, gram, lam, slack, y, work):
    """List the columns to let in, from a cheap check while that finds any; none: all is optimal."""
    if work.counts[3] > 0:
        update_residual(Xt, y, work)
        for i in range(work.counts[3]):
            j = work.watched[i]
            work.corr[j] = dot(Xt[j], work.residual)
        threshold = lam + slack + rounding_slack(work)
        n_entering = find_watched_violators(threshold, work)
        if n_entering > 0:
            return keep_worst(threshold, n_entering, work)
    update_correlations(Xt, gram, y, work)
    threshold = lam + slack
    if work.z.size == 0:
        threshold += rounding_slack(work)
    n_entering = find_violators(threshold, work)
    watch_near(lam, work)
    return keep_worst(threshold, n_entering, work)
