"""Values of every kind come back as they were: type, bits, order, and shared references."""

import math
import struct
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise.persistence import load, save


def same(a, b):
    """Equal in type and in every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return same(a.ravel().tolist(), b.ravel().tolist()) if a.dtype == object else a.tobytes() == b.tobytes()
    return a == b or repr(a) == repr(b) == "Decimal('NaN')"


PLAIN = [
    *(None, True, 0, -1, 2**63, 2**64, -(2**64), 10**5000, 0.1, -0.0, math.inf, -math.inf, math.nan, 5e-324),
    struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0],  # a NaN with sign and payload
    *("", "text", "ä\u2028\x00", "\ud800", b"", b"\x00\xff", 1j, complex(math.nan, -0.0), slice(1, None, 2)),
    *(date(2020, 2, 29), datetime(2020, 1, 1, 12, 30, 0, 1), datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
    *(Decimal("1.10"), Decimal("NaN"), Fraction(1, 3)),
    *([], [1, [2.0, (3,)]], (), ((), [()]), {}, {"b": 1, "a": 2}, {1: "x", (2, "y"): {None: True}, 2.5: []}),
    *(set(), {1, "a", (2, 3)}, frozenset({b"x", None}), {"kind": "array", "id": 3}),
    *(np.dtype("f4"), np.dtype(object), np.dtype([("mean", "f8"), ("variance", "f4", (2,))])),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_values_come_back(value, through):
    assert same(through(value), value)


@pytest.mark.parametrize("value", [np.float64, np.uint8, np.bool_])
def test_number_types_come_back(value, through):
    assert through(value) is value


NUMBERS = [
    "?",
    *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)),
    *"efdFD",
    ">f8",
    ">i2",
    "<M8[s]",
    "<m8[ns]",
    "<U3",
    "S4",
]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_arrays_and_numbers_of_every_type_come_back(dtype, shape, through):
    array = np.ones(shape).astype(dtype)
    fortran = np.asarray(array, order="F")
    back = through({"array": array, "fortran": fortran, "numbers": list(array.flat)})
    assert same(back, {"array": array, "fortran": array, "numbers": list(array.flat)})
    assert back["fortran"].flags.f_contiguous
    assert back["array"].flags.c_contiguous
    assert back["array"].flags.writeable


def test_long_doubles_come_back(through):
    array = np.array([1, np.pi, np.inf], dtype=np.longdouble) / 3  # compared by value: some of their bytes are not used
    assert through(array).dtype == np.longdouble
    assert (through(array) == array).all()


def test_nan_payloads_in_arrays_survive(through):
    array = np.array([0x7FF8000000000001, 0xFFF0000000000000], dtype=np.uint64).view(np.float64)
    assert same(through(array), array)


@pytest.mark.parametrize("align", [False, True])
def test_record_arrays_keep_their_layout(align, through):
    dtype = np.dtype([("seen", "i1"), ("mean", "f8"), ("parts", "f4", (2, 2)), ("inner", [("x", "u2")])], align=align)
    array = np.zeros(3, dtype)
    array["mean"], array["parts"] = [1, np.nan, -0.0], 0.1
    back = through(array)
    assert same(back, array)
    assert back.dtype.isalignedstruct == align
    assert same(through(array[1]), array[1])


@pytest.mark.parametrize("view", [np.s_[:, 3], np.s_[::2, ::3], np.s_[::-1], np.s_[1:4, 2:5], np.s_[:, ::-2]], ids=str)
def test_strided_arrays_give_the_same_sums(view, through):
    rng = np.random.default_rng(0)
    array = rng.normal(size=(101, 8))[view]
    back, x = through(array), rng.normal(size=array.shape[0])
    assert same(back, array)
    assert back.strides == array.strides
    assert same(x @ back, x @ array)


def test_a_thin_slice_of_a_huge_array_is_not_stored_with_its_gaps(through):
    array = np.lib.stride_tricks.as_strided(np.zeros(1), (2,), (0,))
    back = through(np.broadcast_to(array, (1000, 2)))
    assert back.shape == (1000, 2)
    far = np.zeros((3, 2**24))[:, 0]
    assert through(far).strides == (8,)


def test_write_protection_is_kept(through):
    array = np.arange(3.0)
    array.setflags(write=False)
    assert not through(array).flags.writeable


def test_label_arrays_of_any_hashables_come_back(through):
    labels = np.empty((2, 3), dtype=object)
    labels[:] = [["yes", 1, None], [("a", 2), frozenset({1}), np.float32(0.5)]]
    assert same(through(labels), labels)
    assert same(through(np.array(["long", ""])), np.array(["long", ""]))
    assert same(through(np.array("one", dtype=object)), np.array("one", dtype=object))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_arrays_keep_type_order_and_explicit_zeros(kind, index, through):
    parts = np.array([1.5, 0.0, -2.0], np.float32), np.array([2, 0, 1], index), np.array([0, 2, 2, 3], index)
    sparse = kind((3, 3), dtype=np.float32)
    sparse.data, sparse.indices, sparse.indptr = parts
    back = through(sparse)
    assert type(back) is kind
    assert back.shape == (3, 3)
    for part in ("data", "indices", "indptr"):
        assert same(getattr(back, part), getattr(sparse, part))


def test_one_object_with_two_references_stays_one_object(through):
    array, rng, items = np.arange(4.0), np.random.default_rng(0), [1]
    bits = rng.bit_generator
    back = through(
        {"a": array, "b": [array, rng], "rng": rng, "bits": bits, "c": items, "d": (items,), "view": array[:]}
    )
    assert back["a"] is back["b"][0]
    assert back["rng"] is back["b"][1]
    assert back["rng"].bit_generator is back["bits"]
    assert back["c"] is back["d"][0]
    assert not np.shares_memory(back["view"], back["a"])


def test_sets_made_in_another_order_give_the_same_file(tmp_path):
    assert list({0, 8}) != list({8, 0})  # else this shows nothing
    save({0, 8, "a"}, tmp_path / "one.model")
    save({"a", 8, 0}, tmp_path / "other.model")
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "other.model").read_bytes()


def test_circles_are_refused(through):
    circle = {"inner": [1]}
    circle["inner"].append(circle)
    with pytest.raises(ValueError, match=r"model\['inner'\]\[1\] refers back to model;"):
        through(circle)


def test_trees_too_deep_are_refused(through):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        through(deep)


class Text(str):
    """A text of another class."""


REFUSED = [
    ({"a": [object()]}, r"model\['a'\]\[0\] is a builtins.object"),
    (len, "builtin_function_or_method"),
    (lambda x: x, "is the function"),
    (dict, "is the class dict"),
    (Text("x"), r"Text, which a model file can't hold"),
    (np.ma.array([1]), "MaskedArray"),
    (np.array(["a"], dtype=np.dtypes.StringDType()), "StringDType"),
    (np.zeros(1, dtype=[("a", object)]), "dtype"),
    (datetime(2020, 10, 25, 2, 30, fold=1), "can't hold exactly"),
    (sp.coo_array((2, 2)), "coo_array"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_a_file_cannot_hold_is_named(value, message, through, tmp_path):
    with pytest.raises(ValueError, match=message):
        through(value)
    assert not list(tmp_path.iterdir())


KEYS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
ARRAYS = hnp.arrays(
    hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes() | hnp.floating_dtypes(),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
LEAVES = KEYS | st.floats() | st.complex_numbers() | ARRAYS | hnp.arrays(hnp.unicode_string_dtypes(max_len=4), 3)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS | st.tuples(KEYS, KEYS), inner, max_size=4)
        | st.sets(KEYS, max_size=4)
    ),
    max_leaves=12,
)


@given(tree=TREES)
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_any_tree_comes_back(tree, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "tree.model"
    save(tree, path)
    assert same(load(path), tree)
