"""`audit_images`: pictures whose labels are probably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise._frames import frame_like
from noisewise._progress import Report, reporting, step
from noisewise.audit.audit import Settings, run_audit
from noisewise.audit.folds import rows_of
from noisewise.audit.result import LabelAudit
from noisewise.embeddings import SUFFIXES, embed_images, embed_readable, is_readable, unreadable_sentence


class LabelledImages(NamedTuple):
    """Paths of pictures, and the label of each: the folder it lies in."""

    paths: list[str]
    labels: list[str]


def audit_images(
    images: Any,
    y: Any = None,
    encoder: Any = None,
    *,
    X: Any = None,
    progress: bool | Report | None = None,
    **settings: Any,
) -> LabelAudit:
    """Find the pictures whose labels are probably wrong.

    Pictures are read a few at a time; their features alone are kept. The audit of these is that of `audit_labels`.

    Parameters
    ----------
    images : path of a folder, or sequence of paths, Pillow pictures or arrays
        A folder with a sub-folder of pictures for each class; files that can't be read are left out, and `notes` names
        them. Or pictures in any order, with their labels in `y`; all of them must be readable.
    y : array of shape (n,), optional
        Observed labels; of a folder, the names of its sub-folders.
    encoder : optional
        What gives the features, see `noisewise.embeddings.embed_images`: a function, an object with `encode`, a torch
        module or an .onnx file. By default histograms of oriented gradients and pixels, which need no model; a network
        that was trained on pictures like these finds more.
    X : frame, optional
        More about the pictures, to be shown in the report and in the files to review; not used as features.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the number of pictures read, and of all; then with the folds.
    **settings
        As in `audit_labels`: model, noise, annotators, labels_are, groups, cv, sample_weight, n_jobs, ordered,
        merge, missing, random_state.

    Returns
    -------
    LabelAudit
        Its `images` are the pictures; X has their paths.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> pictures = (digits.images[:500] * 15).astype(np.uint8)
    >>> y = digits.target[:500].copy()
    >>> wrong = np.random.default_rng(0).choice(500, 50, replace=False)
    >>> y[wrong] = (y[wrong] + 1) % 10
    >>> audit = audit_images(pictures, y)
    >>> bool(np.isin(audit.order[:50], wrong).mean() > 0.95)  # of the 50 worst pictures nearly all were changed
    True
    """
    with reporting(progress, "auditing pictures"):
        return run_image_audit(images, y, Settings(encoder=encoder, **settings), X)


def run_image_audit(images: Any, y: Any, settings: Settings, X: Any = None) -> LabelAudit:
    """The audit of a folder of pictures, or of a list of them with labels."""
    if isinstance(images, str | Path):
        if y is not None or X is not None:
            raise ValueError("the labels of a folder are its sub-folders; with y or X pass a list of paths")
        paths, labels, rows, notes = _of_folder(images, settings.encoder)
    else:
        paths, labels, notes = list(images), y, ()
        if y is None or len(paths) != len(y):
            raise ValueError(
                f"there are {len(paths)} pictures and {0 if y is None else len(y)} labels; one for each is needed in "
                "y, or a folder with a sub-folder of pictures for each class"
            )
        rows = embed_images(paths, settings.encoder, progress=step)
    found = run_audit(rows, labels, settings)
    pictures = _one_each(paths)
    if found.kept is not None:
        pictures, X = pictures[found.kept], None if X is None else rows_of(X, found.kept)
    return replace(found, X=_shown(X, pictures), images=pictures, notes=(*notes, *found.notes))


def _of_folder(folder: Any, encoder: Any) -> tuple[list[str], list[str], Any, tuple[str, ...]]:
    """Paths, labels and features of the readable pictures of a folder, and a note on the others."""
    paths, labels = images_in(folder)
    rows, unreadable = embed_readable(paths, encoder, step)
    notes = (f"{unreadable_sentence(paths, unreadable)}: left out",) if unreadable else ()
    kept = [i for i in range(len(paths)) if i not in unreadable]
    return [paths[i] for i in kept], [labels[i] for i in kept], rows, notes


def readable_in(folder: Any) -> LabelledImages:
    """The pictures of a folder that an audit counts: those that can be read."""
    paths, labels = images_in(folder)
    kept = [i for i, path in enumerate(paths) if is_readable(path)]
    return LabelledImages([paths[i] for i in kept], [labels[i] for i in kept])


def images_in(folder: Any) -> LabelledImages:
    """The pictures in the sub-folders of a folder, in the order of their paths, and the names of the sub-folders."""
    root = Path(folder)
    if not root.is_dir():
        raise ValueError(f"there is no folder {str(folder)!r}")
    found = sorted(
        path
        for path in root.rglob("*")
        if path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.relative_to(root).parts)
    )
    inside = [path for path in found if path.parent != root]
    if not inside:
        where = "pictures, but no sub-folders" if found else "no pictures"
        raise ValueError(f"{folder} has {where}; a sub-folder of pictures for each class is needed")
    return LabelledImages([str(path) for path in inside], [path.relative_to(root).parts[0] for path in inside])


def _one_each(items: Sequence[Any]) -> NDArray[Any]:
    """An array of one object for each picture, also where they are arrays of one size."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = str(item) if isinstance(item, Path) else item
    return array


def _shown(X: Any, pictures: NDArray[Any]) -> Any:
    """What is shown of the rows: what was given, else the paths, else nothing."""
    if X is not None:
        return X
    try:
        return frame_like({"image": pictures}) if isinstance(pictures[0], str) else np.empty((len(pictures), 0))
    except ImportError:  # neither pandas nor polars
        return pictures[:, None]
