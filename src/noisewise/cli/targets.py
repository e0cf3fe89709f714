"""`noisewise audit data.csv --target y`: rows of a table whose number is probably wrong."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noisewise._words import counted, number_text
from noisewise.cli.talk import SHOWN, say, say_next, say_worst, say_written, working

if TYPE_CHECKING:
    from noisewise.audit import TargetAudit

SHORT = {
    "svr": "SVR",
    "knn": "KNeighborsRegressor",
    "linear": "LinearRegression",
    "ridge": "Ridge",
    "forest": "RandomForestRegressor",
    "boosting": "HistGradientBoostingRegressor",
}


def audit_numbers(
    data: str,
    target: str,
    model: str | None,
    precision: float | None,
    seed: int | None,
    out: Path,
    as_json: bool,
    groups: str | None = None,
) -> None:
    """Audit a column of numbers, write the three files and print the worst rows, or all numbers as JSON."""
    from noisewise._files import write_all
    from noisewise.audit import refuse_decided, target_page

    refuse_decided(out / "patch.csv")
    result = audited_numbers(data, target, model, seed, groups)
    picked = result.picked if precision is None else result.rows(precision)
    texts = {
        out / "audit.csv": result.to_frame("polars").write_csv(),
        out / "patch.csv": result.patch_text(picked),
        out / "audit.html": target_page(result, f"Audit of {target}: {Path(data).name}", precision),
    }
    out.mkdir(parents=True, exist_ok=True)
    write_all(texts)
    if as_json:
        found = {"picked": len(picked), "picked_rows": picked.tolist(), "files": [str(path) for path in texts]}
        typer.echo(json.dumps(result.summary() | found))
    else:
        _print_worst(result, picked)
    say_written(list(texts))
    say_next(data, f"--target {shlex.quote(target)}", out / "patch.csv")


def audited_numbers(
    data: str, target: str, model: str | None, seed: int | None, groups: str | None = None
) -> TargetAudit:
    """The audit of a column of numbers."""
    from noisewise.audit import audit_targets
    from noisewise.tables import read_target

    table = read_target(data, target, groups, say=say)
    regressor = None if model is None else regressor_named(model, seed)
    options: dict[str, Any] = {"groups": table.groups, "missing": "predict", "random_state": seed}
    with working(f"auditing {len(table.labels):,} numbers") as progress:
        return audit_targets(table.features, table.labels, regressor, **options, progress=progress)


def regressor_named(name: str, seed: int | None) -> Any:
    """A regressor of scikit-learn with its defaults, seeded where it draws."""
    from sklearn.utils import all_estimators

    known = dict(all_estimators(type_filter="regressor"))
    wanted = SHORT.get(name.lower(), name)
    if wanted not in known:
        raise ValueError(f"there is no regressor {name!r}; there are {', '.join(SHORT)} and scikit-learn's")
    regressor = known[wanted]()
    return regressor.set_params(random_state=seed) if "random_state" in regressor.get_params() else regressor


def _print_worst(result: TargetAudit, picked: Any) -> None:
    from noisewise.audit import probability_text

    for note in result.notes:
        say(f"note: {note}")
    wrong = result.expected_errors
    if wrong.low > 0:
        say(f"about {counted(wrong, 'number', 'look')} wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
    else:
        say(f"wrong numbers are not proven: between 0 and {wrong.high:,.0f} may be wrong")
    say_worst(len(picked))
    typer.echo(f"{'row':>8}  {'observed':>12}  {'suggested':>12}  {'P(right)':>16}  looks")
    for row in (picked if len(picked) else result.order)[:SHOWN]:
        observed, suggested = number_text(result.observed[row]), number_text(result.suggested[row])
        right = probability_text(result.probability[row])
        typer.echo(f"{row:>8}  {observed:>12}  {suggested:>12}  {right:>16}  {result.reasons[row]}")
