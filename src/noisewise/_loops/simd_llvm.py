"""SIMD operations as LLVM intrinsics; `simd` has their reference implementations."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from noisewise._loops.state import SIMD_WIDTH


class Vectors(types.Type):
    """SIMD vectors in registers of 32 bytes, each a value: LLVM generates poor code for one long vector."""

    def __init__(self, dtype: Any, n_vectors: int) -> None:
        self.dtype, self.n_vectors = dtype, n_vectors
        super().__init__(name=f"Vectors({dtype}, {n_vectors})")

    @property
    def registers(self) -> list[tuple[int, Any]]:
        """Offset of each register, in values, and its type."""
        size = 256 // self.dtype.bitwidth
        return [(i, ir.VectorType(_scalar(self.dtype), size)) for i in range(0, SIMD_WIDTH * self.n_vectors, size)]


@register_model(Vectors)
class _VectorsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vectors: Vectors) -> None:
        registers = ir.LiteralStructType([kind for _, kind in vectors.registers])
        super().__init__(manager, vectors, registers)  # type: ignore[no-untyped-call]


def _scalar(dtype: Any) -> Any:
    return ir.DoubleType() if dtype == types.float64 else ir.FloatType()


def shuffle(builder: Any, first: Any, second: Any, indices: list[int]) -> Any:
    """The values at some indices of two concatenated vectors."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), indices)
    return builder.shuffle_vector(first, second, mask)


def splat(builder: Any, x: Any, kind: Any) -> Any:
    """A vector filled with one value."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return shuffle(builder, first, nothing, [0] * kind.count)


def address(context: Any, builder: Any, kind: Any, array: Any, indices: list[Any], of: Any) -> Any:
    """A pointer to an entry of an array or after a pointer, cast to type `of`; aligned as a single value."""
    if isinstance(kind, types.CPointer):
        pointer = builder.gep(array, indices, source_etype=context.get_data_type(kind.dtype))
        return builder.bitcast(pointer, of.as_pointer())
    made = context.make_array(kind)(context, builder, array)
    item: Any = cgutils.get_item_pointer
    pointer = item(context, builder, kind, made, indices, wraparound=False)
    return builder.bitcast(pointer, of.as_pointer())


def _load(builder: Any, pointer: Any, offset: int, kind: Any, dtype: Any) -> Any:
    """Load a vector at an offset from a pointer."""
    start = builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)], source_etype=_scalar(dtype))
    loaded = builder.load(builder.bitcast(start, kind.as_pointer()), typ=kind)
    loaded.align = dtype.bitwidth // 8
    return loaded


def _store(builder: Any, vector: Any, pointer: Any, offset: int, dtype: Any) -> None:
    """Store a vector at an offset from a pointer, widened if need be."""
    kind = ir.VectorType(_scalar(dtype), vector.type.count)
    wide = vector if vector.type.element == kind.element else builder.fpext(vector, kind)
    start = builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)], source_etype=_scalar(dtype))
    stored = builder.store(wide, builder.bitcast(start, kind.as_pointer()))
    stored.align = dtype.bitwidth // 8


@intrinsic
def per_line(typing: Any, table: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.IntType(64), 512 // table.dtype.bitwidth)

    return types.int64(table), generate


@intrinsic
def start_of(typing: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(array)(context, builder, arguments[0]).data

    pointer: Any = types.CPointer
    return pointer(array.dtype)(array), generate


def _zeros(vectors_each: Any) -> Any:
    @intrinsic(prefer_literal=True)
    def zeros(typing: Any, like: Any, n: Any) -> Any:
        if not isinstance(n, types.IntegerLiteral):
            return None
        vectors = Vectors(like.dtype, vectors_each(like.dtype) * n.literal_value)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(context.get_value_type(vectors), None)

        return vectors(like, n), generate

    return zeros


zero_vectors, zero_registers = _zeros(lambda dtype: 1), _zeros(lambda dtype: 64 // dtype.bitwidth)


@intrinsic
def length(typing: Any, vectors: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.IntType(64), SIMD_WIDTH * vectors.n_vectors)

    return types.int64(vectors), generate


@intrinsic
def load(typing: Any, table: Any, index: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, j, _ = arguments
        pointer = address(context, builder, table, array, [j], _scalar(like.dtype))
        joined = ir.Constant(context.get_value_type(like), ir.Undefined)
        for index, (offset, kind) in enumerate(like.registers):
            joined = builder.insert_value(joined, _load(builder, pointer, offset, kind, like.dtype), index)
        return joined

    return like(table, types.intp, like), generate


@intrinsic
def store(typing: Any, sums: Any, index: Any, vectors: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, j, joined = arguments
        pointer = address(context, builder, sums, array, [j], _scalar(sums.dtype))
        for index, (offset, _) in enumerate(vectors.registers):
            _store(builder, builder.extract_value(joined, index), pointer, offset, sums.dtype)
        return context.get_dummy_value()

    return types.void(sums, types.intp, vectors), generate


def _store_every_other(first: int) -> Any:
    @intrinsic
    def every_other(typing: Any, sums: Any, index: Any, vectors: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, j, joined = arguments
            pointer = address(context, builder, sums, array, [j], _scalar(sums.dtype))
            for part in range(first, vectors.n_vectors, 2):
                register, within = divmod(SIMD_WIDTH * part, 256 // vectors.dtype.bitwidth)
                vector = builder.extract_value(joined, register)
                chosen = shuffle(builder, vector, vector, list(range(within, within + SIMD_WIDTH)))
                _store(builder, chosen, pointer, SIMD_WIDTH * (part // 2), sums.dtype)
            return context.get_dummy_value()

        return types.void(sums, types.intp, vectors), generate

    return every_other


store_even, store_odd = _store_every_other(0), _store_every_other(1)


def _alternating(builder: Any, even: Any, odd: Any, kind: Any, offset: int) -> Any:
    """A register with one value in even vectors and another in odd ones, from an offset on."""
    first, second = splat(builder, even, kind), splat(builder, odd, kind)
    if kind.count == SIMD_WIDTH:
        return second if offset // SIMD_WIDTH % 2 else first
    return shuffle(builder, first, second, [*range(SIMD_WIDTH), *range(kind.count + SIMD_WIDTH, 2 * kind.count)])


@intrinsic
def muladd(typing: Any, x: Any, x2: Any, vectors: Any, total: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        even, odd, taken, joined = arguments
        for index, (offset, kind) in enumerate(vectors.registers):
            factor = _alternating(builder, even, odd, kind, offset)
            product = builder.fmul(factor, builder.extract_value(taken, index))
            added = builder.fadd(builder.extract_value(arguments[3], index), product)
            joined = builder.insert_value(joined, added, index)
        return joined

    return total(vectors.dtype, vectors.dtype, vectors, total), generate


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, i32 = ir.IntType(8), ir.IntType(32)
        pointer = address(context, builder, array, arguments[0], [arguments[1]], byte)
        prototype = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32])
        declare: Any = cgutils.get_or_insert_function
        builder.call(declare(builder.module, prototype, "llvm.prefetch.p0"), [pointer, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def nonzero_bits(typing: Any, row: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(_scalar(row.dtype), 8)
        loaded = builder.load(address(context, builder, row, arguments[0], [arguments[1]], eight), typ=eight)
        loaded.align = row.dtype.bitwidth // 8
        bits = builder.fcmp_unordered("!=", loaded, ir.Constant(eight, [0.0] * 8))
        return builder.zext(builder.bitcast(bits, ir.IntType(8)), ir.IntType(64))

    return types.int64(row, types.intp), generate


@intrinsic
def put8(typing: Any, positions: Any, byte: Any, j: Any, index: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, bits, first, array, start = arguments
        eight, small = ir.VectorType(ir.IntType(32), 8), ir.VectorType(ir.IntType(8), 8)
        zero = ir.Constant(ir.IntType(64), 0)
        found = builder.load(address(context, builder, positions, table, [bits, zero], small), typ=small)
        found.align = 1
        moved = builder.add(builder.zext(found, eight), splat(builder, builder.trunc(first, ir.IntType(32)), eight))
        stored = builder.store(moved, address(context, builder, index, array, [start], eight))
        stored.align = 4
        return context.get_dummy_value()

    return types.void(positions, types.intp, types.intp, index, types.intp), generate


@intrinsic
def popcount(typing: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def no_inline(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.discard("alwaysinline")
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate
