"""Catalogue of the papers' data sets: names, sizes and sources."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

SKLEARN, GAO, BOOTKRAJANG, AGARWAL, NGO, CESA_BIANCHI = (
    "scikit-learn",
    "gao-robust-knn",
    "bootkrajang-rmklr",
    "agarwal-noisy-bandit-feedback",
    "ngo-ucwl",
    "cesa-bianchi-noisy-data",
)


@dataclass(frozen=True)
class Entry:
    """One data set: its size, the papers that use it, and its sources."""

    name: str
    columns: int
    counts: tuple[int, ...]  # rows of each class, in the order of the classes; one number for a numeric target
    papers: tuple[str, ...] = ()
    bundled: str | None = None  # scikit-learn's loader
    openml: int | None = None  # only where OpenML holds these very rows
    raetsch: bool = False  # labels are -1 and +1, and the file is named raetsch_...
    generator: str | None = None

    @property
    def file(self) -> str:
        """Name of the .npz file that holds it."""
        plain = self.name.removeprefix("raetsch_")
        return f"raetsch_{plain}.npz" if self.raetsch else f"{plain}.npz"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.counts)

    @property
    def classes(self) -> int:
        """Number of classes; 0 where the target is a number."""
        return len(self.counts) if len(self.counts) > 1 else 0

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every name it can be loaded by."""
        return tuple(dict.fromkeys([self.name, self.file.removesuffix(".npz")]))

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it can come from, in the order of trying."""
        if self.bundled:
            return (SKLEARN,)
        generator = (f"{self.generator} (other rows, same distribution)",) if self.generator else ()
        return (self.file, *([f"OpenML {self.openml}"] if self.openml else []), *generator)


def _raetsch(
    name: str, columns: int, negative: int, positive: int, openml: int | None = None, generator: str | None = None
) -> Entry:
    return Entry(name, columns, (negative, positive), (BOOTKRAJANG,), None, openml, True, generator)


LETTERS: tuple[int, ...] = (789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792)
LETTERS += (783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734)
MNIST = (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958)
PENDIGITS = (1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055)

ENTRIES = (
    Entry("digits", 64, (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), (AGARWAL,), "load_digits"),
    Entry("iris", 4, (50, 50, 50), (), "load_iris"),
    Entry("wine", 13, (59, 71, 48), (), "load_wine"),
    Entry("breast_cancer", 30, (212, 357), (), "load_breast_cancer"),
    Entry("diabetes_progression", 10, (442,), (CESA_BIANCHI,), "load_diabetes"),
    Entry("mnist", 784, MNIST, (NGO,), openml=554),
    Entry("fashion_mnist", 784, (7000,) * 10, openml=40996),
    Entry("usps", 256, (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821), (AGARWAL, NGO, GAO), openml=41082),
    _raetsch("banana", 2, 2924, 2376, openml=1460),
    _raetsch("raetsch_breast_cancer", 9, 196, 81),
    _raetsch("raetsch_diabetis", 8, 500, 268, openml=37),
    _raetsch("flare_solar", 9, 477, 589),
    _raetsch("german", 20, 700, 300),
    _raetsch("raetsch_heart", 13, 150, 120, openml=53),
    _raetsch("image", 18, 990, 1320),
    _raetsch("ringnorm", 20, 3664, 3736, openml=1496, generator="make_ringnorm"),
    _raetsch("splice", 60, 1648, 1527),
    _raetsch("thyroid", 5, 150, 65),
    _raetsch("titanic", 3, 1490, 711),
    _raetsch("twonorm", 20, 3697, 3703, openml=1507, generator="make_twonorm"),
    _raetsch("waveform", 21, 3353, 1647, generator="make_waveform"),
    Entry("heart", 13, (150, 120), (GAO, BOOTKRAJANG), openml=53),
    Entry("ionosphere", 34, (126, 225), (GAO, BOOTKRAJANG), openml=59),
    Entry("housing", 13, (256, 250), (GAO,)),
    Entry("breast_cancer_wisconsin", 9, (444, 239), (GAO,), openml=15),
    Entry("diabetes", 8, (500, 268), (GAO,), openml=37),
    Entry("vehicle", 18, (218, 212, 217, 199), (GAO,), openml=54),
    Entry("fourclass", 2, (555, 307), (GAO,)),
    Entry("german_numeric", 24, (700, 300), (GAO,)),
    Entry("splice_libsvm", 60, (483, 517), (GAO,)),
    Entry("optdigits", 64, (554, 571, 557, 572, 568, 558, 558, 566, 554, 562), (AGARWAL, GAO), openml=28),
    Entry("segment", 19, (330,) * 7, (GAO,), openml=36),
    Entry("landsat", 36, (703, 626, 1358, 1533, 707, 1508), (GAO,)),
    Entry("mushroom", 112, (4208, 3916), (GAO,), openml=24),
    Entry("pendigits", 16, PENDIGITS, (GAO,), openml=32),
    Entry("letter", 16, LETTERS, (GAO,), openml=6),
    Entry("magic04", 10, (12332, 6688), (GAO,), openml=1120),
    Entry("w8a", 300, (48270, 1479), (GAO,)),
    Entry("shuttle", 9, (10, 13, 3267, 50, 171, 8903, 45586), (GAO,), openml=40685),
    Entry("australian", 14, (383, 307), (BOOTKRAJANG,), openml=40981),
)
CROWDS = ("rte",)
_BY_NAME = {alias: entry for entry in ENTRIES for alias in entry.aliases}


def find_entry(name: str) -> Entry:
    """The entry of that name; a misspelt name gets the nearest ones."""
    return _BY_NAME[nearest(name, list(_BY_NAME), "data set", "datasets.names() lists all")]


def nearest(name: str, known: list[str], what: str, advice: str) -> str:
    """The known name that is meant, or an error with those that may be meant."""
    plain = str(name).lower().strip().replace("-", "_").replace(" ", "_")
    if plain in known:
        return plain
    close = difflib.get_close_matches(plain, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(one) for one in close)}? " if close else ""
    raise ValueError(f"no {what} is called {name!r}; {hint}{advice}")
