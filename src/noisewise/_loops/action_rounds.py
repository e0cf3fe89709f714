"""Rounds with features of actions: a linear model on the products of context and action features.

A row of features is (columns, values), where column 0 is the constant 1. The model's row is the Kronecker product of
the standardised rows of context and action: constants, main effects and interactions. Element (i, j) has the index
i * n_action_columns + j.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops.action_state import COUNT, FACTOR, MEAN, SHIFT, SQUARES
from noisewise._loops.compiled import compiled


@compiled
def standardised(scaling: Any, columns: Any, values: Any) -> Any:
    """Values as the model takes them."""
    made = np.empty(len(values))
    for t in range(len(values)):
        made[t] = (values[t] - scaling[SHIFT, columns[t]]) * scaling[FACTOR, columns[t]]
    return made


@compiled
def observe(scaling: Any, columns: Any, values: Any) -> None:
    """Take a row into the running means and squared deviations (Welford) of its columns."""
    for t in range(len(values)):
        column, value = columns[t], values[t]
        scaling[COUNT, column] += 1.0
        change = value - scaling[MEAN, column]
        scaling[MEAN, column] += change / scaling[COUNT, column]
        scaling[SQUARES, column] += change * (value - scaling[MEAN, column])


@compiled
def observe_all(scaling: Any, starts: Any, columns: Any, values: Any) -> None:
    """`observe` for each of many rows."""
    for row in range(len(starts) - 1):
        observe(scaling, columns[starts[row] : starts[row + 1]], values[starts[row] : starts[row + 1]])


@compiled
def score_joint(
    weights: Any,
    sigma: Any,
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
    """Mean and variance of the score of each action in one context.

    If `relative`, the variance is that of the difference from the mean action: what all actions have in common can't
    tell them apart. The context is the same for all: weights and covariance are summed over it first, which leaves
    those of the actions' columns.
    """
    c, a = standardised(contexts, context, context_values), standardised(actions, columns, values)
    width, n_actions = actions.shape[1], len(starts) - 1
    used, position = _columns_in_use(columns, width)
    n_used = len(used)
    own, reduced = np.zeros(n_used), np.zeros((n_used, n_used))
    for i in range(len(c)):
        start = context[i] * width
        for j in range(n_used):
            own[j] += c[i] * weights[start + used[j]]
        for i2 in range(i):
            _add_block(sigma, 2.0 * c[i] * c[i2], start, context[i2] * width, used, width, reduced)
        _add_block(sigma, c[i] * c[i], start, start, used, width, reduced)
    for j in range(n_used):  # the covariance is symmetric: half of its blocks were read
        for k in range(j):
            reduced[j, k] = reduced[k, j] = 0.5 * (reduced[j, k] + reduced[k, j])
    mean_row = np.zeros(n_used)
    if relative:
        for t in range(len(a)):
            mean_row[position[columns[t]]] += a[t] / n_actions
    of_mean_row, product = np.zeros(n_used), np.zeros(n_used)
    add_product(reduced, mean_row, of_mean_row)
    of_both = 0.0
    for j in range(n_used):
        of_both += mean_row[j] * of_mean_row[j]
    for k in range(n_actions):
        product[:] = 0.0
        mean, variance = 0.0, of_both
        for t in range(starts[k], starts[k + 1]):
            row = reduced[position[columns[t]]]
            for j in range(n_used):
                product[j] += a[t] * row[j]
        for t in range(starts[k], starts[k + 1]):
            j = position[columns[t]]
            mean += a[t] * own[j]
            variance += a[t] * (product[j] - 2.0 * of_mean_row[j])
        means[k], variances[k] = mean, max(0.0, variance)


@compiled
def _columns_in_use(columns: Any, width: int) -> Any:
    """The different columns in order, and the index among them of each column."""
    position = np.full(width, -1)
    for t in range(len(columns)):
        position[columns[t]] = 0
    n_used = 0
    used = np.empty(width, dtype=np.int64)
    for column in range(width):
        if position[column] == 0:
            position[column] = n_used
            used[n_used] = column
            n_used += 1
    return used[:n_used], position


@compiled
def _add_block(sigma: Any, weight: float, start: int, start2: int, used: Any, width: int, reduced: Any) -> None:
    """Add the block of two context columns, at the action columns in use, to the reduced covariance."""
    if len(used) == width:  # all of them: rows of the block are contiguous
        for j in range(width):
            row, into = sigma[start + j, start2 : start2 + width], reduced[j]
            for k in range(width):
                into[k] += weight * row[k]
    else:
        for j in range(len(used)):
            row, into = sigma[start + used[j], start2 : start2 + width], reduced[j]
            for k in range(len(used)):
                into[k] += weight * row[used[k]]


@compiled
def add_product(matrix: Any, vector: Any, product: Any) -> None:
    """Add a symmetric matrix times a vector to `product`, row by row."""
    for j in range(len(vector)):
        if vector[j] != 0.0:
            for k in range(len(vector)):
                product[k] += vector[j] * matrix[j, k]


@compiled
def _products(width: int, context: Any, c: Any, columns: Any, a: Any) -> Any:
    """Indices and values of the Kronecker product of two standardised rows."""
    n = len(c) * len(a)
    indices, values = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(len(c)):
        for j in range(len(a)):
            indices[i * len(a) + j] = context[i] * width + columns[j]
            values[i * len(a) + j] = c[i] * a[j]
    return indices, values


@compiled
def learn_joint(
    weights: Any,
    sigma: Any,
    gram: Any,
    moment: Any,
    contexts: Any,
    actions: Any,
    context: Any,
    context_values: Any,
    columns: Any,
    values: Any,
    scale: float,
    target: float,
    growth: float,
) -> bool:
    """One step of recursive least squares: the row times `scale` has the value `target`, and counts `growth` times.

    Changes weights, sigma (the inverse of gram plus prior, by Sherman and Morrison), the lower triangle of gram,
    moment, and the running means of the columns. If the squared length of the row is not finite, nothing is changed,
    and False returned.
    """
    c, a = standardised(contexts, context, context_values), standardised(actions, columns, values)
    length = 0.0
    for i in range(len(c)):
        for j in range(len(a)):
            length += (c[i] * a[j]) ** 2
    if not np.isfinite(length):
        return False
    indices, row = _products(actions.shape[1], context, c, columns, a)
    row *= scale
    gain = np.zeros(len(weights))
    for t in range(len(row)):
        if row[t] != 0.0:
            of_row = sigma[indices[t]]
            for k in range(len(gain)):
                gain[k] += row[t] * of_row[k]
    variance, error = 0.0, target
    for t in range(len(row)):
        variance += row[t] * gain[indices[t]]
        error -= row[t] * weights[indices[t]]
    step = growth / (1.0 + growth * variance)
    for k in range(len(gain)):
        weights[k] += step * error * gain[k]
    for j in range(len(gain)):
        if gain[j] != 0.0:
            change, into = step * gain[j], sigma[j]
            for k in range(len(gain)):
                into[k] -= change * gain[k]
    _add_outer(gram, moment, actions.shape[1], context, c, columns, a, scale, target, growth)
    observe(contexts, context, context_values)
    observe(actions, columns, values)
    return True


@compiled
def accumulate(
    gram: Any,
    moment: Any,
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
) -> None:
    """Add many rounds to the sums of least squares, `gram` (its lower triangle) and `moment`."""
    for n in range(len(targets)):
        context = context_columns[context_starts[n] : context_starts[n + 1]]
        c = standardised(contexts, context, context_values[context_starts[n] : context_starts[n + 1]])
        played = columns[starts[n] : starts[n + 1]]
        a = standardised(actions, played, values[starts[n] : starts[n + 1]])
        _add_outer(gram, moment, actions.shape[1], context, c, played, a, scales[n], targets[n], growths[n])


@compiled
def _add_outer(
    gram: Any,
    moment: Any,
    width: int,
    context: Any,
    c: Any,
    columns: Any,
    a: Any,
    scale: float,
    target: float,
    growth: float,
) -> None:
    """Add a round to moment, and to gram on and below its diagonal (in its blocks on the diagonal, above it too)."""
    for i in range(len(c)):
        for j in range(len(a)):
            row = context[i] * width + columns[j]
            counted = growth * scale * c[i] * a[j]
            moment[row] += counted * target
            for i2 in range(len(c)):
                if context[i2] > context[i]:
                    continue
                weight, into = counted * scale * c[i2], gram[row, context[i2] * width : (context[i2] + 1) * width]
                if len(a) == width:  # all columns, in order
                    for k in range(width):
                        into[k] += weight * a[k]
                else:
                    for k in range(len(a)):
                        into[columns[k]] += weight * a[k]


@compiled
def invert(matrix: Any) -> None:
    """Replace a symmetric positive definite matrix by its inverse: Gauss-Jordan; unused columns are skipped."""
    n = len(matrix)
    alone = np.empty(n, dtype=np.bool_)
    for j in range(n):
        alone[j] = True
        for k in range(n):
            if k != j and matrix[j, k] != 0.0:
                alone[j] = False
                break
    row = np.empty(n)
    for pivot in range(n):
        inverse = 1.0 / matrix[pivot, pivot]
        if alone[pivot]:
            matrix[pivot, pivot] = inverse
            continue
        for k in range(n):
            row[k] = matrix[pivot, k] * inverse
        row[pivot] = inverse
        for j in range(n):
            if j != pivot and not alone[j]:
                factor, into = matrix[j, pivot], matrix[j]
                into[pivot] = 0.0
                for k in range(n):
                    into[k] -= factor * row[k]
        matrix[pivot] = row
