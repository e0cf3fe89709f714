"""Networks as encoders: pictures are prepared as the network expects them."""

import sys
import types

import numpy as np
import pytest

pytest.importorskip("PIL")

from noisewise.embeddings import OnnxEncoder, TorchEncoder, embed_images, embed_texts
from noisewise.embeddings.networks import IMAGENET_MEAN, IMAGENET_STD


def flat(*colours):
    return [np.full((9, 7, 3), colour, dtype=np.uint8) for colour in colours]


def network(path, shape, axes, kind="FLOAT"):
    """An ONNX network that averages its input over these axes; with none, it gives it back."""
    make_node, number = pytest.importorskip("onnx").helper.make_node, 1  # 1: the code of 32-bit floats
    steps = [make_node("Cast", ["x"], ["number" if axes else "y"], to=number)]
    if axes:
        steps.append(make_node("ReduceMean", ["number"], ["y"], axes=axes, keepdims=0))
    return save(path, steps, shape, kind)


def save(path, steps, shape, kind):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    given = helper.make_tensor_value_info("x", getattr(kinds, kind), shape)
    found = helper.make_tensor_value_info("y", kinds.FLOAT, None)
    sets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 2)]
    onnx.save(
        helper.make_model(helper.make_graph(steps, "g", [given], [found]), opset_imports=sets, ir_version=8), path
    )
    return path


@pytest.mark.parametrize(
    ("shape", "axes"),
    [(["n", 3, 8, 8], [2, 3]), (["n", 8, 8, 3], [1, 2]), ([1, 3, 8, 8], [2, 3]), (["n", 3, "h", "w"], [2, 3])],
)
def test_an_onnx_file_gets_normalised_pictures_in_its_own_layout(tmp_path, shape, axes):
    path = network(tmp_path / "mean.onnx", shape, axes)
    rows = embed_images(flat((255, 0, 51), (0, 0, 0)), str(path))
    wanted = (np.array([[1, 0, 0.2], [0, 0, 0]]) - IMAGENET_MEAN) / IMAGENET_STD
    np.testing.assert_allclose(rows, wanted, atol=1e-3)  # a mean of many numbers in single precision


def test_feature_maps_are_averaged(tmp_path):
    path = network(tmp_path / "same.onnx", ["n", 3, 8, 8], None)
    encoder = OnnxEncoder(path, mean=(0, 0, 0), std=(1, 1, 1))
    np.testing.assert_allclose(embed_images(flat((255, 0, 51)), encoder), [[1, 0, 0.2]], atol=1e-6)


def test_bytes_and_grey_pictures(tmp_path):
    path = network(tmp_path / "bytes.onnx", ["n", 1, 8, 8], [2, 3], "UINT8")
    np.testing.assert_allclose(embed_images(flat((40, 40, 40)), path), [[40]])


def test_an_onnx_file_of_strings_takes_texts_and_others_say_so(tmp_path):
    make_node = pytest.importorskip("onnx").helper.make_node
    known = {"keys_strings": ["bill", "bug"], "values_floats": [1.0, 2.0], "domain": "ai.onnx.ml"}
    axes = make_node("Constant", [], ["axes"], value_ints=[1])
    steps = [make_node("LabelEncoder", ["x"], ["code"], **known), axes, make_node("Unsqueeze", ["code", "axes"], ["y"])]
    words = save(tmp_path / "words.onnx", steps, ["n"], "STRING")
    assert embed_texts(["bug", "bill"], words).tolist() == [[2], [1]]
    pictures = network(tmp_path / "mean.onnx", ["n", 3, 8, 8], [2, 3])
    with pytest.raises(ValueError, match="takes numbers"):
        embed_texts(["a text"], pictures)


def test_missing_and_broken_networks_are_told_in_a_sentence(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(ValueError, match="there is no file"):
        embed_images(flat((0, 0, 0)), tmp_path / "gone.onnx")
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(ValueError, match="can't be read as an ONNX network"):
        embed_images(flat((0, 0, 0)), tmp_path / "text.onnx")
    flat_input = network(tmp_path / "rows.onnx", ["n", 12], [1])
    with pytest.raises(ValueError, match="pictures of 1 or 3 channels are needed"):
        embed_images(flat((0, 0, 0)), flat_input)


def test_a_torch_module_is_an_encoder_and_keeps_its_mode():
    torch = pytest.importorskip("torch")

    class Mean(torch.nn.Module):
        def forward(self, batch):
            assert not self.training
            return batch.mean(dim=(2, 3))

    module = Mean().train()
    rows = embed_images(flat((255, 0, 51)), TorchEncoder(module, size=8, mean=(0, 0, 0), std=(1, 1, 1)))
    np.testing.assert_allclose(rows, [[1, 0, 0.2]], atol=1e-6)
    assert module.training
    assert embed_images(flat((0, 0, 0)), module).shape == (1, 3)


def test_torch_is_not_imported_to_know_a_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it would fail
    module = types.SimpleNamespace(forward=None, parameters=None)
    with pytest.raises(ImportError):
        embed_images(flat((0, 0, 0)), module)
