# mypy: allow-untyped-defs
"""What a family implements: generic functions dispatched on its type, one-line contracts.

A family is a NamedTuple holding the reduced design and the penalty weights, its field `lam` among
them, in units of the noise scale (sigma = 1). Objective everywhere: half the squared residual +
penalty, no 1/n. What Python asks of a family besides is in `families.facts`.

The first group is the public contract, one call per data vector. The second is what a sampler
needs: a `work` that is moved from data vector to data vector, and the linear image z of y that some
families carry along (X'y), so that a move of y costs no product with X.
"""

from __future__ import annotations

from shtarkov._jit import generic

# --- one data vector -------------------------------------------------------------------------


@generic
def solve(family, y, start):
    """Return the exact `Fit` at y, starting from the work `start` (see `new_work`)."""


@generic
def penalty_value(family, coef):
    """Return the penalty at coef, in objective units."""


@generic
def penalty_curvature(family, fit):
    """Return the (k, k) second derivative of the penalty on the active coefficients."""


@generic
def log_likelihood(family, y, fit):
    """Return ln p(y | coef) under the family's own noise model at sigma = 1, constants included."""


@generic
def kkt_residual(family, y, fit):
    """Return the largest violation of the optimality conditions, in units of lam."""


@generic
def lam_max(family, y):
    """Return the smallest penalty at which the estimate is zero."""


# --- moving along data vectors ---------------------------------------------------------------


@generic
def with_lam(family, lam):
    """Return the same family at another penalty."""


@generic
def new_work(family, capacity):
    """Return a cold work with room for at most `capacity` active columns."""


@generic
def copy_work(family, source, destination):
    """Copy the solution and the image held by `source`."""


@generic
def image(family, v, out):
    """Write the linear image of a data vector (its size is that of work.z; it may be empty)."""


@generic
def relax(family, y, work):
    """Move `work` to the solution at y; return the status. `work.z` must hold y's image."""


@generic
def potential(family, weight, work):
    """Return half the squared residual + the penalty with its l1-type weight set to `weight`."""


@generic
def write_force(family, weight, y, work, force_out, image_out):
    """Write the gradient in y of `potential` and its image."""


@generic
def refresh_fibre(family, weight, y, work, rng):
    """Redraw the coefficients given cell and residual, exactly; move y and its image."""


@generic
def observe(family, weight, work, row_out):
    """Write the numbers named in `families.observables`."""


@generic
def mark_active(family, work, row_out):
    """Mark the active coefficients (of the user's, for a family that has them) in zeros."""
