"""Compares draws with a known law by the draws' own standard errors."""

import json
from pathlib import Path

import numpy as np

from shtarkov.diagnostics.convergence import mean_error

ORACLES = json.loads((Path(__file__).parent / "data" / "oracles.json").read_text())


def oracles(name):
    return [oracle for oracle in ORACLES if oracle["name"] == name]


def law_of_k(weights, tau):
    """The law of k in units of sigma = 1: a_k tau^-k, normalised."""
    share = np.asarray(weights) * float(tau) ** -np.arange(len(weights))
    return share / share.sum()


def z_score(draws, mean):
    """Standard errors between the (chain, draw) mean and the true one."""
    return (np.mean(draws) - mean) / mean_error(draws)


def law_scores(k, law):
    """z-scores of the shares of each k, where the share is large enough to have an error."""
    return np.array([z_score(k == i, p) for i, p in enumerate(law) if 1e-3 < p < 1.0 - 1e-3])
