"""The audit of the labels of a table or of pictures, for `audit` and `review`."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from noisewise.cli.images import audit_column, audit_folder, image_column, is_image_folder
from noisewise.cli.label_options import AS_THEY_ARE, LabelOptions
from noisewise.cli.talk import Progress, say, working

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit, Settings
    from noisewise.cli.audit_options import LabelsAre
    from noisewise.tables import LabelledTable


class Engine(StrEnum):
    """Where the work is done."""

    local = "local"
    dask = "dask"


@dataclass(frozen=True)
class TableOptions:
    """How the rows of a table are audited, and which of its columns say more about them."""

    annotator: str | None = None
    groups: str | None = None
    model: str | None = None
    labels_are: LabelsAre | None = None
    encoder: str | None = None
    images: str | None = None
    seed: int | None = None
    labels: LabelOptions = AS_THEY_ARE
    engine: Engine = Engine.local
    scheduler: str | None = None

    @property
    def in_memory(self) -> bool:
        """Whether all rows are needed at once."""
        options = self.model, self.groups, self.labels.missing, self.labels.ordered
        return any(option is not None for option in options)

    def to_repeat(self) -> str:
        """The options by which a review makes the same audit, as they are typed."""
        typed: dict[str, Any] = {
            "--annotator": self.annotator,
            "--groups": self.groups,
            "--ordered": self.labels.ordered,
        }
        typed |= {"--model": self.model, "--labels-are": self.labels_are, "--encoder": self.encoder}
        typed |= {"--image-column": self.images, "--seed": self.seed}
        merge = " --merge-labels" if self.labels.merge and self.labels.missing is None else ""  # labelled.csv is merged
        others = (f" {name} {shlex.quote(str(value))}" for name, value in typed.items() if value is not None)
        return "".join([merge, *others])

    def settings(self) -> Settings:
        """The same for the library."""
        from noisewise.audit import Settings
        from noisewise.cli.estimators import estimator_named

        model = None if self.model is None else estimator_named(self.model, self.seed)
        labels_are: Any = self.labels_are and self.labels_are.value
        return Settings(model, labels_are=labels_are, encoder=self.encoder, random_state=self.seed)


def audited_labels(data: str | None, label: str | None, options: TableOptions) -> tuple[LabelAudit, Any]:
    """The audit of a table or of pictures, and the true labels of the demonstration."""
    settings, on_cluster = options.settings(), options.engine is Engine.dask
    if data is not None and is_image_folder(data):
        _check_folder(data, label, options)
        return audit_folder(data, settings), None
    table, truth = _table(data, label, options)
    table = options.labels.cleaned(table)
    if options.labels.ordered is not None:
        settings = replace(settings, ordered=options.labels.in_kind(table.labels))
    column = None if data is None else image_column(table.features, data, options.images)
    if data is not None and column is not None:
        if on_cluster:
            raise ValueError(f"the pictures of column {column!r} are read here; leave --engine dask out")
        return audit_column(table, data, column, settings), None
    with working(f"auditing {len(table.labels):,} rows") as progress:
        return _run(table, settings, options, progress), truth


def _check_folder(data: str, label: str | None, options: TableOptions) -> None:
    """Refuse what a folder of pictures has no use for."""
    columns = label, options.annotator, options.images, options.groups
    others = *columns, options.labels.ordered, options.labels.missing
    if any(option is not None for option in others) or options.engine is Engine.dask:
        raise ValueError(
            f"{data} is a folder of pictures, whose labels are its sub-folders; --label, --annotator, --groups, "
            "--ordered, --missing, --image-column and --engine dask are for tables"
        )


def _table(data: str | None, label: str | None, options: TableOptions) -> tuple[LabelledTable, Any]:
    from noisewise.tables import LabelledTable, is_parquet, read_labelled

    in_memory, annotator, ask = options.in_memory, options.annotator, options.labels.ask
    if options.engine is Engine.dask and (data is None or in_memory or not is_parquet(data)):
        raise ValueError("--engine dask audits a Parquet file, or a folder of them, with the default model")
    if data is not None:
        may_miss = options.labels.missing is not None
        table = read_labelled(data, label, annotator, not in_memory, say, may_miss, options.groups, ask)
        _refuse_amounts(table.labels, str(label))
        return table, None
    if annotator is not None:
        raise ValueError("--annotator names a column of a data file; the demonstration has none")
    X, y, truth = _demonstration()
    say("scikit-learn's 1,797 handwritten digits, 20 % of the labels changed at random")
    return LabelledTable(X, y), truth


def _refuse_amounts(labels: list[Any], name: str) -> None:
    """Refuse numbers with decimals, which are no classes."""
    amounts = (one for one in labels if isinstance(one, float) and one == one and not one.is_integer())
    if (amount := next(amounts, None)) is not None:
        raise ValueError(
            f"column {name!r} holds numbers with decimals, as {amount}, which are no classes; --target {name} instead "
            "of --label audits numbers"
        )


def _run(table: LabelledTable, settings: Settings, options: TableOptions, progress: Progress) -> LabelAudit:
    from noisewise._progress import reporting
    from noisewise.audit import OnCluster, dask_client, run_audit, with_progress

    with ExitStack() as stack:
        run: Any = map
        if options.engine is Engine.dask:
            run = OnCluster(stack.enter_context(dask_client(options.scheduler)))
        settings = replace(settings, annotators=table.annotators, groups=table.groups)
        with reporting(progress, ""):
            return run_audit(table.features, table.labels, settings, with_progress(run, table.features, progress))


def _demonstration() -> tuple[Any, Any, Any]:
    """Digits with exactly 20 % of the labels changed to another digit."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    changed = rng.choice(len(truth), round(0.2 * len(truth)), replace=False)
    y = truth.copy()
    y[changed] = (y[changed] + rng.integers(1, 10, len(changed))) % 10
    return X, y, truth
