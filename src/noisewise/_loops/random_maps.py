"""Online gradient descent with random feature maps: inner products of maps, rounds and predictions.

References
----------
.. [1] Cesa-Bianchi, N., Shalev-Shwartz, S., Shamir, O. (2011). Online learning of noisy data. IEEE Transactions on
   Information Theory 57(12), 7907-7931. Algorithm 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import compiled


class Terms(NamedTuple):
    """A series that is estimated by random terms: coefficient times weight of each, and whether one term is taken."""

    table: NDArray[np.float64]
    single: bool


@compiled
def dot(x: Any, z: Any) -> float:
    """Inner product, summed in order."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * z[i]
    return total


@compiled
def series(terms: Any, factors: Any, degree: int) -> float:
    """Sum of the terms up to the degree, or the last alone; zero for a degree of -1."""
    if degree < 0:
        return 0.0
    product, total = 1.0, float(terms.table[0])
    for n in range(1, degree + 1):
        product *= factors[n - 1]
        total += terms.table[n] * product
    return float(terms.table[degree]) * product if terms.single else total


@compiled
def size_of(terms: Any, copies: Any, start: int, n_pairs: int) -> float:
    """A series of |x|^2, each factor from two copies of x; 1 where there is no series."""
    if terms.table.shape[0] == 0:
        return 1.0
    factors = np.empty(max(n_pairs, 0))
    for j in range(n_pairs):
        factors[j] = dot(copies[start + 2 * j], copies[start + 2 * j + 1])
    return series(terms, factors, n_pairs)


@compiled
def product(terms: Any, a: Any, i: int, n: int, b: Any, j: int, m: int, above: int) -> float:
    """Inner product of two maps with scalar factor 1 (vectors a[i:i+n] and b[j:j+m]) in the degrees above `above`."""
    if terms.single and n != m:
        return 0.0
    running, total = 1.0, 0.0
    for k in range(min(n, m) + 1):
        if k > 0:
            running *= dot(a[i + k - 1], b[j + k - 1])
        if k > above and not (terms.single and k < n):
            total += terms.table[k] ** 2 * running
    return total


@compiled
def squared_norm(terms: Any, vectors: Any, start: int, degree: int) -> float:
    """Inner product of a map with scalar factor 1 with itself."""
    return product(terms, vectors, start, degree, vectors, start, degree, -1)


@compiled
def fill_tensors(vectors: Any, start: int, degree: int, offsets: Any, out: Any) -> None:
    """Fill `out` with the tensors x1 (x) ... (x) xn, one degree after the other, up to the highest dense degree."""
    d = vectors.shape[1]
    out[0] = 1.0
    for n in range(1, min(degree, offsets.shape[0] - 2) + 1):
        before, here = offsets[n - 1], offsets[n]
        for i in range(offsets[n] - before):
            for j in range(d):
                out[here + i * d + j] = out[before + i] * vectors[start + n - 1, j]


@compiled
def dense_value(weights: Any, tensors: Any, table: Any, degree: int, single: bool, offsets: Any) -> float:
    """Inner product with dense weights: sum over degrees n of table[n] <weights_n, tensors_n>."""
    top = offsets.shape[0] - 2
    if single and degree > top:
        return 0.0
    total = 0.0
    for n in range(degree if single else 0, min(degree, top) + 1):
        if table[n] != 0:
            part = slice(offsets[n], offsets[n + 1])
            total += table[n] * dot(weights[part], tensors[part])
    return total


@compiled
def against_row(terms: Any, roots: Any, vectors: Any, start: int, degree: int, x: Any, above: int) -> float:
    """Inner product of a map with scalar factor 1 with Psi(x) in the degrees above `above` (Mult, Subroutine 4)."""
    running, total = 1.0, 0.0
    for k in range(degree + 1):
        if k > 0:
            running *= dot(vectors[start + k - 1], x)
        if k > above and not (terms.single and k < degree):
            total += roots[k] * terms.table[k] * running
    return total


@compiled
def sizes_of_maps(terms: Any, copies: Any, starts: Any, n_pairs: Any, out: Any) -> None:
    """Fill `out` with the scalar factors of many maps, whose copies begin at `starts`."""
    for i in range(starts.shape[0]):
        out[i] = size_of(terms, copies, starts[i], n_pairs[i])


@compiled
def products(terms: Any, a: Any, b: Any, out: Any) -> None:
    """Fill `out` with the inner products of maps i of two lists (starts, degrees, sizes, vectors)."""
    for i in range(out.shape[0]):
        out[i] = a[2][i] * b[2][i] * product(terms, a[3], a[0][i], a[1][i], b[3], b[0][i], b[1][i], -1)


@compiled
def products_with_row(terms: Any, roots: Any, maps: Any, x: Any, out: Any) -> None:
    """Fill `out` with the inner products of many maps with Psi(x)."""
    for i in range(out.shape[0]):
        out[i] = maps[2][i] * against_row(terms, roots, maps[3], maps[0][i], maps[1][i], x, -1)


# counts: rounds, deep maps, and vectors of these
N_ROUNDS, N_DEEP, N_VECTORS = range(3)
# sums: squared norms of maps, squared targets, squared factors, factors, squared rows, rows, weights of the average
NORMS, TARGETS, FACTORS, N_FACTORS, ROWS, N_ROWS, WEIGHTS = range(7)
# settings: constant step (-1 adapts), relative step, bound of the squared norm (-1 adapts), power of the weights
CONSTANT_STEP, RELATIVE_STEP, BALL, POWER = range(4)
BURN_IN = 100.0  # rounds before an adaptive step begins to decrease
BALL_FACTOR = 100.0  # of an adaptive ball, times mean squared target / mean squared norm of the maps
TINY = 1e-100  # against division by zero
SMALLEST_SCALE = 1e-3  # a smaller scale costs digits of the average, which is a difference


class Descent(NamedTuple):
    """K predictors with common random maps, between two rounds; loops change all but `offsets`, `table` and `settings`.

    A predictor is ``scale * sum of coefs * map``. Degrees up to that of `offsets` are kept as dense tensors; maps of
    higher degree are deep and stored as vectors. `marks` are coefs times the `total` at their round, and `drift` is the
    same sum as `dense` with these, so that ``total * dense - drift`` is the weighted sum of the predictors so far.
    """

    dense: NDArray[np.float64]
    drift: NDArray[np.float64]
    coefs: NDArray[np.float64]
    marks: NDArray[np.float64]
    scale: NDArray[np.float64]
    norm: NDArray[np.float64]
    total: NDArray[np.float64]
    rounds: NDArray[np.int64]  # of each deep map
    starts: NDArray[np.int64]
    degrees: NDArray[np.int64]
    sizes: NDArray[np.float64]
    vectors: NDArray[np.float64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    offsets: NDArray[np.int64]
    table: NDArray[np.float64]
    settings: NDArray[np.float64]


@compiled
def values(state: Any, terms: Any, copies: Any, start: int, degree: int, size: float, tensors: Any, out: Any) -> None:
    """Fill `out` with each predictor's inner product with a map, and `tensors` with the map's dense part."""
    out[:] = 0.0
    if degree < 0:
        return
    top = state.offsets.shape[0] - 2
    if degree > top:
        for i in range(state.counts[N_DEEP]):
            value = state.sizes[i] * product(
                terms, state.vectors, state.starts[i], state.degrees[i], copies, start, degree, top
            )
            if value != 0:
                for k in range(out.shape[0]):
                    out[k] += value * state.coefs[state.rounds[i], k]
    fill_tensors(copies, start, degree, state.offsets, tensors)
    for k in range(out.shape[0]):
        out[k] += dense_value(state.dense[k], tensors, state.table, degree, terms.single, state.offsets)
        out[k] *= size * state.scale[k]


@compiled
def learn(state: Any, all_series: Any, margin: bool, copies: Any, plan: Any, degree_of_loss: int, y: Any) -> None:
    """One round of Algorithm 4: the first map of the plan is stored, the others are factors of the loss's derivative.

    `all_series` are the terms of maps, of their scalar factors and of the loss. A row of `plan` holds the number of
    pairs of copies of a scalar factor, and the map's degree; copies come in this order. A `degree_of_loss` of -1 is a
    derivative of zero.
    `y` has a row for each map (targets may be noisy too) and a column for each predictor.
    """
    terms, size_terms, loss_terms = all_series
    n_factors = plan.shape[0] - 1
    n_outputs = y.shape[1]
    tensors, value = np.empty(state.dense.shape[1]), np.empty(n_outputs)
    factors = np.empty((n_outputs, n_factors))
    for i in range(copies.shape[0]):
        state.sums[ROWS] += dot(copies[i], copies[i])
        state.sums[N_ROWS] += 1
    start = copies_of_map(plan, 0)
    for j in range(1, n_factors + 1):
        size = size_of(size_terms, copies, start, plan[j, 0])
        values(state, terms, copies, start + 2 * max(plan[j, 0], 0), plan[j, 1], size, tensors, value)
        for k in range(n_outputs):
            factors[k, j - 1] = y[j, k] * value[k] if margin else value[k] - y[j, k]
            state.sums[FACTORS] += factors[k, j - 1] ** 2
        start = start + copies_of_map(plan, j)
    state.sums[N_FACTORS] += n_factors * n_outputs
    first, degree = 2 * max(plan[0, 0], 0), plan[0, 1]
    size = size_of(size_terms, copies, 0, plan[0, 0])
    values(state, terms, copies, first, degree, size, tensors, value)
    own = size * size * squared_norm(terms, copies, first, degree)
    keep(state, copies, first, degree, size)
    step = step_size(state, own)
    derivatives = np.empty(n_outputs)
    for k in range(n_outputs):
        derivatives[k] = series(loss_terms, factors[k], degree_of_loss) * (y[0, k] if margin else 1.0)
    move(state, terms, degree, size, tensors, value, own, step, derivatives, y[0])


@compiled
def copies_of_map(plan: Any, j: int) -> int:
    """Number of copies of map j of a plan."""
    return 2 * max(int(plan[j, 0]), 0) + max(int(plan[j, 1]), 0)


@compiled
def keep(state: Any, copies: Any, first: int, degree: int, size: float) -> None:
    """Store the vectors of a map of higher than dense degree."""
    if degree <= state.offsets.shape[0] - 2:
        return
    i, start = state.counts[N_DEEP], state.counts[N_VECTORS]
    state.rounds[i], state.starts[i] = state.counts[N_ROUNDS], start
    state.degrees[i], state.sizes[i] = degree, size
    state.vectors[start : start + degree] = copies[first : first + degree]
    state.counts[N_DEEP] += 1
    state.counts[N_VECTORS] += degree


@compiled
def step_size(state: Any, own: float) -> float:
    """The step: constant, or relative to 1 / mean squared norm of earlier maps, decreasing as 1 / sqrt(time).

    The norm of the map itself is used in the first round only: a step that depends on the map would bias the gradient.
    """
    rounds = state.counts[N_ROUNDS]
    if state.settings[CONSTANT_STEP] >= 0:
        return float(state.settings[CONSTANT_STEP])
    mean = state.sums[NORMS] / rounds if state.sums[NORMS] > 0 else own
    return float(state.settings[RELATIVE_STEP] / (max(mean, TINY) * np.sqrt(1 + rounds / BURN_IN)))


@compiled
def move(
    state: Any,
    terms: Any,
    degree: int,
    size: float,
    tensors: Any,
    value: Any,
    own: float,
    step: float,
    derivatives: Any,
    y: Any,
) -> None:
    """Add the new map to each predictor, project on the ball, and update the average."""
    t = state.counts[N_ROUNDS]
    state.sums[NORMS] += own
    state.sums[TARGETS] += np.sum(y * y) / y.shape[0]
    weight = (t + 1.0) ** state.settings[POWER]
    state.sums[WEIGHTS] += weight
    ball = state.settings[BALL]
    if ball < 0:
        ball = BALL_FACTOR * state.sums[TARGETS] / max(state.sums[NORMS], TINY)
    top = state.offsets.shape[0] - 2
    for k in range(value.shape[0]):
        alpha = -step * derivatives[k]
        coef = alpha / state.scale[k]
        state.coefs[t, k], state.marks[t, k] = coef, coef * state.total[k]
        if coef != 0 and not (terms.single and degree > top):
            for n in range(degree if terms.single else 0, min(degree, top) + 1):
                weight_n = coef * size * state.table[n]
                for i in range(state.offsets[n], state.offsets[n + 1]):
                    state.dense[k, i] += weight_n * tensors[i]
                    state.drift[k, i] += state.total[k] * weight_n * tensors[i]
        norm = max(state.norm[k] + 2 * alpha * value[k] + alpha * alpha * own, 0.0)
        if norm > ball:
            state.scale[k] *= np.sqrt(ball / norm)
            norm = ball
        state.norm[k] = norm
        state.total[k] += weight * state.scale[k]
        if state.scale[k] < SMALLEST_SCALE:
            rescale(state, k)
    state.counts[N_ROUNDS] += 1


@compiled
def rescale(state: Any, k: int) -> None:
    """Multiply the coefficients of a predictor by its scale, before that is small, and restart scale and total."""
    for t in range(state.counts[N_ROUNDS] + 1):
        state.marks[t, k] -= state.total[k] * state.coefs[t, k]
        state.coefs[t, k] *= state.scale[k]
    state.drift[k] -= state.total[k] * state.dense[k]
    state.dense[k] *= state.scale[k]
    state.total[k] = 0.0
    state.scale[k] = 1.0


@compiled
def predict(terms: Any, roots: Any, X: Any, dense: Any, offsets: Any, deep: Any, maps: Any, out: Any) -> None:
    """Fill `out` (rows, K) with inner products of predictors with Psi(x): dense weights, and coefficients of deep maps.

    `roots` holds the root of each Taylor coefficient, `maps` the deep maps' (starts, degrees, sizes, vectors).
    """
    starts, degrees, sizes, vectors = maps
    top = offsets.shape[0] - 2
    n_outputs = dense.shape[0]
    tensors, same = np.empty(offsets[top + 1]), np.empty((top, X.shape[1]))
    for row in range(X.shape[0]):
        for n in range(top):
            same[n] = X[row]
        fill_tensors(same, 0, top, offsets, tensors)
        for k in range(n_outputs):
            out[row, k] = dense_value(dense[k], tensors, roots, top, False, offsets)
        for i in range(starts.shape[0]):
            value = sizes[i] * against_row(terms, roots, vectors, starts[i], degrees[i], X[row], top)
            for k in range(n_outputs):
                out[row, k] += value * deep[i, k]
