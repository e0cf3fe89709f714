"""The benchmark behind the guide's page on what to fit."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from benchmark_scripts import benchmark

needs_data = pytest.mark.skipif("NOISEWISE_DATA" not in os.environ, reason="needs the data folder")


@pytest.mark.parametrize("kind", ["symmetric 0.30", "next 0.30", "random 0.30"])
def test_three_labels_in_ten_are_wrong_of_every_kind(kind):
    script = benchmark("robust_classifier")
    rates = [1 - np.diag(script.flips(kind, 8, np.random.default_rng(seed)).matrix).mean() for seed in range(40)]
    assert abs(np.mean(rates) - 0.3) < 0.03


def test_a_stored_cell_is_not_computed_again_unless_it_is_asked_for(tmp_path):
    script = benchmark("robust_classifier")
    store = tmp_path / "cells.jsonl"
    lines = [["two", "banana", "0.10 0.30", 1, method, 12.5, 0.5] for method in ("robust", "ridge")]
    store.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert script.stored(SimpleNamespace(store=store, fresh="")) == {tuple(line[:5]): (12.5, 0.5) for line in lines}
    assert list(script.stored(SimpleNamespace(store=store, fresh="robust"))) == [tuple(lines[1][:5])]


def test_the_table_goes_between_its_marks(tmp_path):
    script = benchmark("robust_classifier")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- robust_classifier: begin -->\nold\n<!-- robust_classifier: end -->\nafter\n")
    script.write_page(page, ["new", "table"])
    marked = "<!-- robust_classifier: begin -->\nnew\ntable\n<!-- robust_classifier: end -->"
    assert page.read_text() == f"before\n{marked}\nafter\n"


@pytest.mark.slow
@needs_data
def test_the_one_to_begin_with_is_near_the_best_and_below_cleanlab():
    pytest.importorskip("cleanlab")
    script = benchmark("robust_classifier")
    errors = {method: [] for method in ("robust", "ridge", "cl-forest")}
    for index, (name, n_train) in enumerate(script.TWO.items()):
        X, observed, X_test, y_test = script.split(name, n_train, script.PAIRS[index % len(script.PAIRS)], 7)
        for method, found in errors.items():
            found.append(np.mean(script.METHODS[method][1]().fit(X, observed).predict(X_test) != y_test))
    ours, ridge, cleanlab = (np.mean(found) for found in errors.values())
    assert ours < ridge + 0.01
    assert ours < cleanlab - 0.01
