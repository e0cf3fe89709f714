"""Random maps: estimates of a feature map from noisy copies, and their inner products.

A map is a number (`size`) and some vectors x1, ..., xN. It stands for the tensors size * table[n] * x1 (x) ... (x) xn
of all degrees n up to N, or of degree N alone if `single`. A degree of -1 is the map that is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._loops.compiled import compiled


class Terms(NamedTuple):
    """Series that are estimated by a random number of terms: coefficient times weight of each, and `single`."""

    table: NDArray[np.float64]
    single: bool


@compiled
def dot(x: Any, z: Any) -> float:
    """Inner product, in order."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * z[i]
    return total


@compiled
def series(terms: Any, factors: Any, degree: int) -> float:
    """Sum of the terms up to the degree, or the last alone; nothing for a degree of -1."""
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
    """Inner product of two maps of size 1 (vectors a[i:i+n] and b[j:j+m]) in the degrees above `above`."""
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
    """Inner product of a map of size 1 with itself."""
    return product(terms, vectors, start, degree, vectors, start, degree, -1)


@compiled
def spread(vectors: Any, start: int, degree: int, offsets: Any, out: Any) -> None:
    """Fill `out` with the tensors x1 (x) ... (x) xn, one degree after the other, as far as they are kept dense."""
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
    """Inner product of a map of size 1 with Psi(x) in the degrees above `above` (Mult, Subroutine 4)."""
    running, total = 1.0, 0.0
    for k in range(degree + 1):
        if k > 0:
            running *= dot(vectors[start + k - 1], x)
        if k > above and not (terms.single and k < degree):
            total += roots[k] * terms.table[k] * running
    return total


@compiled
def sizes_of_maps(terms: Any, copies: Any, starts: Any, n_pairs: Any, out: Any) -> None:
    """Fill `out` with the sizes of many maps, whose copies begin at `starts`."""
    for i in range(starts.shape[0]):
        out[i] = size_of(terms, copies, starts[i], n_pairs[i])


@compiled
def products(terms: Any, a: Any, b: Any, out: Any) -> None:
    """Fill `out` with the inner products of maps i of two lists (starts, degrees, sizes, vectors)."""
    for i in range(out.shape[0]):
        out[i] = a[2][i] * b[2][i] * product(terms, a[3], a[0][i], a[1][i], b[3], b[0][i], b[1][i], -1)


@compiled
def multiples(terms: Any, roots: Any, maps: Any, x: Any, out: Any) -> None:
    """Fill `out` with the inner products of many maps with Psi(x)."""
    for i in range(out.shape[0]):
        out[i] = maps[2][i] * against_row(terms, roots, maps[3], maps[0][i], maps[1][i], x, -1)
