"""Vectors written by hand: a few blocks of 32 bytes that the processor multiplies and adds at once.

Here is what each operation means, and runs when compilation is off; `intrinsics` has what LLVM is told to do instead.
Lanes run over columns, never over features, and nothing is fused: every sum is added up in the order of a plain loop,
to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._loops import intrinsics
from noisewise._loops.compiled import meaning
from noisewise._loops.state import block_size

POSITIONS = np.zeros((256, 8), np.uint32)  # the bits that are set in each byte, first to last
for _byte in range(256):
    _set = [bit for bit in range(8) if _byte >> bit & 1]
    POSITIONS[_byte, : len(_set)] = _set


@meaning(intrinsics.block)
def block(table: Any) -> int:
    """How many numbers of a table make a block: known to the compiler, as an array's itemsize is not."""
    return block_size(table.dtype)


@meaning(intrinsics.zeros)
def zeros(like: Any, n_blocks: int) -> Any:
    """Lanes of `n_blocks` blocks of the numbers of an array, all zero; `n_blocks` must be a constant."""
    return np.zeros(n_blocks * block_size(like.dtype), like.dtype)


@meaning(intrinsics.load)
def load(table: Any, row: int, column: int, like: Any) -> Any:
    """As many numbers as `like` has, from a place in a table."""
    return table[row, column : column + len(like)]


@meaning(intrinsics.store)
def store(sums: Any, place: int, lanes: Any) -> None:
    """Lanes into a place of a vector, which may have wider numbers."""
    sums[place : place + len(lanes)] = lanes


@meaning(intrinsics.even_blocks)
def even_blocks(lanes: Any) -> Any:
    """The first block, the third, and so on."""
    return lanes.reshape(-1, 2, block(lanes))[:, 0].ravel()


@meaning(intrinsics.odd_blocks)
def odd_blocks(lanes: Any) -> Any:
    """The second block, the fourth, and so on."""
    return lanes.reshape(-1, 2, block(lanes))[:, 1].ravel()


@meaning(intrinsics.muladd)
def muladd(x: Any, x2: Any, lanes: Any, total: Any) -> Any:
    """``total + x * lanes`` in even blocks, ``total + x2 * lanes`` in odd ones."""
    factors = np.where(np.arange(len(lanes)) // block(lanes) % 2 == 0, x, x2)
    return total + factors * lanes


@meaning(intrinsics.prefetch)
def prefetch(table: Any, row: int, column: int) -> None:
    """Ask for a line of the table that will be needed soon; changes nothing."""


@meaning(intrinsics.nonzero_bits)
def nonzero_bits(row: Any, j: int) -> int:
    """Which of the eight numbers from j on are not zero (NaN is not), one bit each."""
    return int(np.packbits(row[j : j + 8] != 0, bitorder="little")[0])


@meaning(intrinsics.put8)
def put8(positions: Any, byte: int, j: int, index: Any, n: int) -> None:
    """Eight positions of a byte's bits, moved by j, into ``index[n:]``."""
    index[n : n + 8] = positions[byte] + np.uint32(j)


@meaning(intrinsics.popcount)
def popcount(byte: int) -> int:
    """How many bits are set."""
    return int(byte).bit_count()
