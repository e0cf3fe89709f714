"""The update itself: mu += alpha Sigma x and Sigma -= beta (Sigma x)(Sigma x)', for each kind of covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from noisewise._loops.compiled import inlined, inner, reference_of
from noisewise._loops.scores import column
from noisewise._loops.simd import start_of
from noisewise._loops.simd_llvm import address
from noisewise._loops.sparse_rows import value_at
from noisewise._loops.state import (
    ALONE,
    CLASSES,
    COVARIANCE,
    DIAGONAL,
    DROP,
    EXACT,
    FULL,
    JOINT,
    RATIO,
    RIDGE,
    SHRINK,
    SIMD_WIDTH,
)


@intrinsic
def _move_both(typing: Any, table: Any, one: Any, other: Any, x: Any, a: Any, a2: Any, b: Any, b2: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, one, other, x, a, a2, b, b2 = arguments
        scalar = context.get_value_type(table.dtype)
        two, stride = ir.VectorType(scalar, 2), ir.Constant(ir.IntType(64), SIMD_WIDTH)
        halves = [ir.Constant(ir.IntType(32), half) for half in (0, 1)]

        def join(first: Any, second: Any) -> Any:
            half = builder.insert_element(ir.Constant(two, ir.Undefined), first, halves[0])
            return builder.insert_element(half, second, halves[1])

        means = [address(context, builder, table, array, [index], scalar) for index in (one, other)]
        variances = [builder.gep(pointer, [stride], source_etype=scalar) for pointer in means]
        mean, variance = (join(*(builder.load(at, typ=scalar) for at in pair)) for pair in (means, variances))
        gain = builder.fmul(variance, join(x, x))
        mean = builder.fadd(mean, builder.fmul(join(a, a2), gain))
        left = builder.fsub(variance, builder.fmul(join(b, b2), builder.fmul(gain, gain)))
        zero = ir.Constant(two, [0.0, 0.0])
        left = builder.select(builder.fcmp_ordered(">", left, zero), left, zero)
        for vector, pointers in ((mean, means), (left, variances)):
            for half, at in zip(halves, pointers):
                builder.store(builder.extract_element(vector, half), at)
        return context.get_dummy_value()

    index, scalars = types.intp, [table.dtype] * 5
    return types.void(table, index, index, *scalars), generate


@reference_of(_move_both)
def move_both(table: Any, one: int, other: int, x: Any, a: Any, a2: Any, b: Any, b2: Any) -> None:
    """Paired update: the means at two indices move by a and a2 times variance times x, and both variances shrink."""
    for index, alpha, beta in ((one, a, b), (other, a2, b2)):
        variance = table[index + SIMD_WIDTH]
        gain = variance * x
        table[index] += alpha * gain
        table[index + SIMD_WIDTH] = max(table.dtype.type(0), variance - beta * (gain * gain))  # not below 0 by rounding


@inlined
def move(state: Any, row: Any, moves: Any, gain: Any) -> int:
    """Apply the updates (mean of a column += alpha Sigma x, covariance shrinks by beta); 1 if there were any."""
    first, alpha, beta, second, alpha2, beta2 = moves
    if first < 0 and second < 0:
        return 0
    if state.counters[COVARIANCE] == FULL:
        move_full(state.table, state.sigma, state.counters[CLASSES], row, moves, gain)
        return 1
    if state.counters[COVARIANCE] == JOINT:
        move_joint(state.table, state.sigma, state.counters[CLASSES], row, moves, gain)
        return 1
    if state.counters[COVARIANCE] == DIAGONAL:
        shrink, r = state.counters[SHRINK], state.parameters[RIDGE]
        if first >= 0 and second >= 0 and shrink == DROP:
            move_two(state.table, row, moves)
            return 1
        if first >= 0:
            move_diagonal(state.table, shrink, r, row, first, alpha, beta)
        if second >= 0:
            move_diagonal(state.table, shrink, r, row, second, alpha2, beta2)
    elif first < 0 or second < 0:
        k, a = (first, state.table.dtype.type(alpha)) if first >= 0 else (second, state.table.dtype.type(alpha2))
        t, start = np.uint64(row.stop), np.uint64(row.start)
        while t > start:
            t -= np.uint64(1)
            state.table[row.features[t], k] += a * value_at(row, t)
    else:
        a, a2 = state.table.dtype.type(alpha), state.table.dtype.type(alpha2)
        t, start = np.uint64(row.stop), np.uint64(row.start)
        while t > start:
            t -= np.uint64(1)
            x = value_at(row, t)
            j = row.features[t]
            state.table[j, first] += a * x
            state.table[j, second] += a2 * x
    return 1


@inner
def move_diagonal(table: Any, shrink: int, r: float, row: Any, k: int, alpha: float, beta: float) -> None:
    """One column with a diagonal covariance, stored beside the means."""
    mean = column(k)
    if shrink == ALONE:
        move_alone(table, r, row, mean, alpha, beta)
        return
    if shrink == DROP:
        a, b, zero = table.dtype.type(alpha), table.dtype.type(beta), table.dtype.type(0.0)
        t, start = np.uint64(row.stop), np.uint64(row.start)
        while t > start:
            t -= np.uint64(1)
            j = row.features[t]
            variance = table[j, mean + SIMD_WIDTH]
            gain = variance * value_at(row, t)
            table[j, mean] += a * gain
            table[j, mean + SIMD_WIDTH] = max(zero, variance - b * (gain * gain))  # rounding must not make it negative
        return
    t, start = np.uint64(row.stop), np.uint64(row.start)
    while t > start:
        t -= np.uint64(1)
        j = row.features[t]
        x = np.float64(value_at(row, t))
        variance = np.float64(table[j, mean + SIMD_WIDTH])
        gain = variance * x
        moved = np.float64(table[j, mean]) + np.float64(alpha) * gain
        factor = 1.0 / (1.0 + np.float64(beta) * gain * x)
        table[j, mean] = moved * factor if shrink == RATIO else moved
        table[j, mean + SIMD_WIDTH] = variance * factor * factor if shrink == EXACT else variance * factor


@inner
def move_two(table: Any, row: Any, moves: Any) -> None:
    """Two columns at once, as `move_diagonal` would move them one after the other."""
    first, alpha, beta, second, alpha2, beta2 = moves
    a, b, a2, b2 = table.dtype.type(alpha), table.dtype.type(beta), table.dtype.type(alpha2), table.dtype.type(beta2)
    origin, width, mean, mean2 = start_of(table), table.shape[1], column(first), column(second)
    t, start = np.uint64(row.stop), np.uint64(row.start)
    while t > start:
        t -= np.uint64(1)
        j = row.features[t] * width
        move_both(origin, j + mean, j + mean2, value_at(row, t), a, a2, b, b2)


@inner
def move_alone(table: Any, r: float, row: Any, mean: int, alpha: float, target: float) -> None:
    """Least squares of each feature alone: A += x^2 / r, A w += target x / r, after a shift by alpha Sigma x."""
    t, start = np.uint64(row.stop), np.uint64(row.start)
    while t > start:
        t -= np.uint64(1)
        j = row.features[t]
        x = np.float64(value_at(row, t))
        variance = np.float64(table[j, mean + SIMD_WIDTH])
        gain = variance * x
        moved = np.float64(table[j, mean]) + np.float64(alpha) * gain
        after = variance / (1.0 + gain * x / r)
        table[j, mean] = (moved / variance + np.float64(target) * x / r) * after
        table[j, mean + SIMD_WIDTH] = after


@inner
def move_full(table: Any, sigma: Any, n_classes: int, row: Any, moves: Any, gain: Any) -> None:
    """Columns with full covariances; two columns of one class share its covariance, which shrinks once."""
    first, alpha, beta, second, alpha2, beta2 = moves
    for update in range(2):
        k, a, b = (first, alpha, beta) if update == 0 else (second, alpha2, beta2)
        if k < 0:
            continue
        shared = update == 1 and first >= 0 and first % n_classes == second % n_classes
        if not shared:
            fill_gain(sigma[k % n_classes], row, gain)
        for i in range(table.shape[0]):
            table[i, k] += np.float64(a) * gain[i]
        if not shared and b != 0.0:
            shrink_full(sigma[k % n_classes], gain, b)


@inner
def move_joint(table: Any, sigma: Any, n_classes: int, row: Any, moves: Any, gain: Any) -> None:
    """All columns along Sigma ((e_first - e_second) (x) x); sigma has a block for each pair of classes."""
    first, alpha, beta, second, _, _ = moves
    n_features = table.shape[0]
    for k in range(n_classes):
        ours, theirs = sigma[first * n_classes + k], sigma[second * n_classes + k]
        for i in range(n_features):
            gain[k * n_features + i] = 0.0
        for t in range(np.uint64(row.start), np.uint64(row.stop)):
            x, j = np.float64(value_at(row, t)), row.features[t]
            for i in range(n_features):
                gain[k * n_features + i] += (ours[j, i] - theirs[j, i]) * x
        for i in range(n_features):
            table[i, k] += np.float64(alpha) * gain[k * n_features + i]
    for k in range(n_classes):
        for other in range(n_classes):
            block = sigma[k * n_classes + other]
            for i in range(n_features):
                for j in range(n_features):
                    block[i, j] -= np.float64(beta) * (gain[k * n_features + i] * gain[other * n_features + j])


@inner
def fill_gain(sigma: Any, row: Any, gain: Any) -> None:
    """Sigma x, for a full covariance."""
    for i in range(sigma.shape[0]):
        gain[i] = 0.0
    for t in range(np.uint64(row.start), np.uint64(row.stop)):
        x = np.float64(value_at(row, t))
        for i in range(sigma.shape[0]):
            gain[i] += sigma[row.features[t], i] * x


@inner
def shrink_full(sigma: Any, gain: Any, beta: float) -> None:
    """Sigma -= beta gain gain'; both triangles get the same bits."""
    b = np.float64(beta)
    for i in range(sigma.shape[0]):
        for j in range(sigma.shape[0]):
            sigma[i, j] -= b * (gain[i] * gain[j])
