"""Rounds with features of actions by a diagonal covariance: products of features share a table by their hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.action_rounds import observe, standardised
from noisewise._loops.compiled import compiled


@compiled
def slot_of(i: int, j: int, size: int) -> Any:
    """Where a product of columns lies in a table of 2^n: a multiplicative hash (Knuth, 6.4) of both."""
    mixed = (np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(32)) & np.uint64(size - 1)


@compiled
def score_hashed(
    weights: Any,
    precisions: Any,
    prior: float,
    contexts: Any,
    actions: Any,
    context: Any,
    context_values: Any,
    starts: Any,
    columns: Any,
    values: Any,
    relative: bool,
    means: Any,
    variances: Any,
) -> None:
    """`score_joint` by a diagonal covariance; if `relative`, the variance leaves out what is of the context alone."""
    c, a = standardised(contexts, context, context_values), standardised(actions, columns, values)
    for k in range(len(starts) - 1):
        mean, variance = 0.0, 0.0
        for t in range(starts[k], starts[k + 1]):
            for i in range(len(c)):
                slot, value = slot_of(context[i], columns[t], len(weights)), c[i] * a[t]
                mean += value * weights[slot]
                if columns[t] > 0 or not relative:
                    variance += value * value / (prior + precisions[slot])
        means[k], variances[k] = mean, variance


@compiled
def learn_hashed(
    weights: Any,
    precisions: Any,
    prior: float,
    contexts: Any,
    actions: Any,
    context: Any,
    context_values: Any,
    columns: Any,
    values: Any,
    scale: float,
    target: float,
    growth: float,
) -> float:
    """`learn_joint` with a diagonal covariance, of hashed products; the squared length, NaN if it is too large."""
    c, a = standardised(contexts, context, context_values), standardised(actions, columns, values)
    length, variance, error = 0.0, 0.0, target
    for i in range(len(c)):
        for j in range(len(a)):
            value, slot = c[i] * a[j], slot_of(context[i], columns[j], len(weights))
            length += value * value
            variance += (scale * value) ** 2 / (prior + precisions[slot])
            error -= scale * value * weights[slot]
    if not np.isfinite(length):
        return np.nan
    step = growth / (1.0 + growth * variance)
    for i in range(len(c)):
        for j in range(len(a)):
            value, slot = scale * c[i] * a[j], slot_of(context[i], columns[j], len(weights))
            weights[slot] += step * error * value / (prior + precisions[slot])
            precisions[slot] += growth * value * value
    observe(contexts, context, context_values)
    observe(actions, columns, values)
    return length


@compiled
def learn_all_hashed(
    weights: Any,
    precisions: Any,
    prior: float,
    contexts: Any,
    actions: Any,
    context_starts: Any,
    context_columns: Any,
    context_values: Any,
    starts: Any,
    columns: Any,
    values: Any,
    scales: Any,
    targets: Any,
    growths: Any,
) -> float:
    """`learn_hashed` for each of many rounds; squared lengths, summed."""
    total = 0.0
    for n in range(len(targets)):
        one = slice(context_starts[n], context_starts[n + 1])
        row = slice(starts[n], starts[n + 1])
        total += learn_hashed(
            weights,
            precisions,
            prior,
            contexts,
            actions,
            context_columns[one],
            context_values[one],
            columns[row],
            values[row],
            scales[n],
            targets[n],
            growths[n],
        )
    return total


@compiled
def fill_hashed(width: int, of_joint: Any, variances: Any, prior: float, weights: Any, precisions: Any) -> None:
    """Weights of all products, and their precisions above the prior's, where `learn_hashed` looks for them."""
    for index in range(len(of_joint)):
        slot = slot_of(index // width, index % width, len(weights))
        weights[slot] += of_joint[index]
        precisions[slot] += max(0.0, 1.0 / variances[index] - prior)
