"""A page per paper, as Markdown with figures beside it and as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noisewise._files import write_all
from noisewise.experiments.harness.blocks import RULES, Block, Comparison, Figure, Table, Text, tally
from noisewise.experiments.harness.rows import Rows, RowStore
from noisewise.experiments.harness.runner import rows_of
from noisewise.experiments.harness.spec import Experiment, Paper

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:14px;margin:1rem 0}td,th{padding:2px 10px;border-bottom:1px solid #ddd;"
    "text-align:left}figure{margin:1rem 0}svg{max-width:100%;height:auto}"
)
Part = tuple[Experiment, "list[Block]"]


def parts_of(
    paper: Paper, experiments: Sequence[Experiment], store: RowStore, printed: Mapping[str, Any], quick: bool = False
) -> list[Part]:
    """The blocks of each experiment, from the rows that are there."""
    parts: list[Part] = []
    for experiment in experiments:
        rows = rows_of(experiment, store, quick)
        lead: list[Block] = [Text(what_ran(experiment, rows, quick))] if experiment.axes else []
        parts.append((experiment, [*lead, *experiment.show(rows, printed)]))
    return parts


def summary(parts: Sequence[Part]) -> str:
    """One sentence: how much of what can be compared agrees."""
    counts = tally([block for _, blocks in parts for block in blocks])
    said = f"{counts['ran']} of {counts['cells']} compared numbers were run"
    if counts["of verified"]:
        said += f"; {counts['verified']} of {counts['of verified']} are as verified"
    if counts["of printed"]:
        said += f"; {counts['printed']} of {counts['of printed']} are within the paper's standard deviation "
        said += "or the tolerance"
    return said + "."


def overview(parts: Sequence[Part]) -> Table:
    """How many of the compared numbers of each part were run, agree, and differ."""
    counts = {experiment.title: tally(blocks) for experiment, blocks in parts}
    counts = {title: count for title, count in counts.items() if count["cells"]}
    counts["all"] = tally([block for _, blocks in parts for block in blocks])
    names = ("cells", "ran", "agree", "differ", "unexplained")
    lines = [[title, *(str(count[name]) for name in names)] for title, count in counts.items()]
    header = ["part", "compared", "run", "within tolerance", "differ, with the reason", "differ, unexplained"]
    return Table("", header, lines)


def to_markdown(paper: Paper, parts: Sequence[Part]) -> tuple[str, dict[str, str]]:
    """The page, and its figures by file name."""
    figures: dict[str, str] = {}
    lines = [f"# Reproduced: {paper.title}", "", paper.notes.strip(), "", summary(parts), ""]
    lines += [_markdown(overview(parts)), "", RULES, ""]
    for experiment, blocks in parts:
        lines += [f"## {experiment.title}", ""]
        for block in blocks:
            if isinstance(block, Figure):
                file = f"{paper.name}-{block.name}.svg"
                figures[file] = block.svg
                lines += [f"![{block.caption}]({file})", "", f"*{block.caption}*", ""]
            else:
                lines += [_markdown(block), ""]
    lines.append(f"Made by `noisewise reproduce {' '.join(_asked(paper, parts))} --write`.")
    return "\n".join(lines) + "\n", figures


def to_html(paper: Paper, parts: Sequence[Part]) -> str:
    """The page in one file that needs no other."""
    body = [f"<h1>Reproduced: {html.escape(paper.title)}</h1>"]
    body += [f"<p>{html.escape(said)}</p>" for said in (paper.notes, summary(parts)) if said]
    body += [_html(overview(parts)), f"<p>{html.escape(RULES.replace('**', ''))}</p>"]
    for experiment, blocks in parts:
        body.append(f"<h2>{html.escape(experiment.title)}</h2>")
        body += [_html(block) for block in blocks]
    head = f'<meta charset="utf-8"><title>{html.escape(paper.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def to_json(paper: Paper, parts: Sequence[Part]) -> dict[str, Any]:
    """The page as plain values: every part with its texts, tables, figures, and compared numbers with verdicts."""
    return {
        "title": paper.title,
        "notes": " ".join(paper.notes.split()),
        "summary": summary(parts),
        "parts": [
            {"name": experiment.name, "title": experiment.title, "blocks": [_plain(block) for block in blocks]}
            for experiment, blocks in parts
        ],
    }


def write(paper: Paper, parts: Sequence[Part], folder: Path) -> list[Path]:
    """Write the pages and the figures of a paper into a folder; one table alone gets pages of its own.

    Figures of the paper that no page links any more are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text, figures = to_markdown(paper, parts)
    stem = "-".join(_asked(paper, parts))
    files = {f"{stem}.md": text, f"{stem}.html": to_html(paper, parts), **figures}
    write_all({folder / name: content for name, content in files.items()})
    linked = "".join(page.read_text(encoding="utf-8") for page in folder.glob(f"{paper.name}*.md"))
    for figure in folder.glob(f"{paper.name}-*.svg"):
        if f"({figure.name})" not in linked:
            figure.unlink()
    return [folder / name for name in files]


def _asked(paper: Paper, parts: Sequence[Part]) -> list[str]:
    """The paper, and the table where there is but one of several."""
    alone = len(parts) == 1 < len(paper.experiments)
    return [paper.name, parts[0][0].name] if alone else [paper.name]


def what_ran(experiment: Experiment, rows: Rows, quick: bool) -> str:
    """How many cells of an experiment have rows, by which code, and which sets are not here and have none."""
    said = f"{len(rows):,} of the {experiment.size(quick):,} cells of the {'quick' if quick else 'full'} run"
    repeats = rows.unique("repeat")
    if len(repeats) > 1:
        said += f", up to {len(repeats)} repeats"
    earlier = sum(not row["by_present_code"] for row in rows)
    if earlier:
        said += f", {earlier:,} of them by an earlier state of the code"
    absent = [name for name in experiment.absent(quick) if name not in rows.unique("dataset")]
    if absent:
        said += f". Not run, because the data are not here: {', '.join(absent)}"
    spent = float(rows.values("seconds_processor").sum())
    return f"{said}. {spent:,.0f} s of processor time." if spent else f"{said}."


def _plain(block: Block) -> dict[str, Any]:
    """A block with its kind; compared numbers get their verdict."""
    found = {"kind": type(block).__name__.lower(), **asdict(block)}
    if isinstance(block, Comparison):
        found["entries"] = [{**asdict(entry), "verdict": entry.verdict} for entry in block.entries]
    return found


def _markdown(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    table = block.table() if isinstance(block, Comparison) else block
    assert isinstance(table, Table)
    lines = [_line(table.header), "|" + "---|" * len(table.header), *map(_line, table.lines)]
    return "\n".join([f"**{table.title}**", "", *lines] if table.title else lines)


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def _html(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{html.escape(block.text)}</p>"
    if isinstance(block, Figure):
        drawing = block.svg[block.svg.index("<svg") :]
        return f"<figure>{drawing}<figcaption>{html.escape(block.caption)}</figcaption></figure>"
    table = block.table() if isinstance(block, Comparison) else block
    head = "".join(f"<th>{html.escape(word)}</th>" for word in table.header)
    lines = ["".join(f"<td>{html.escape(word)}</td>" for word in line) for line in table.lines]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h3>{html.escape(table.title)}</h3><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
