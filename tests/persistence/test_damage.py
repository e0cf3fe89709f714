"""A file is written whole or not at all; a damaged, foreign, newer or made-up one is a ValueError with one sentence."""

import hashlib
import json
import os

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.noise import FlipMatrix
from noisewise.persistence import container, describe, load, save

MODEL = [FlipMatrix.binary(0.1, 0.3), np.arange(5), {"x": 2.5}]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "saved.model"
    save(MODEL, path)
    return path


def load_or_refuse(path):
    """True if the file loads, and as the model that was saved; False if it is refused."""
    try:
        back = load(path)
    except ValueError:
        return False
    saved_again = path.with_suffix(".again")
    save(back, saved_again)
    save(MODEL, path)
    assert saved_again.read_bytes() == path.read_bytes()  # one model, one file
    return True


def test_every_flipped_byte_is_noticed(path, tmp_path):
    good = path.read_bytes()
    loaded = []
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 1
        (tmp_path / "damaged.model").write_bytes(damaged)
        if load_or_refuse(tmp_path / "damaged.model"):
            loaded.append(position)
    assert len(loaded) < 8  # the blanks that pad the header at most


@given(byte=st.integers(0, 255), data=st.data())
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_any_other_byte_is_noticed(byte, data, path):
    good = bytearray(path.read_bytes())
    good[data.draw(st.integers(0, len(good) - 1))] = byte
    damaged = path.with_suffix(".damaged")
    damaged.write_bytes(good)
    load_or_refuse(damaged)


def test_every_truncated_file_is_refused(path, tmp_path):
    good = path.read_bytes()
    for length in range(0, len(good), 13):
        (tmp_path / "short.model").write_bytes(good[:length])
        with pytest.raises(ValueError, match="no model file, or a damaged one"):
            load(tmp_path / "short.model")
    (tmp_path / "long.model").write_bytes(good + b"\x00")
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "long.model")


@pytest.mark.parametrize("read", [load, describe])
def test_foreign_files_are_refused(read, tmp_path):
    (tmp_path / "text").write_text("label,x\n1,2\n" * 100)
    with pytest.raises(ValueError, match="no model file"):
        read(tmp_path / "text")
    safetensors.numpy.save_file({"a": np.zeros(3)}, tmp_path / "foreign", metadata={"format": "np"})
    with pytest.raises(ValueError, match="a safetensors file, but not one that noisewise wrote"):
        read(tmp_path / "foreign")


def forge(path, state, arrays=None, **changes):
    """A file with the right checksum and whatever else one likes."""
    document = {"format": "noisewise", "schema": 1, "class": "x", "state": state, "versions": {}} | changes
    arrays = arrays or {}
    text = json.dumps({**document, "checksum": container._checksum(document, arrays)})
    safetensors.numpy.save_file(arrays, path, metadata={"noisewise": text})
    return path


def test_the_checksum_covers_the_document_and_all_arrays(tmp_path):
    save({"b": np.arange(2), "a": np.zeros(1)}, tmp_path / "model")
    with safetensors.safe_open(tmp_path / "model", framework="np") as file:
        document = json.loads(file.metadata()["noisewise"])
    checksum = document.pop("checksum")
    digest = hashlib.sha256(json.dumps(document, separators=(",", ":")).encode())
    digest.update(b"model['a']\n<f8\n(1,)\n" + np.zeros(1).tobytes())
    digest.update(b"model['b']\n<i8\n(2,)\n" + np.arange(2).tobytes())
    assert checksum == digest.hexdigest()


def test_a_newer_schema_asks_for_an_upgrade(tmp_path):
    newer = forge(tmp_path / "newer", None, schema=2, versions={"noisewise": "9.1"})
    with pytest.raises(
        ValueError, match=r"written by noisewise 9\.1 with schema 2; this version reads up to 1: upgrade"
    ):
        load(newer)


ARRAY = {"kind": "array", "name": "a", "dtype": "<f8", "shape": [3]}
MATRIX = {"kind": "array", "name": "m", "dtype": "<f8", "shape": [2, 2]}
FLIP = {"kind": "dataclass", "class": "noisewise.noise.FlipMatrix", "fields": {"matrix": MATRIX}}
INTEGERS = {"kind": "array", "name": "i", "dtype": "<i8", "shape": [3]}
SPARSE = {
    "kind": "sparse",
    "type": "csr_array",
    "shape": [2, 3],
    "data": ARRAY,
    "indices": INTEGERS,
    "indptr": {**INTEGERS, "name": "p"},
}
GENERATOR = {"kind": "bit generator", "type": "MT19937", "seeds": None}
POSITION = {"kind": "dict", "items": [["pos", 10**6]]}
MADE_UP = [
    ({"kind": "array", "name": "b", "dtype": "<f8", "shape": [3]}, "array 'b' is missing"),
    ({**ARRAY, "shape": [4]}, "type and shape"),
    ({**ARRAY, "dtype": "<i8"}, "type and shape"),
    ({**ARRAY, "dtype": "|O"}, "object dtype"),
    ({**ARRAY, "dtype": "|S24", "shape": [2]}, "type and shape"),
    ({**ARRAY, "strides": [10**12]}, "strides"),
    ({**ARRAY, "strides": [8, 8]}, "can't be made"),
    ({"kind": "object array", "items": [1, 2], "shape": [3]}, "can't be made"),
    ({"kind": "pickle", "bytes": "00"}, "unknown kind 'pickle'"),
    ({"kind": "again", "id": 7}, "can't be made"),
    ({}, "can't be made"),
    ([1], "can't be made"),
    ({"kind": "set", "items": [{"kind": "list", "items": []}]}, "unhashable"),
    ({"kind": "estimator", "class": "os.system", "parameters": {}, "attributes": {}}, "holds a os.system"),
    ({"kind": "estimator", "class": "subprocess.Popen", "parameters": {"args": "x"}, "attributes": {}}, "Popen"),
    (
        {"kind": "estimator", "class": "noisewise.noise.flip_matrix.FlipMatrix", "parameters": {}, "attributes": {}},
        "flip_matrix",
    ),
    ({"kind": "estimator", "class": "noisewise.persistence.load", "parameters": {}, "attributes": {}}, "load"),
    ({"kind": "function", "name": "noisewise.noise.FlipMatrix"}, "not among"),
    ({**FLIP, "fields": {}}, "can't be made"),
    ({**FLIP, "fields": {"matrix": {**MATRIX, "name": "n"}, "__class__": 1}}, "sets __class__"),
    (FLIP, "rates sum to 2.00"),
    ({"kind": "state", "class": "noisewise.noise.FlipMatrix", "state": 1}, "can't be made"),
    (SPARSE, "ind(ex|ices)"),
    ({**SPARSE, "type": "load_npz"}, "unknown sparse type"),
    ({**GENERATOR, "state": 3}, "can't be made"),
    (
        {**GENERATOR, "state": {"kind": "dict", "items": [["bit_generator", "MT19937"], ["state", POSITION]]}},
        "word 1000000 of 624",
    ),
]


@pytest.mark.parametrize(("state", "message"), MADE_UP, ids=range(len(MADE_UP)))
def test_made_up_contents_are_refused(state, message, tmp_path):
    arrays = {"a": np.zeros(3), "m": np.array([[0.0, 1.0], [1.0, 0.0]]), "n": np.eye(2), "i": np.array([0, 9, 9])}
    arrays["p"] = np.array([0, 1, 3])
    with pytest.raises(ValueError, match=message):
        load(forge(tmp_path / "forged", state, arrays))


def test_paths_that_cannot_be_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing; make it first"):
        save(1, tmp_path / "missing" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(1, tmp_path)
    with pytest.raises(ValueError, match="no ordinary file"):
        save(1, os.devnull)
    for read in (load, describe):
        with pytest.raises(FileNotFoundError, match=r"can't read .*missing: No such file"):
            read(tmp_path / "missing")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            read(tmp_path)
        with pytest.raises(ValueError, match="no ordinary file"):
            read(os.devnull)


def test_files_without_permission_are_named(tmp_path, monkeypatch):
    save(1, tmp_path / "model")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="may not be written to; change its permissions or choose another path"):
        save(2, tmp_path / "model")
    assert load(tmp_path / "model") == 1

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match=r"can't write .*other: Permission denied; nothing was saved"):
        save(2, tmp_path / "other")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), container.SafetensorError("no space")])
def test_a_failed_save_leaves_the_old_file(error, tmp_path, monkeypatch):
    save("old", tmp_path / "model")

    def half(arrays, filename, metadata):
        with open(filename, "wb") as file:
            file.write(b"half")
        raise error

    monkeypatch.setattr(container, "save_file", half)
    with pytest.raises(OSError, match=r"can't write .*model: [nN]o space.*; nothing was saved"):
        save("new", tmp_path / "model")
    assert load(tmp_path / "model") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_saving_through_a_link_replaces_what_it_points_at(tmp_path):
    save("old", tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    save("new", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "model") == "new"


def test_too_much_outside_arrays_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "LONGEST_HEADER", 10_000)
    with pytest.raises(ValueError, match="numpy arrays in place of long lists would do"):
        save(list(range(10_000)), tmp_path / "model")
    assert not list(tmp_path.iterdir())
