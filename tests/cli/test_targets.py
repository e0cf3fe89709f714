"""`noisewise audit --target`: which numbers of a column are wrong."""

import json

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def prices(tmp_path, rng):
    size, town = rng.uniform(30, 200, 200), rng.choice(["a", "b"], 200)
    price = 1000 + 20 * size + 500 * (town == "b") + rng.normal(0, 50, 200)
    price[:8] *= 10
    table = pl.DataFrame({"size": size, "town": town, "price": price.round()})
    table.with_columns(pl.when(pl.int_range(200) != 199).then(pl.col("price"))).write_csv(tmp_path / "homes.csv")
    return tmp_path


@pytest.mark.parametrize("model", [(), ("--model", "linear")])
def test_a_lost_decimal_point_is_found(run, prices, model):
    done = run("audit", "homes.csv", "--target", "price", "--json", *model, cwd=prices)
    assert done.returncode == 0, done.stderr
    assert "1 row has no number in column 'price': it is predicted" in done.stderr
    summary = json.loads(done.stdout)
    assert set(range(8)) <= set(summary["picked_rows"])
    assert any("look 10 times" in note for note in summary["notes"])
    patch = pl.read_csv(prices / "patch.csv")
    np.testing.assert_allclose(patch["suggested"][:8] * 10, patch["observed"][:8])
    assert "numbers look wrong" in (prices / "audit.html").read_text()


def test_the_worst_rows_are_printed(run, prices):
    done = run("audit", "homes.csv", "--target", "price", cwd=prices)
    assert "numbers look wrong" in done.stderr
    assert done.stdout.count("10 times") == 8


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--target", "town"], "not numbers; --label audits"),
        (["--target", "cost"], "no column 'cost'"),
        (["--target", "price", "--label", "town"], "without --label"),
        (["--target", "price", "--model", "nothing"], "no regressor 'nothing'"),
    ],
)
def test_bad_input_ends_with_one_sentence(run, prices, arguments, sentence):
    done = run("audit", "homes.csv", *arguments, cwd=prices)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_large_prices_are_written_in_full_and_only_rows_worth_a_look_are_listed(run, tmp_path, rng):
    size = rng.uniform(30, 200, 200)
    price = (10_000 * size + rng.normal(0, 20_000, 200)).round()
    price[7] *= 10
    pl.DataFrame({"size": size, "price": price.astype(int)}).write_csv(tmp_path / "homes.csv")
    done = run("audit", "homes.csv", "--target", "price", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[1].split()[:2] == ["7", str(int(price[7]))]
    assert "e+" not in done.stdout
    shown = len(lines) - 1
    assert f"{shown} row{' is' if shown == 1 else 's are'} worth a look" in done.stderr
