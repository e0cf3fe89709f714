"""Assertions on the bias of estimates, by z-scores."""

import numpy as np


def z_scores(estimates, truth):
    """Difference of the mean of the estimates (first axis) from the truth, in standard errors."""
    estimates = np.asarray(estimates, dtype=float)
    error = estimates.mean(axis=0) - truth
    standard_error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return error / np.maximum(standard_error, 1e-12)


def assert_unbiased(estimates, truth, sigmas=5.0):
    """The mean over the noise equals the clean value, within five standard errors everywhere."""
    z = np.abs(z_scores(estimates, truth))
    assert np.max(z) < sigmas, f"biased: {np.max(z):.1f} standard errors"


def assert_biased(estimates, truth, sigmas=20.0):
    """The mean differs from the clean value: a wrong formula is detected."""
    z = np.abs(z_scores(estimates, truth))
    assert np.max(z) > sigmas, f"the bias does not show: {np.max(z):.1f} standard errors"
