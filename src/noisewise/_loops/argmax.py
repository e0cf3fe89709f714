"""The class with the highest score, four of them at a time and without a jump, as none could be foreseen."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from noisewise._loops.compiled import meaning
from noisewise._loops.simd_llvm import address, shuffle, splat
from noisewise._loops.state import SIMD_WIDTH


@intrinsic
def _highest(typing: Any, scores: Any, n: Any, but: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, end, left_out = arguments
        numbers, names = ir.VectorType(ir.DoubleType(), SIMD_WIDTH), ir.VectorType(ir.IntType(64), SIMD_WIDTH)
        keep: Any = cgutils.alloca_once_value
        top = keep(builder, ir.Constant(numbers, [-math.inf] * SIMD_WIDTH))
        best = keep(builder, ir.Constant(names, [-1] * SIMD_WIDTH))
        first = ir.Constant(ir.IntType(64), 0)
        with cgutils.for_range_slice(builder, first, end, ir.Constant(ir.IntType(64), SIMD_WIDTH)) as (k, _):
            here = builder.load(address(context, builder, scores, array, [k], numbers), typ=numbers)
            here.align = 8
            name = builder.add(splat(builder, k, names), ir.Constant(names, list(range(SIMD_WIDTH))))
            known = builder.load(top, typ=numbers)
            up = builder.fcmp_ordered(">", here, known)
            up = builder.and_(up, builder.icmp_signed("<", name, splat(builder, end, names)))
            up = builder.and_(up, builder.icmp_signed("!=", name, splat(builder, left_out, names)))
            builder.store(builder.select(up, here, known), top)
            builder.store(builder.select(up, name, builder.load(best, typ=names)), best)
        score, name = builder.load(top, typ=numbers), builder.load(best, typ=names)
        for places in ([2, 3, 2, 3], [1, 1, 1, 1]):
            rival, other = shuffle(builder, score, score, places), shuffle(builder, name, name, places)
            tie = builder.and_(builder.fcmp_ordered("==", rival, score), builder.icmp_signed("<", other, name))
            up = builder.or_(builder.fcmp_ordered(">", rival, score), tie)
            score, name = builder.select(up, rival, score), builder.select(up, other, name)
        return builder.extract_element(name, ir.Constant(ir.IntType(32), 0))

    return types.int64(scores, types.intp, types.intp), generate


@meaning(_highest)
def highest(scores: Any, n: int, but: int) -> int:
    """The first of the classes below n with the highest score, one left out; -1 if no score is a number.

    Scores are read up to the next multiple of four.
    """
    best, top = -1, -math.inf
    for k in range(n):
        if k != but and scores[k] > top:
            best, top = k, scores[k]
    return best
