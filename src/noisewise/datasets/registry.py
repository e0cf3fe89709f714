"""Data sets by name: bundled, from a folder, from the cache, from OpenML; or a sentence that says what to do."""

from __future__ import annotations

import contextlib
import http.client
import os
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from noisewise._files import replace_files
from noisewise._typing import Codes
from noisewise.datasets import openml
from noisewise.datasets.catalogue import CROWDS, ENTRIES, SKLEARN, Entry, find_entry, nearest

FOLDER_VARIABLE = "NOISEWISE_DATA"


class Listing(NamedTuple):
    """One line of `names`."""

    name: str
    rows: int
    columns: int
    classes: int
    papers: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with its name and where it came from; unpacks as ``X, y = load(name)``."""

    X: NDArray[Any]
    y: NDArray[Any]
    name: str
    source: str

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.X
        yield self.y


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """Labels by many annotators: item, annotator and label of each annotation, and the true label of each item."""

    items: Codes
    annotators: Codes
    labels: Codes
    gold: Codes
    name: str
    source: str

    def __iter__(self) -> Iterator[Codes]:
        yield from (self.items, self.annotators, self.labels, self.gold)


def names() -> list[Listing]:
    """The sets `load` knows: name, rows, columns, classes (0: a numeric target), papers, sources in order of trying.

    >>> {listing.name: listing.rows for listing in names()}["banana"]
    5300
    """
    return [Listing(e.name, e.rows, e.columns, e.classes, e.papers, e.sources) for e in ENTRIES]


def load(name: str, *, dtype: DTypeLike = np.float64) -> Dataset:
    """Load one of the papers' data sets by name.

    Sets bundled with scikit-learn come from there. Others are looked for in the folder named by the environment
    variable NOISEWISE_DATA, then in the cache (`noisewise` in scikit-learn's data home), then on OpenML by pinned
    number, and kept in the cache. Raetsch's sets have labels -1 and +1, the others 0, 1, ...; where two sets
    have one name, his have the prefix `raetsch_`.

    Parameters
    ----------
    name : str
        One of `names()`.
    dtype : dtype, default=float64
        Type of X; float32 halves the memory of the large image sets.

    Examples
    --------
    >>> X, y = load("wine")
    >>> X.shape
    (178, 13)
    >>> load("wine").source
    'scikit-learn'
    """
    entry = find_entry(name)
    X, y, source = _from_sklearn(entry) if entry.bundled else _from_elsewhere(entry)
    return Dataset(np.asarray(X, dtype=dtype), _wide(y), entry.name, source)


def load_crowd(name: str) -> CrowdLabels:
    """Load a set labelled by a crowd: ``items, annotators, labels, gold = load_crowd("rte")``.

    The first three have one entry an annotation, `gold` one an item. Known is "rte" (textual entailment; 800 items,
    164 annotators, 8000 annotations; Snow et al. 2008), as crowd_rte.npz in the folder NOISEWISE_DATA names or in the
    cache.

    References
    ----------
    .. [1] Snow, R., O'Connor, B., Jurafsky, D., Ng, A. Y. (2008). Cheap and fast - but is it good? Evaluating
       non-expert annotations for natural language tasks. EMNLP.
    """
    plain = nearest(name, list(CROWDS), "crowd set", f"known are {', '.join(CROWDS)}")
    keys = ("items", "annotators", "labels", "gold")
    file = f"crowd_{plain}.npz"
    path = _find_file(file)
    if path is None:
        raise FileNotFoundError(f"the crowd set {plain!r} is not here; {_advice(file, keys)}")
    items, annotators, labels, gold = (_wide(array) for array in _read(path, keys))
    if not len(items) == len(annotators) == len(labels):
        raise ValueError(f"{path} holds {len(items)} items, {len(annotators)} annotators and {len(labels)} labels")
    return CrowdLabels(items, annotators, labels, gold, plain, str(path))


def _from_sklearn(entry: Entry) -> tuple[NDArray[Any], NDArray[Any], str]:
    from sklearn import datasets

    X, y = getattr(datasets, str(entry.bundled))(return_X_y=True)
    return X, y, SKLEARN


def _from_elsewhere(entry: Entry) -> tuple[NDArray[Any], NDArray[Any], str]:
    path = _find_file(entry.file)
    if path is not None:
        X, y = _read(path, ("X", "y"))
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ValueError(f"{path} holds X of shape {X.shape} and y of shape {y.shape}; one label a row is needed")
        return X, y, str(path)
    if entry.openml is None:
        raise FileNotFoundError(f"the data set {entry.name!r} is not here; {_advice(entry.file, ('X', 'y'), entry)}")
    try:
        X, y = openml.fetch(entry)
    except (OSError, ValueError, EOFError, http.client.HTTPException) as error:
        raise FileNotFoundError(
            f"the data set {entry.name!r} is not here, and OpenML {entry.openml} did not give it ({error}); "
            f"try again with network access, or {_advice(entry.file, ('X', 'y'), entry)}"
        ) from error
    _keep(entry.file, X, y)
    return X, y, f"OpenML {entry.openml}"


def _find_file(file: str) -> Path | None:
    """The file in the user's folder, else in the cache."""
    folders = []
    if os.environ.get(FOLDER_VARIABLE):
        folders.append(Path(os.environ[FOLDER_VARIABLE]).expanduser())
        if not folders[0].is_dir():
            raise FileNotFoundError(
                f"{FOLDER_VARIABLE} is {str(folders[0])!r}, which is not a folder; mend it or unset it"
            )
    with contextlib.suppress(OSError):  # no cache where the home folder can't be written
        folders.append(_cache())
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def _cache() -> Path:
    """Where downloaded sets are kept."""
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "noisewise"


def _read(path: Path, keys: tuple[str, ...]) -> list[NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[key] for key in keys]
    except KeyError as error:
        raise ValueError(f"{path}: {error.args[0]}; it must hold the arrays {', '.join(keys)}") from None
    except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} can't be read as an .npz file ({error}); delete it or put a sound one there"
        ) from error


def _keep(file: str, X: NDArray[Any], y: NDArray[Any]) -> None:
    """Store a set in the cache, atomically."""
    try:
        folder = _cache()
        folder.mkdir(parents=True, exist_ok=True)
        replace_files({folder / file: lambda part: _write_npz(part, X, y)})
    except OSError as error:
        warnings.warn(
            f"{file} could not be kept in the cache and will be fetched again ({error})", RuntimeWarning, stacklevel=4
        )


def _write_npz(path: str, X: NDArray[Any], y: NDArray[Any]) -> None:
    with open(path, "wb") as file:  # to a name that does not end in .npz, numpy appends it
        np.savez_compressed(file, X=X, y=y)


def _wide(y: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as intp, so that ``y - 1`` never wraps around."""
    return y.astype(np.intp) if y.dtype.kind in "iub" else y


def _advice(file: str, keys: tuple[str, ...], entry: Entry | None = None) -> str:
    arrays = f"{', '.join(keys[:-1])} and {keys[-1]}"
    advice = f"set the environment variable {FOLDER_VARIABLE} to a folder with {file} holding the arrays {arrays}"
    if entry is not None and entry.openml is None:
        advice += "; OpenML is not asked, as it is not known to hold this form of the set"
    if entry is not None and entry.generator:
        options = "binary=True" if entry.generator == "make_waveform" else ""
        call = f"datasets.{entry.generator}({', '.join(filter(None, [str(entry.rows), options]))})"
        advice += f"; or draw other rows from the same distribution by {call}"
    return advice
