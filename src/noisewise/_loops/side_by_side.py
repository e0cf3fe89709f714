"""Two means and their variances moved at once, in the two halves of a register."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from noisewise._loops.compiled import meaning
from noisewise._loops.intrinsics import address
from noisewise._loops.state import QUAD


@intrinsic
def _move_both(typing: Any, table: Any, one: Any, other: Any, x: Any, a: Any, a2: Any, b: Any, b2: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, one, other, x, a, a2, b, b2 = arguments
        number = context.get_value_type(table.dtype)
        two, quad = ir.VectorType(number, 2), ir.Constant(ir.IntType(64), QUAD)
        halves = [ir.Constant(ir.IntType(32), half) for half in (0, 1)]

        def join(first: Any, second: Any) -> Any:
            half = builder.insert_element(ir.Constant(two, ir.Undefined), first, halves[0])
            return builder.insert_element(half, second, halves[1])

        means = [address(context, builder, table, array, [place], number) for place in (one, other)]
        variances = [builder.gep(pointer, [quad], source_etype=number) for pointer in means]
        mean, variance = (join(*(builder.load(at, typ=number) for at in places)) for places in (means, variances))
        gain = builder.fmul(variance, join(x, x))
        mean = builder.fadd(mean, builder.fmul(join(a, a2), gain))
        left = builder.fsub(variance, builder.fmul(join(b, b2), builder.fmul(gain, gain)))
        zero = ir.Constant(two, [0.0, 0.0])
        left = builder.select(builder.fcmp_ordered(">", left, zero), left, zero)
        for vector, places in ((mean, means), (left, variances)):
            for half, at in zip(halves, places):
                builder.store(builder.extract_element(vector, half), at)
        return context.get_dummy_value()

    place, given = types.intp, [table.dtype] * 5
    return types.void(table, place, place, *given), generate


@meaning(_move_both)
def move_both(table: Any, one: int, other: int, x: Any, a: Any, a2: Any, b: Any, b2: Any) -> None:
    """Move the means at two places by a and a2 times variance times x; the variances, a quad further on, shrink."""
    for place, alpha, beta in ((one, a, b), (other, a2, b2)):
        variance = table[place + QUAD]
        gain = variance * x
        table[place] += alpha * gain
        table[place + QUAD] = max(table.dtype.type(0), variance - beta * (gain * gain))  # not below 0 by rounding
