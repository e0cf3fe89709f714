"""Encoders from networks: an ONNX file, or a torch module, with pictures prepared as they expect them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of red, green and blue in 0 to 1
SIDE = 224  # pixels, where a network says nothing: what most are trained with


class OnnxEncoder:
    """Features of pictures or texts by the network of an ONNX file.

    Pictures are scaled to the size that the network's input names, and normalised; the input may be (n, 3, height,
    width) or (n, height, width, 3), or have one channel instead of three. A network that takes bytes gets pixels from 0
    to 255; one that takes strings gets texts. Outputs with positions (of a feature map, or of tokens) are averaged.

    Parameters
    ----------
    path : str or path
    output : str, optional
        Name of the output that holds the features; by default the first.
    size : int, optional
        Side of the pictures in pixels, where the network leaves it open; by default 224.
    mean, std : sequences of three floats
        Of red, green and blue in 0 to 1; by default those of ImageNet.

    Examples
    --------
    >>> encoder = OnnxEncoder("resnet18.onnx")  # the file is read with the first block
    """

    def __init__(
        self,
        path: Any,
        output: str | None = None,
        size: int | None = None,
        mean: Sequence[float] = IMAGENET_MEAN,
        std: Sequence[float] = IMAGENET_STD,
    ) -> None:
        self.path = str(path)
        self.output = output
        self.size = size
        self.mean, self.std = mean, std

    def __call__(self, items: list[Any]) -> NDArray[Any]:
        """One row of features for each picture or text."""
        session = _session(self.path)
        first = session.get_inputs()[0]
        if len(session.get_inputs()) > 1:
            raise ValueError(f"{self.path} has {len(session.get_inputs())} inputs; a network with one would do")
        batch = self._texts(items) if first.type == "tensor(string)" else self._pixels(items, first)
        steps = [batch]
        if isinstance(first.shape[0] if first.shape else None, int):  # a fixed number at a time, mostly one
            steps = [batch[i : i + first.shape[0]] for i in range(0, len(batch), first.shape[0])]
        wanted = None if self.output is None else [self.output]
        return np.concatenate([pooled(session.run(wanted, {first.name: step})[0], first.shape) for step in steps])

    def _texts(self, items: list[Any]) -> NDArray[Any]:
        return np.array([str(item) for item in items], dtype=object)

    def _pixels(self, items: list[Any], first: Any) -> NDArray[Any]:
        if items and isinstance(items[0], str):
            raise ValueError(f"{self.path} takes numbers; for texts a network whose input are strings is needed")
        if len(first.shape) != 4 or not {1, 3} & {first.shape[1], first.shape[3]}:
            raise ValueError(f"{self.path} has an input of shape {first.shape}; pictures of 1 or 3 channels are needed")
        last = first.shape[1] not in (1, 3)
        sides = first.shape[1:3] if last else first.shape[2:]
        height, width = (side if isinstance(side, int) else self.size or SIDE for side in sides)
        channels = first.shape[3] if last else first.shape[1]
        pixels = pixels_of(items, (width, height), channels)
        if first.type == "tensor(uint8)":
            pixels = (255 * pixels).round().astype(np.uint8)
        else:
            pixels = normalised(pixels, self.mean, self.std)
            pixels = pixels.astype(np.float16 if first.type == "tensor(float16)" else np.float32)
        return pixels if last else np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))


class TorchEncoder:
    """Features of pictures by a torch module that takes (n, 3, size, size) numbers.

    Outputs with positions (of a feature map, or of tokens) are averaged; of the outputs of transformers `pooler_output`
    or `last_hidden_state` is taken. Leave off the last layer of a classifier (`model.fc = torch.nn.Identity()`): what
    comes before it knows more than its own classes.

    Parameters
    ----------
    module : torch.nn.Module
    size : int
        Side of the pictures in pixels.
    mean, std : sequences of three floats
        Of red, green and blue in 0 to 1; by default those of ImageNet.
    """

    def __init__(
        self,
        module: Any,
        size: int = SIDE,
        mean: Sequence[float] = IMAGENET_MEAN,
        std: Sequence[float] = IMAGENET_STD,
    ) -> None:
        self.module = module
        self.size = size
        self.mean, self.std = mean, std

    def __call__(self, pictures: list[Any]) -> NDArray[Any]:
        """One row of features for each picture."""
        import torch

        pixels = normalised(pixels_of(pictures, (self.size, self.size), 3), self.mean, self.std)
        batch = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
        weight = next(iter(self.module.parameters()), None)
        if weight is not None:
            batch = batch.to(weight.device, weight.dtype)
        training = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                found = self.module(batch)
        finally:
            self.module.train(training)
        for name in ("pooler_output", "last_hidden_state"):
            if getattr(found, name, None) is not None:
                found = getattr(found, name)
        return pooled(found.float().cpu().numpy(), batch.shape)


def pixels_of(pictures: list[Any], size: tuple[int, int], channels: int) -> NDArray[np.float32]:
    """Pillow pictures of one size as numbers from 0 to 1: (n, height, width, channels)."""
    from PIL import Image

    mode = "RGB" if channels == 3 else "L"
    scaled = [picture.convert(mode).resize(size, Image.Resampling.BICUBIC) for picture in pictures]
    return np.stack([np.asarray(picture, dtype=np.float32) for picture in scaled]).reshape(
        len(pictures), size[1], size[0], channels
    ) / np.float32(255)


def normalised(pixels: NDArray[np.float32], mean: Sequence[float], std: Sequence[float]) -> NDArray[np.float32]:
    """Pixels less the mean, over the standard deviation, of each colour; of grey pictures, of their averages."""
    center, scale = np.asarray(mean, dtype=np.float32), np.asarray(std, dtype=np.float32)
    if pixels.shape[-1] == 1:
        center, scale = center.mean(keepdims=True), scale.mean(keepdims=True)
    return np.asarray((pixels - center) / scale)


def pooled(output: NDArray[Any], input_shape: Any) -> NDArray[Any]:
    """An output of a network as rows: averaged over tokens (n, tokens, d), or over the positions of a feature map.

    >>> pooled(np.ones((2, 5, 3)), ()).shape, pooled(np.ones((2, 8, 4, 4)), (2, 3, 32, 32)).shape
    ((2, 3), (2, 8))
    """
    if output.ndim == 3:
        return np.asarray(output.mean(axis=1))
    if output.ndim == 4:
        last = len(input_shape) == 4 and input_shape[1] not in (1, 3)
        return np.asarray(output.mean(axis=(1, 2) if last else (2, 3)))
    return np.asarray(output)


@cache
def _session(path: str) -> Any:
    """The network of a file, read once."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(f"{path} needs onnxruntime; `pip install 'noisewise[onnx]'` brings it") from None
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path!r}")
    try:
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common class of their own
        raise ValueError(f"{path} can't be read as an ONNX network ({str(error).splitlines()[0]})") from None
