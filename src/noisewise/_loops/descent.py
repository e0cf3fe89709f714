"""Online gradient descent on the squared loss of clean rows, with unbiased gradients from noisy rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisewise._loops.compiled import compiled

CONSTANT, ROOT, ADAGRAD, SCALED = 0, 1, 2, 3  # step rules
LEAST_COMPARED = 20  # rounds: the standard error of fewer differences says little


class Descent(NamedTuple):
    """The state of a learner; the loop changes all of it.

    `weights`, `squares` (sums of squared gradients), `older` and `newer` (sums of weights, for suffix averaging) have
    one entry a column; `means` and `deviations` (sums of squared deviations) one more, for the target; `rounds` counts
    all rounds and those in `older` and `newer`.
    """

    weights: Any
    squares: Any
    older: Any
    newer: Any
    means: Any
    deviations: Any
    rounds: Any


def begin(d: int) -> Descent:
    """The state before the first round."""
    zeros, more = np.zeros((4, d)), np.zeros((2, d + 1))
    return Descent(zeros[0], zeros[1], zeros[2], zeros[3], more[0], more[1], np.zeros(3, dtype=np.int64))


@compiled
def fill_gradient(
    t: int,
    weights: Any,
    left: Any,
    right: Any,
    target: float,
    variances: Any,
    covariances: Any,
    deviations: Any,
    out: Any,
) -> None:
    """Write the gradient 2 (w.left - target) right - 2 C w to `out`, C being the noise covariance of round t.

    C is a sum of three parts: `variances` (r, d) and `covariances` (r, d, d) have length 0, 1 (for all rounds) or one
    entry for each round; `deviations[t]` are vectors v of a sum of v v'.
    """
    d = len(weights)
    residual = -target
    for j in range(d):
        residual += weights[j] * left[j]
    for j in range(d):
        out[j] = 2.0 * residual * right[j]
    if len(variances):
        row = variances[min(t, len(variances) - 1)]
        for j in range(d):
            out[j] -= 2.0 * row[j] * weights[j]
    if len(covariances):
        matrix = covariances[min(t, len(covariances) - 1)]
        for i in range(d):
            for j in range(d):
                out[i] -= 2.0 * matrix[i, j] * weights[j]
    for a in range(deviations.shape[1]):
        along = 0.0
        for j in range(d):
            along += deviations[t, a, j] * weights[j]
        for j in range(d):
            out[j] -= 2.0 * along * deviations[t, a, j]


@compiled
def descend(
    state: Any,
    left: Any,
    right: Any,
    targets: Any,
    correction: Any,
    step: int,
    rate: float,
    radius: float,
    centred: bool,
    clean: Any,
    predictions: Any,
    suffix: bool,
    losses: Any,
) -> None:
    """One round for each row, in order; updates `state`.

    `correction` is (variances, covariances, deviations) as in `fill_gradient`. A `radius` of 0 is the adaptive ball
    |w s| <= 2 s_y, with the standard deviations s of the columns and s_y of the target so far. Where `clean` has rows,
    the prediction for each, made before its update, is written to `predictions`; where `losses` has entries, the
    unbiased loss of each round before its update, of the suffix average or of the last weights.
    """
    variances, covariances, deviations = correction
    d = len(state.weights)
    gradient, first, second, averaged = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    for t in range(len(targets)):
        if len(losses):
            for j in range(d):
                averaged[j] = state.older[j] / max(state.rounds[1], 1) if suffix else state.weights[j]
                centre = state.means[j] if centred else 0.0
                first[j], second[j] = left[t, j] - centre, right[t, j] - centre
            target = targets[t] - (state.means[d] if centred else 0.0)
            losses[t] = unbiased_loss(t, averaged, first, second, target, variances, covariances, deviations)
        if len(clean):
            predictions[t] = state.means[d] if centred else 0.0
            for j in range(d):
                predictions[t] += state.weights[j] * (clean[t, j] - (state.means[j] if centred else 0.0))
        past = state.rounds[0]
        if past > 0 or (step == CONSTANT and not centred):  # other steps, and means, need earlier rows
            for j in range(d):
                centre = state.means[j] if centred else 0.0
                first[j], second[j] = left[t, j] - centre, right[t, j] - centre
            target = targets[t] - (state.means[d] if centred else 0.0)
            fill_gradient(t, state.weights, first, second, target, variances, covariances, deviations, gradient)
            take_step(state, gradient, step, rate)
            project(state, radius)
        update_moments(state, left[t], right[t], targets[t], centred)
        average(state)


@compiled
def unbiased_loss(
    t: int, weights: Any, left: Any, right: Any, target: float, variances: Any, covariances: Any, deviations: Any
) -> float:
    """(w.left - target) (w.right - target) - w'C w, C being the noise covariance of round t as in `fill_gradient`."""
    d = len(weights)
    one, other, noise = -target, -target, 0.0
    for j in range(d):
        one += weights[j] * left[j]
        other += weights[j] * right[j]
    if len(variances):
        row = variances[min(t, len(variances) - 1)]
        for j in range(d):
            noise += row[j] * weights[j] * weights[j]
    if len(covariances):
        matrix = covariances[min(t, len(covariances) - 1)]
        for i in range(d):
            for j in range(d):
                noise += matrix[i, j] * weights[i] * weights[j]
    for a in range(deviations.shape[1]):
        along = 0.0
        for j in range(d):
            along += deviations[t, a, j] * weights[j]
        noise += along * along
    return one * other - noise


@compiled
def compare(record: Any, losses: Any, rivals: Any, standard_errors: float, chosen: Any) -> None:
    """Whether the rival's loss is lower by so many standard errors, before each round [chosen] and after the last.

    `record` holds the rounds, and for an older and a newer sum, which restart as in `average`, the count, the sum and
    the sum of squares of the losses' differences. `chosen` has one entry more than there are rounds.
    """
    for t in range(len(chosen)):
        count, total = record[1], record[2]
        chosen[t] = False
        if count >= LEAST_COMPARED:
            variance = max(record[3] - total * total / count, 0.0) / (count - 1.0)
            chosen[t] = total / count + standard_errors * np.sqrt(variance / count) < 0.0
        if t == len(losses):
            break
        record[0] += 1.0
        rounds = int(record[0])
        if rounds & (rounds - 1) == 0:
            for k in range(3):
                record[1 + k], record[4 + k] = record[4 + k], 0.0
        difference = rivals[t] - losses[t]
        for start in (1, 4):
            record[start] += 1.0
            record[start + 1] += difference
            record[start + 2] += difference * difference


@compiled
def take_step(state: Any, gradient: Any, step: int, rate: float) -> None:
    """A step against the gradient: constant, decreasing as 1 / sqrt(t), or adapted to each column (AdaGrad)."""
    d = len(gradient)
    past = state.rounds[0]
    length = 0.0
    for j in range(d):
        length += state.deviations[j]
    for j in range(d):
        if step == CONSTANT:
            state.weights[j] -= rate * gradient[j]
        elif step == ROOT:
            if length > 0.0:
                state.weights[j] -= rate * past / length / np.sqrt(past) * gradient[j]
        elif step == SCALED:
            if state.deviations[j] > 0.0:
                state.weights[j] -= rate * past / (d * state.deviations[j]) / np.sqrt(past) * gradient[j]
        else:
            state.squares[j] += gradient[j] * gradient[j]
            if state.squares[j] > 0.0 and state.deviations[j] > 0.0:
                unit = np.sqrt(state.deviations[d] / state.deviations[j])
                state.weights[j] -= rate * unit * gradient[j] / np.sqrt(state.squares[j])


@compiled
def project(state: Any, radius: float) -> None:
    """Projection of the weights on the ball."""
    d = len(state.weights)
    size = 0.0
    for j in range(d):
        unit = state.deviations[j] if radius == 0.0 else 1.0
        size += state.weights[j] * state.weights[j] * unit
    most = 4.0 * state.deviations[d] if radius == 0.0 else radius * radius
    if size > most:
        shorter = np.sqrt(most / size)
        for j in range(d):
            state.weights[j] *= shorter


@compiled
def update_moments(state: Any, left: Any, right: Any, target: float, centred: bool) -> None:
    """Means and squared deviations with one more row (Welford)."""
    d = len(state.weights)
    state.rounds[0] += 1
    for j in range(d + 1):
        value = target if j == d else 0.5 * (left[j] + right[j])
        before = value - (state.means[j] if centred else 0.0)
        state.means[j] += (value - state.means[j]) / state.rounds[0]
        state.deviations[j] += before * (value - (state.means[j] if centred else 0.0))


@compiled
def average(state: Any) -> None:
    """Suffix averages: the sum `newer` restarts at rounds 1, 2, 4, 8, ..., and `older` runs from the restart before."""
    t = state.rounds[0]
    restart = t & (t - 1) == 0
    if restart:
        state.rounds[1], state.rounds[2] = state.rounds[2], 0
    for j in range(len(state.weights)):
        if restart:
            state.older[j], state.newer[j] = state.newer[j], 0.0
        state.older[j] += state.weights[j]
        state.newer[j] += state.weights[j]
    state.rounds[1] += 1
    state.rounds[2] += 1
