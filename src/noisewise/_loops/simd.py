"""SIMD operations on a few vectors of SIMD_WIDTH (four) values, as reference implementations in NumPy.

They run when JIT is disabled; `simd_llvm` has the LLVM intrinsics that replace them. Vectors run over columns, never
over features, and nothing is fused (no FMA): every sum has the order of a plain loop, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops import simd_llvm
from noisewise._loops.compiled import reference_of
from noisewise._loops.state import SIMD_WIDTH, per_register

POSITIONS = np.zeros((256, 8), np.uint8)  # the bits that are set in each byte, first to last
for _byte in range(256):
    _set = [bit for bit in range(8) if _byte >> bit & 1]
    POSITIONS[_byte, : len(_set)] = _set


@reference_of(simd_llvm.per_line)
def per_line(table: Any) -> int:
    """Values per cache line of 64 bytes: a compile-time constant, which an array's itemsize is not."""
    return 64 // int(table.itemsize)


@reference_of(simd_llvm.start_of)
def start_of(array: Any) -> Any:
    """Pointer to the first entry of an array: one argument to pass instead of seven or nine."""
    return array.reshape(-1)


@reference_of(simd_llvm.zero_vectors)
def zero_vectors(like: Any, n: int) -> Any:
    """Zero vectors of an array's dtype, n of them; n must be a constant."""
    return np.zeros(n * SIMD_WIDTH, like.dtype)


@reference_of(simd_llvm.zero_registers)
def zero_registers(like: Any, n: int) -> Any:
    """The same for n registers of 32 bytes."""
    return np.zeros(n * per_register(like.dtype), like.dtype)


@reference_of(simd_llvm.length)
def length(vectors: Any) -> int:
    """Number of values."""
    return len(vectors)


@reference_of(simd_llvm.load)
def load(table: Any, index: int, like: Any) -> Any:
    """As many values as `like` has, from an index of a table."""
    return table[index : index + len(like)]


@reference_of(simd_llvm.store)
def store(sums: Any, index: int, vectors: Any) -> None:
    """Store vectors from an index of an array on, which may be of a wider dtype."""
    sums[index : index + len(vectors)] = vectors


@reference_of(simd_llvm.store_even)
def store_even(sums: Any, index: int, vectors: Any) -> None:
    """The same for the first vector, the third, and so on."""
    sums[index : index + len(vectors) // 2] = vectors.reshape(-1, 2, SIMD_WIDTH)[:, 0].ravel()


@reference_of(simd_llvm.store_odd)
def store_odd(sums: Any, index: int, vectors: Any) -> None:
    """The same for the second vector, the fourth, and so on."""
    sums[index : index + len(vectors) // 2] = vectors.reshape(-1, 2, SIMD_WIDTH)[:, 1].ravel()


@reference_of(simd_llvm.muladd)
def muladd(x: Any, x2: Any, vectors: Any, total: Any) -> Any:
    """``total + x * vectors`` in even vectors, ``total + x2 * vectors`` in odd ones."""
    factors = np.where(np.arange(len(vectors)) // SIMD_WIDTH % 2 == 0, x, x2)
    return total + factors * vectors


@reference_of(simd_llvm.prefetch)
def prefetch(array: Any, index: int) -> None:
    """Prefetch the cache line of an index; changes nothing."""


@reference_of(simd_llvm.nonzero_bits)
def nonzero_bits(row: Any, j: int) -> int:
    """Bit mask of the non-zeros (NaN is one) among the eight values from j on."""
    return int(np.packbits(row[j : j + 8] != 0, bitorder="little")[0])


@reference_of(simd_llvm.put8)
def put8(positions: Any, byte: int, j: int, index: Any, n: int) -> None:
    """The positions of a byte's set bits, plus j, into ``index[n:]``; eight entries are written."""
    index[n : n + 8] = positions[byte].astype(np.uint32) + np.uint32(j)


@reference_of(simd_llvm.popcount)
def popcount(byte: int) -> int:
    """Number of bits set."""
    return int(byte).bit_count()


@reference_of(simd_llvm.no_inline)
def no_inline() -> None:
    """Mark the calling function as not to be inlined, so that its loop has all registers."""
