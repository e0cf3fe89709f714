"""The argmax of scores by SIMD vectors of four and without branches, which would be unpredictable."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from noisewise._loops.compiled import reference_of
from noisewise._loops.simd_llvm import address, shuffle, splat
from noisewise._loops.state import SIMD_WIDTH


@intrinsic
def _argmax(typing: Any, scores: Any, n: Any, excluded: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, end, excluded = arguments
        doubles, indices = ir.VectorType(ir.DoubleType(), SIMD_WIDTH), ir.VectorType(ir.IntType(64), SIMD_WIDTH)
        alloca: Any = cgutils.alloca_once_value
        top = alloca(builder, ir.Constant(doubles, [-math.inf] * SIMD_WIDTH))
        best = alloca(builder, ir.Constant(indices, [-1] * SIMD_WIDTH))
        first = ir.Constant(ir.IntType(64), 0)
        with cgutils.for_range_slice(builder, first, end, ir.Constant(ir.IntType(64), SIMD_WIDTH)) as (k, _):
            loaded = builder.load(address(context, builder, scores, array, [k], doubles), typ=doubles)
            loaded.align = 8
            index = builder.add(splat(builder, k, indices), ir.Constant(indices, list(range(SIMD_WIDTH))))
            highest = builder.load(top, typ=doubles)
            higher = builder.fcmp_ordered(">", loaded, highest)
            higher = builder.and_(higher, builder.icmp_signed("<", index, splat(builder, end, indices)))
            higher = builder.and_(higher, builder.icmp_signed("!=", index, splat(builder, excluded, indices)))
            builder.store(builder.select(higher, loaded, highest), top)
            builder.store(builder.select(higher, index, builder.load(best, typ=indices)), best)
        score, index = builder.load(top, typ=doubles), builder.load(best, typ=indices)
        for order in ([2, 3, 2, 3], [1, 1, 1, 1]):
            rival, other = shuffle(builder, score, score, order), shuffle(builder, index, index, order)
            tie = builder.and_(builder.fcmp_ordered("==", rival, score), builder.icmp_signed("<", other, index))
            higher = builder.or_(builder.fcmp_ordered(">", rival, score), tie)
            score, index = builder.select(higher, rival, score), builder.select(higher, other, index)
        return builder.extract_element(index, ir.Constant(ir.IntType(32), 0))

    return types.int64(scores, types.intp, types.intp), generate


@reference_of(_argmax)
def argmax(scores: Any, n: int, excluded: int) -> int:
    """The first of the classes below n with the highest score, one excluded; -1 if all scores are NaN.

    Scores are read up to the next multiple of four.
    """
    best, top = -1, -math.inf
    for k in range(n):
        if k != excluded and scores[k] > top:
            best, top = k, scores[k]
    return best
