"""The papers' tables and figures: declared, run once, and set beside the printed numbers."""

from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Figure, Table, Text
from noisewise.experiments.harness.page import parts_of, summary, to_html, to_json, to_markdown, write
from noisewise.experiments.harness.registry import find_paper, keyed, paper_names, printed_numbers
from noisewise.experiments.harness.rows import Rows, RowStore
from noisewise.experiments.harness.runner import Ran, comparable, rows_of, run
from noisewise.experiments.harness.spec import Cell, Experiment, Paper, named

__all__ = [
    "Block",
    "Cell",
    "Comparison",
    "Entry",
    "Experiment",
    "Figure",
    "Paper",
    "Ran",
    "RowStore",
    "Rows",
    "Table",
    "Text",
    "comparable",
    "find_paper",
    "keyed",
    "named",
    "paper_names",
    "parts_of",
    "printed_numbers",
    "rows_of",
    "run",
    "summary",
    "to_html",
    "to_json",
    "to_markdown",
    "write",
]
