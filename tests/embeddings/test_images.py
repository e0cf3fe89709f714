"""Pictures as features: read as a person sees them, in blocks, by any encoder."""

import base64
import io

import numpy as np
import pytest

PIL = pytest.importorskip("PIL")
from PIL import Image  # noqa: E402

from noisewise.embeddings import data_uri, embed_images, embed_readable  # noqa: E402
from noisewise.embeddings.hog import BINS, CELL, SIDE, histograms  # noqa: E402
from noisewise.embeddings.images import IMAGE_BLOCK, MOST_SIDE, read_picture  # noqa: E402


def pixels(rng, side=40):
    return rng.integers(0, 256, (side, side, 3)).astype(np.uint8)


def means(pictures):
    return [np.asarray(picture, dtype=float).mean(axis=(0, 1)) for picture in pictures]


def test_paths_pictures_and_arrays_give_the_same_features(rng, tmp_path):
    array = pixels(rng)
    Image.fromarray(array).save(tmp_path / "a.png")
    rows = embed_images([tmp_path / "a.png", str(tmp_path / "a.png"), Image.fromarray(array), array])
    assert rows.dtype == np.float32
    assert np.ptp(rows, axis=0).max() == 0


def test_encoders_get_blocks_of_rgb_pictures_in_order(rng):
    sizes, pictures = [], [np.full((5, 5), i % 256, dtype=np.uint8) for i in range(2 * IMAGE_BLOCK + 3)]

    def encoder(block):
        assert all(picture.mode == "RGB" for picture in block)
        sizes.append(len(block))
        return means(block)

    steps = []
    rows = embed_images(pictures, encoder, progress=lambda done, total: steps.append((done, total)))
    assert sizes == [IMAGE_BLOCK, IMAGE_BLOCK, 3]
    assert steps[-1] == (len(pictures), len(pictures))
    np.testing.assert_array_equal(rows[:, 0], [picture[0, 0] for picture in pictures])


def test_an_object_with_encode_is_an_encoder(rng):
    class Clip:
        def encode(self, pictures):
            return means(pictures)

    array = pixels(rng)
    np.testing.assert_allclose(embed_images([array], Clip())[0], array.mean(axis=(0, 1)))


@pytest.mark.parametrize(
    ("encoder", "sentence"),
    [
        (lambda pictures: [1.0], "one row of numbers for each"),
        (lambda pictures: np.full((len(pictures), 2), np.nan), "NaN"),
        ("resnet", "encoder is 'resnet'"),
        (7, "encoder is a int"),
    ],
)
def test_bad_encoders_are_told_what_would_do(rng, encoder, sentence):
    with pytest.raises(ValueError, match=sentence):
        embed_images([pixels(rng), pixels(rng)], encoder)


def test_large_pictures_are_scaled_down_and_small_ones_stay(rng, tmp_path):
    Image.new("RGB", (3000, 1500), "red").save(tmp_path / "large.jpg")
    assert read_picture(tmp_path / "large.jpg").size == (MOST_SIDE, MOST_SIDE // 2)
    assert read_picture(pixels(rng, 28)).size == (28, 28)


def test_pictures_are_upright(tmp_path):
    picture = Image.new("RGB", (20, 10), "white")
    exif = picture.getexif()
    exif[0x0112] = 6  # taken with the camera on its side
    picture.save(tmp_path / "turned.jpg", exif=exif)
    assert read_picture(tmp_path / "turned.jpg").size == (10, 20)


def test_transparent_pixels_are_white(tmp_path):
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert np.asarray(read_picture(tmp_path / "clear.png")).min() == 255


def test_sixteen_bits_are_scaled_to_eight(tmp_path):
    values = np.array([[0, 32768], [65535, 257]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(np.asarray(read_picture(tmp_path / "deep.png"))[:, :, 0], values // 257)


def test_unreadable_pictures_are_named_with_the_reason(rng, tmp_path):
    Image.fromarray(pixels(rng)).save(tmp_path / "good.png")
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "cut.png").write_bytes((tmp_path / "good.png").read_bytes()[:200])
    paths = [str(tmp_path / name) for name in ("good.png", "text.png", "cut.png", "gone.png")] + [None]
    rows, unreadable = embed_readable(paths)
    assert len(rows) == 1
    assert list(unreadable) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"4 of 5 pictures can't be read: .*text.png \(no picture\), .*cut.png"):
        embed_images(paths)
    with pytest.raises(ValueError, match=r"gone.png \(no such file\)"):
        embed_images(paths[3:4])


def slow_histograms(grey):
    """One picture, pixel by pixel."""
    side, cells = len(grey), len(grey) // CELL
    votes = np.zeros((cells, cells, BINS))
    for i in range(side):
        for j in range(side):
            across = grey[i, min(j + 1, side - 1)] - grey[i, max(j - 1, 0)]
            down = grey[min(i + 1, side - 1), j] - grey[max(i - 1, 0), j]
            direction = (np.arctan2(down, across) % np.pi) / np.pi * BINS
            lower, length = int(direction), np.hypot(across, down)
            votes[i // CELL, j // CELL, lower % BINS] += length * (1 - (direction - lower)) / CELL**2
            votes[i // CELL, j // CELL, (lower + 1) % BINS] += length * (direction - lower) / CELL**2
    result = np.zeros_like(votes)
    for i in range(cells):
        for j in range(cells):
            for a in (-1, 0):
                for b in (-1, 0):
                    block = [
                        votes[min(max(i + a + c, 0), cells - 1), min(max(j + b + d, 0), cells - 1)]
                        for c in (0, 1)
                        for d in (0, 1)
                    ]
                    result[i, j] += np.minimum(votes[i, j] / np.sqrt(np.sum(np.square(block)) + 0.02**2), 0.2) / 4
    return result


def test_histograms_are_those_of_the_slow_version(rng):
    grey = rng.random((3, SIDE, SIDE)).astype(np.float32)
    np.testing.assert_allclose(histograms(grey), [slow_histograms(one.astype(float)) for one in grey], atol=2e-5)


def test_gradients_do_not_depend_on_brightness_or_contrast(rng):
    grey = rng.random((2, SIDE, SIDE)).astype(np.float32)
    np.testing.assert_allclose(histograms(0.3 + 0.5 * grey), histograms(grey), atol=0.005)


def test_a_flat_picture_has_no_gradients():
    assert not histograms(np.full((1, SIDE, SIDE), 0.7, dtype=np.float32)).any()


@pytest.mark.parametrize(("side", "kind", "shown"), [(28, "png", 28), (500, "jpeg", 160)])
def test_a_data_uri_holds_the_picture(rng, side, kind, shown):
    uri = data_uri(pixels(rng, side))
    assert uri.startswith(f"data:image/{kind};base64,")
    picture = Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    assert picture.size == (shown, shown)
