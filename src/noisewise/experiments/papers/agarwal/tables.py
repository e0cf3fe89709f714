"""How the noisy-bandit-feedback paper's figures and tables are set beside ours."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from noisewise.experiments.harness import charts
from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Figure, Printed, Table, Text
from noisewise.experiments.harness.rows import Rows
from noisewise.experiments.papers.agarwal.tasks import PRINTED, checkpoints

NOISES = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2)]  # (rho0, rho1)
METHODS = ["banditron", "soba-published", "soba-recursive", "bpa", "bpa-capped", "rcnbf", "rcine"]
NAMES = {"MNIST": ["optdigits", "mnist"], "USPS": ["usps"], "Fashion-MNIST": ["fashion_mnist"]}
NAMES |= {"IRIS": ["iris"], "SynSep": ["make_synsep"]}
IMAGES = ["optdigits", "mnist", "usps", "fashion_mnist"]
OTHERS = ["iris", "make_synsep"]


def error_table(rows: Rows, measure: str = "error") -> Table:
    """Mean error of every method at every noise, for each set, and of how many runs."""
    lines = []
    for name, method in itertools.product(rows.unique("dataset"), rows.unique("method")):
        chosen = [rows.where(dataset=name, method=method, noise=noise) for noise in NOISES]
        counts = sorted({len(one) for one in chosen if len(one)})
        if counts:
            means = (one.mean(measure) for one in chosen)
            runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            lines.append([name, method, runs, *("" if mean is None else f"{mean:.3f}" for mean in means)])
    when = {"error": "", "last": " in the last tenth of the rounds"}[measure]
    header = ["set", "method", "runs", *map(str, NOISES)]
    return Table(f"error of the played label{when} at (rho0, rho1)", header, sorted(lines))


def not_run(rows: Rows, datasets: list[str]) -> list[Block]:
    """Sets, and methods on sets, that have no cell."""
    absent = [name for name in datasets if not len(rows.where(dataset=name))]
    absent += [
        f"{method} on {name}"
        for name in datasets
        for method in METHODS
        if name not in absent and not len(rows.where(dataset=name, method=method))
    ]
    if not absent:
        return []
    longest = max(rows.values("seconds_processor"), default=0.0)
    return [Text(f"Not in this run: {', '.join(absent)}. A cell takes up to {longest:.0f} s, more with more features.")]


def checked(rows: Rows, printed: Printed, datasets: list[str], rounds: int) -> Comparison:
    """Numbers that an independent implementation reached after so many rounds."""
    entries = []
    for check in printed["verified"]["errors"]:
        if check["dataset"] in datasets and check["rounds"] == rounds:
            chosen = rows.where(**{name: check[name] for name in ("dataset", "rounds", "method", "noise")})
            entries.append(
                Entry.of(
                    (check["dataset"], check["method"], str(tuple(check["noise"])), f"{check['rounds']:,}"),
                    chosen,
                    check["measure"],
                    verified=check["value"],
                    tolerance=check["tolerance"],
                    side=check["side"],
                    reason=_streams(chosen) if len(chosen) else "not in this run",
                )
            )
    return Comparison("Mean mistake rate", ["set", "method", "noise", "rounds"], entries)


def _streams(rows: Rows) -> str:
    rates = ", ".join(f"{rate:g}" for rate in rows.unique("gamma_used"))
    return f"{len(rows)} stream{'s' if len(rows) > 1 else ''}, exploration rate tuned to {rates}"


def curves(rows: Rows, name: str, dataset: str) -> Figure:
    """Running mean of the mistakes, both axes in powers of ten."""
    chosen = rows.where(dataset=dataset)
    methods = sorted(
        chosen.unique("method"), key=lambda method: [*METHODS, method].index(method)
    )  # colours of a method
    lines = {
        f"(rho0, rho1) = {noise}": {
            method: charts.Curve(checkpoints(one.records[0]["rounds"]), list(one.mean_curve("running")), _style(method))
            for method in methods
            for one in [chosen.where(noise=noise, method=method)]
            if len(one)
        }
        for noise in NOISES
        if len(chosen.where(noise=noise))
    }
    drawing = charts.panels(lines, "rounds", "mean mistake rate", scale="log")
    return Figure(f"{name}-{dataset}", f"Mean mistake rate of the played label on {dataset}", drawing)


def _style(method: str) -> str:
    """RCINE dashed: without noise it plays as RCNBF and Banditron do."""
    return "--" if method.startswith("rcine") else "-"


def figure_2(rows: Rows, printed: Printed) -> list[Block]:
    """Curves on the digits, and the verified means at the end."""
    drawn = [curves(rows, "figure-2", name) for name in rows.unique("dataset")]
    return [checked(rows, printed, ["digits"], 500_000), error_table(rows), *drawn, claims(rows), against_print(rows)]


def horizon(rows: Rows, printed: Printed) -> list[Block]:
    """As many rounds as in print; RCNBF on the digits was checked there."""
    drawn = [curves(rows, "horizon", name) for name in rows.unique("dataset")]
    errors = [error_table(rows), error_table(rows, "last"), *not_run(rows, ["digits", *IMAGES, *OTHERS])]
    return [checked(rows, printed, ["digits"], 10_000_000), *errors, *drawn, claims(rows), against_print(rows)]


def figure_2_images(rows: Rows, printed: Printed) -> list[Block]:
    """The larger images, at fewer rounds than print."""
    if not len(rows):
        return [Text("Not run.")]
    drawn = [curves(rows, "figure-2", name) for name in rows.unique("dataset")]
    return [error_table(rows), *not_run(rows, IMAGES), *drawn, claims(rows), against_print(rows)]


def fashion_network(rows: Rows, printed: Printed) -> list[Block]:
    """Fashion-MNIST by the outputs of the paper's network."""
    if not len(rows):
        return [Text(f"Not run: {NO_NETWORK}.")]
    return [error_table(rows), curves(rows, "figure-2-network", "fashion_mnist"), claims(rows), against_print(rows)]


def claims(rows: Rows) -> Table:
    """In how many of the noisy settings each claim of the paper holds."""

    def holds(better: str, worse: str) -> str:
        known = _gaps(rows, better, worse, NOISES[1:])
        return f"{sum(gap < 0 for gap in known)} of {len(known)}"

    said = [
        ("RCNBF better than Banditron", "rcnbf", "banditron", "yes"),
        ("RCNBF better than SOBA", "rcnbf", "soba-published", "yes"),
        (
            "RCNBF better than recursive SOBA (not in the paper)",
            "rcnbf",
            "soba-recursive",
            "level at first, ahead later",
        ),
        ("RCNBF better than BPA", "rcnbf", "bpa", "only at (.4, .4), or after some 10,000,000 rounds"),
        ("RCNBF better than BPA capped at 0.02", "rcnbf", "bpa-capped", "no"),
    ]
    lines = [[claim, verdict, f"{holds(first, second)} noisy settings"] for claim, first, second, verdict in said]
    same = [abs(gap) for gap in _gaps(rows, "rcnbf", "banditron", NOISES[:1])]
    greatest = f"errors differ by {max(same):.3f} at most" if same else "not run"
    lines.append(["without noise RCNBF is Banditron", "yes, by construction", greatest])
    for name, other, verdict in (("SOBA", "soba-published", "yes"), ("BPA", "bpa", "no: BPA is far ahead")):
        apart = _spoken(_gaps(rows, "rcnbf", other, NOISES[:1]))
        lines.append([f"without noise RCNBF is comparable to {name}", verdict, apart])
    apart = _spoken(_gaps(rows, "rcine", "rcnbf", NOISES))
    lines.append(["RCINE is about as good as RCNBF", "yes: within 0.05 on average", apart])
    apart = _spoken(_from_noise_free(rows), "error of the last tenth")
    lines.append(["RCNBF ends close to Banditron without noise", "only after millions of rounds", apart])
    return Table("Claims", ["claim", "verified", "here"], lines)


def against_print(rows: Rows) -> Text:
    """The noisy settings in which the paper's learners are not better than its baselines, in words."""
    baselines = {"Banditron": "banditron", "SOBA": "soba-published", "BPA": "bpa"}
    said = [
        f"{first.upper()} makes no fewer mistakes than {name} on {'; '.join(worse)}."
        for first in ("rcnbf", "rcine")
        for name, baseline in baselines.items()
        for worse in [_where_worse(rows, first, baseline)]
        if worse
    ]
    claim = "The paper has RCNBF and RCINE far better than Banditron, SOBA and BPA in every noisy setting."
    otherwise = "So it is in all that was run." if len(rows) else "Nothing was run."
    return Text(" ".join([claim, "Not so here:", *said] if said else [claim, otherwise]))


def _where_worse(rows: Rows, first: str, second: str) -> list[str]:
    """The noisy settings in which the first makes as many mistakes as the second, or more, for each set."""
    found = {
        name: [str(noise) for noise in NOISES[1:] if any(gap >= 0 for gap in _at(rows, name, noise, first, second))]
        for name in rows.unique("dataset")
    }
    return [f"{name} at {', '.join(noises)}" for name, noises in found.items() if noises]


def _at(rows: Rows, dataset: str, noise: Any, first: str, second: str) -> list[float]:
    """Mean error of one method less that of another in one setting, over the repeats that both have."""
    setting = rows.where(dataset=dataset, noise=noise)
    ours, theirs = setting.where(method=first).paired(setting.where(method=second), "error")
    return [float(np.mean(ours - theirs))] if len(ours) else []


def _from_noise_free(rows: Rows) -> list[float]:
    """Last tenth of RCNBF in each noisy setting, less that of Banditron without noise."""
    pairs = [
        (rows.where(dataset=name, noise=noise, method="rcnbf").mean("last"), base)
        for name in rows.unique("dataset")
        for base in [rows.where(dataset=name, noise=NOISES[0], method="banditron").mean("last")]
        for noise in NOISES[1:]
    ]
    return [noisy - base for noisy, base in pairs if noisy is not None and base is not None]


def _gaps(rows: Rows, first: str, second: str, noises: list[Any]) -> list[float]:
    settings = itertools.product(rows.unique("dataset"), noises)
    return [gap for name, noise in settings for gap in _at(rows, name, noise, first, second)]


def _spoken(apart: list[float], measure: str = "error") -> str:
    if not apart:
        return "not run"
    return f"{measure} higher by {np.mean(apart):+.3f} on average, {max(apart):+.3f} at most ({_settings(apart)})"


def _settings(values: list[float]) -> str:
    return "1 setting" if len(values) == 1 else f"{len(values)} settings"


def figure_3(rows: Rows, printed: Printed) -> list[Block]:
    """Error of RCINE against gamma."""
    rates = sorted(rows.unique("gamma"))
    if not rates:
        return [Text("Not run.")]
    means = {noise: [rows.where(noise=noise, gamma=rate).mean("error") for rate in rates] for noise in NOISES}
    lines = [
        [str(noise), *("" if mean is None else f"{mean:.3f}" for mean in found), f"{_lowest(rates, found):g}"]
        for noise, found in means.items()
    ]
    table = Table("error of the played label", ["noise", *(f"gamma {rate:g}" for rate in rates), "lowest at"], lines)
    drawn = {
        str(noise): charts.Curve(rates, [np.nan if mean is None else mean for mean in found])
        for noise, found in means.items()
    }
    drawing = charts.panels({"RCINE, digits": drawn}, "gamma", "mean mistake rate", scale="log")
    return [table, Figure("figure-3", "Mean mistake rate of RCINE against the exploration rate", drawing)]


def _lowest(rates: list[float], means: list[float | None]) -> float:
    return rates[int(np.argmin([np.inf if mean is None else mean for mean in means]))]


def tables_1_and_2(rows: Rows, printed: Printed) -> list[Block]:
    """Rates found beside those printed and the true ones."""
    blocks: list[Block] = []
    for estimator in ("moments", PRINTED, "printed network, all actions"):
        entries = [entry for name in NAMES for entry in _rates(rows.where(estimator=estimator), printed, name)]
        ran = [entry for entry in entries if entry.ours is not None]
        shown = entries if estimator == PRINTED else ran
        if shown:
            blocks.append(Comparison(f"By {estimator}; verified is the true rate", ["set", "noise", "rate"], shown))
        if ran:
            off = [abs((entry.ours or 0.0) - (entry.verified or 0.0)) for entry in ran]
            theirs = [abs((entry.printed or 0.0) - (entry.verified or 0.0)) for entry in ran]
            blocks.append(
                Text(
                    f"Distance from the true rate: mean {np.mean(off):.3f}, greatest {np.max(off):.3f} "
                    f"(printed: {np.mean(theirs):.3f} and {np.max(theirs):.3f})."
                )
            )
    return blocks


def _rates(rows: Rows, printed: Printed, name: str) -> list[Entry]:
    """Both rates at every noise of one set of the paper, on each set that stands for it."""
    tolerance = printed["verified"]["rates"]["moments" if len(rows.where(estimator="moments")) else "network"]
    lines = [*printed["table-1"]["rows"], *printed["table-2"]["rows"]]
    return [
        Entry.of(
            (own.removeprefix("make_"), str(tuple(line["noise"])), rate),
            chosen,
            rate,
            printed=line[rate],
            verified=line["noise"][index],
            tolerance=tolerance,
            printed_tolerance=0.05,
            reason=_off(chosen, rate, line["noise"][index], line[rate]) if len(chosen) else NO_NETWORK,
        )
        for own in NAMES[name]
        for line in lines
        if line["dataset"] == name
        for chosen in [rows.where(dataset=own, noise=line["noise"])]
        for index, rate in enumerate(("rho0", "rho1"))
    ]


def _off(rows: Rows, rate: str, true: float, printed: float) -> str:
    """Which of the two is nearer to the true rate."""
    ours = abs((rows.mean(rate) or 0.0) - true)
    return "nearer to the true rate than print" if ours < abs(printed - true) else "further from the true rate"


NO_NETWORK = "a network takes 20 seconds to a minute, and needs PyTorch"


def nrest(rows: Rows, printed: Printed) -> list[Block]:
    """Mistakes with rates estimated by the printed network, by moments, and known."""
    apart = _gaps(rows, "rcine-nrest", "rcine", NOISES)
    if not apart:
        return [Text(f"Not run: a cell trains ten networks. {NO_NETWORK[0].upper()}{NO_NETWORK[1:]}.")]
    said = f"RCINE with the printed network, less with moments: {_spoken(apart)}."
    seconds = [rows.where(method=name).mean("seconds_processor") or 0.0 for name in ("rcine-nrest", "rcine")]
    said += (
        f" The network is trained ten times a cell, which takes {seconds[0]:.0f} s; with moments {seconds[1]:.0f} s."
    )
    return [Text(said), error_table(rows)]


def figures_4_and_5(rows: Rows, printed: Printed) -> list[Block]:
    """Iris and SynSep."""
    drawn = [curves(rows, "figure-4", name) for name in rows.unique("dataset")]
    errors: list[Block] = [checked(rows, printed, ["make_synsep"], 100_000), error_table(rows)]
    return [*errors, *drawn, claims(rows), against_print(rows)]


def floor(rows: Rows, printed: Printed) -> list[Block]:
    """The last tenth of the rounds beside (1 - gamma)(1 - beta)(K - 1)/K + gamma (K - 1)/K."""
    K, gamma = 9, 0.1
    entries = [
        Entry.of(
            (str(noise),),
            chosen,
            "last",
            verified=((1 - gamma) * sum(noise) + gamma) * (K - 1) / K,
            tolerance=printed["verified"]["floor"]["tolerance"],
        )
        for noise in NOISES[1:]
        for chosen in [rows.where(noise=noise)]
    ]
    return [
        Comparison("Banditron on SynSep, last tenth of the rounds; verified is the predicted floor", ["noise"], entries)
    ]
