"""Vectors written by hand: a few quads (four numbers) that the processor multiplies and adds at once.

Here is what each operation means, and runs when compilation is off; `intrinsics` has what LLVM is told to do instead.
Lanes run over columns, never over features, and nothing is fused: every sum is added up in the order of a plain loop,
to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops import simd_llvm
from noisewise._loops.compiled import meaning
from noisewise._loops.state import SIMD_WIDTH, per_register

POSITIONS = np.zeros((256, 8), np.uint8)  # the bits that are set in each byte, first to last
for _byte in range(256):
    _set = [bit for bit in range(8) if _byte >> bit & 1]
    POSITIONS[_byte, : len(_set)] = _set


@meaning(simd_llvm.per_line)
def per_line(table: Any) -> int:
    """How many numbers of a table make a line of 64 bytes: known to the compiler, as an array's itemsize is not."""
    return 64 // int(table.itemsize)


@meaning(simd_llvm.start_of)
def start_of(array: Any) -> Any:
    """Where an array starts, to be read and written by place: one number to hand over instead of seven or nine."""
    return array.reshape(-1)


@meaning(simd_llvm.zero_quads)
def zero_quads(like: Any, n: int) -> Any:
    """Lanes of n quads of the numbers of an array, all zero; n must be a constant."""
    return np.zeros(n * SIMD_WIDTH, like.dtype)


@meaning(simd_llvm.zero_registers)
def zero_registers(like: Any, n: int) -> Any:
    """The same for n registers of 32 bytes."""
    return np.zeros(n * per_register(like.dtype), like.dtype)


@meaning(simd_llvm.length)
def length(lanes: Any) -> int:
    """How many numbers there are."""
    return len(lanes)


@meaning(simd_llvm.load)
def load(table: Any, place: int, like: Any) -> Any:
    """As many numbers as `like` has, from a place in a table."""
    return table[place : place + len(like)]


@meaning(simd_llvm.store)
def store(sums: Any, place: int, lanes: Any) -> None:
    """Lanes into a place of a vector, which may have wider numbers."""
    sums[place : place + len(lanes)] = lanes


@meaning(simd_llvm.store_even)
def store_even(sums: Any, place: int, lanes: Any) -> None:
    """The same for the first quad, the third, and so on."""
    sums[place : place + len(lanes) // 2] = lanes.reshape(-1, 2, SIMD_WIDTH)[:, 0].ravel()


@meaning(simd_llvm.store_odd)
def store_odd(sums: Any, place: int, lanes: Any) -> None:
    """The same for the second quad, the fourth, and so on."""
    sums[place : place + len(lanes) // 2] = lanes.reshape(-1, 2, SIMD_WIDTH)[:, 1].ravel()


@meaning(simd_llvm.muladd)
def muladd(x: Any, x2: Any, lanes: Any, total: Any) -> Any:
    """``total + x * lanes`` in even quads, ``total + x2 * lanes`` in odd ones."""
    factors = np.where(np.arange(len(lanes)) // SIMD_WIDTH % 2 == 0, x, x2)
    return total + factors * lanes


@meaning(simd_llvm.prefetch)
def prefetch(array: Any, place: int) -> None:
    """Ask for a line of an array that will be needed soon; changes nothing."""


@meaning(simd_llvm.nonzero_bits)
def nonzero_bits(row: Any, j: int) -> int:
    """Which of the eight numbers from j on are not zero (NaN is not), one bit each."""
    return int(np.packbits(row[j : j + 8] != 0, bitorder="little")[0])


@meaning(simd_llvm.put8)
def put8(positions: Any, byte: int, j: int, index: Any, n: int) -> None:
    """Eight positions of a byte's bits, moved by j, into ``index[n:]``."""
    index[n : n + 8] = positions[byte].astype(np.uint32) + np.uint32(j)


@meaning(simd_llvm.popcount)
def popcount(byte: int) -> int:
    """How many bits are set."""
    return int(byte).bit_count()


@meaning(simd_llvm.stay_apart)
def stay_apart() -> None:
    """Keep the function that says so apart from those that call it: its loop then has the registers for itself."""
