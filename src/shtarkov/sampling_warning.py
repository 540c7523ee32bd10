"""The one warning; in its own file because scikit-learn takes most of a second to import."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class SamplingWarning(ConvergenceWarning):
    """A result was produced but an expert would look at it twice; the message says why."""
