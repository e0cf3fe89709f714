"""Operations on lanes as LLVM instructions; `lanes` says what they mean."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model


class Lanes(types.Type):
    """Blocks of 32 bytes; LLVM makes bad code of one long vector, so each block is one of its own."""

    def __init__(self, dtype: Any, n_blocks: int) -> None:
        self.dtype, self.n_blocks = dtype, n_blocks
        super().__init__(name=f"Lanes({dtype}, {n_blocks})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        blocks = ir.LiteralStructType([_block(lanes.dtype)] * lanes.n_blocks)
        super().__init__(manager, lanes, blocks)  # type: ignore[no-untyped-call]


def _scalar(dtype: Any) -> Any:
    return ir.DoubleType() if dtype == types.float64 else ir.FloatType()


def _block(dtype: Any) -> Any:
    return ir.VectorType(_scalar(dtype), 256 // dtype.bitwidth)


def _splat(builder: Any, x: Any, block: Any) -> Any:
    first = builder.insert_element(ir.Constant(block, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), block.count), [0] * block.count)
    return builder.shuffle_vector(first, ir.Constant(block, ir.Undefined), mask)


def _address(context: Any, builder: Any, kind: Any, array: Any, places: list[Any], of: Any) -> Any:
    """A pointer to the numbers at some places of an array; alignment is that of one number."""
    made = context.make_array(kind)(context, builder, array)
    item: Any = cgutils.get_item_pointer
    pointer = item(context, builder, kind, made, places, wraparound=False)
    return builder.bitcast(pointer, of.as_pointer())


def _blocks_of(builder: Any, pointer: Any, lanes: Lanes) -> list[Any]:
    """Pointers to the blocks from a pointer on."""
    offsets = [ir.Constant(ir.IntType(64), i) for i in range(lanes.n_blocks)]
    return [builder.gep(pointer, [offset], source_etype=_block(lanes.dtype)) for offset in offsets]


@intrinsic
def block(typing: Any, table: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.IntType(64), 256 // table.dtype.bitwidth)

    return types.int64(table), generate


@intrinsic(prefer_literal=True)
def zeros(typing: Any, like: Any, n_blocks: Any) -> Any:
    if not isinstance(n_blocks, types.IntegerLiteral):
        return None
    lanes = Lanes(like.dtype, n_blocks.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(like, n_blocks), generate


@intrinsic
def load(typing: Any, table: Any, row: Any, column: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, i, j, _ = arguments
        block = _block(like.dtype)
        pointer = _address(context, builder, table, array, [i, j], block)
        joined = ir.Constant(context.get_value_type(like), ir.Undefined)
        for place, part in enumerate(_blocks_of(builder, pointer, like)):
            loaded = builder.load(part, typ=block)
            loaded.align = like.dtype.bitwidth // 8
            joined = builder.insert_value(joined, loaded, place)
        return joined

    return like(table, types.intp, types.intp, like), generate


@intrinsic
def store(typing: Any, sums: Any, place: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, j, joined = arguments
        block = ir.VectorType(_scalar(sums.dtype), _block(lanes.dtype).count)
        pointer = _address(context, builder, sums, array, [j], block)
        for place in range(lanes.n_blocks):
            part = builder.extract_value(joined, place)
            wide = part if sums.dtype == lanes.dtype else builder.fpext(part, block)
            stored = builder.store(wide, builder.gep(pointer, [ir.Constant(ir.IntType(64), place)], source_etype=block))
            stored.align = sums.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(sums, types.intp, lanes), generate


def _every_other(first: int) -> Any:
    @intrinsic
    def every_other(typing: Any, lanes: Any) -> Any:
        half = Lanes(lanes.dtype, lanes.n_blocks // 2)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            joined = ir.Constant(context.get_value_type(half), ir.Undefined)
            for place in range(half.n_blocks):
                joined = builder.insert_value(joined, builder.extract_value(arguments[0], 2 * place + first), place)
            return joined

        return half(lanes), generate

    return every_other


even_blocks, odd_blocks = _every_other(0), _every_other(1)


@intrinsic
def muladd(typing: Any, x: Any, x2: Any, lanes: Any, total: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = _block(lanes.dtype)
        factors = [_splat(builder, arguments[0], block), _splat(builder, arguments[1], block)]
        joined = arguments[3]
        for place in range(lanes.n_blocks):
            product = builder.fmul(factors[place % 2], builder.extract_value(arguments[2], place))
            added = builder.fadd(builder.extract_value(arguments[3], place), product)
            joined = builder.insert_value(joined, added, place)
        return joined

    return total(lanes.dtype, lanes.dtype, lanes, total), generate


@intrinsic
def prefetch(typing: Any, table: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8)
        pointer = _address(context, builder, table, arguments[0], list(arguments[1:]), byte)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32])
        declare: Any = cgutils.get_or_insert_function
        function = declare(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(table, types.intp, types.intp), generate


@intrinsic
def nonzero_bits(typing: Any, row: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(_scalar(row.dtype), 8)
        loaded = builder.load(_address(context, builder, row, arguments[0], [arguments[1]], eight), typ=eight)
        loaded.align = row.dtype.bitwidth // 8
        bits = builder.fcmp_unordered("!=", loaded, ir.Constant(eight, [0.0] * 8))
        return builder.zext(builder.bitcast(bits, ir.IntType(8)), ir.IntType(64))

    return types.int64(row, types.intp), generate


@intrinsic
def put8(typing: Any, positions: Any, byte: Any, j: Any, index: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, bits, first, array, place = arguments
        eight = ir.VectorType(ir.IntType(32), 8)
        zero = ir.Constant(ir.IntType(64), 0)
        found = builder.load(_address(context, builder, positions, table, [bits, zero], eight), typ=eight)
        found.align = 4
        moved = builder.add(found, _splat(builder, builder.trunc(first, ir.IntType(32)), eight))
        stored = builder.store(moved, _address(context, builder, index, array, [place], eight))
        stored.align = 4
        return context.get_dummy_value()

    return types.void(positions, types.intp, types.intp, index, types.intp), generate


@intrinsic
def popcount(typing: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate
