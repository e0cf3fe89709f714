"""Numbers of things in sentences."""

import pytest

from noisewise._words import counted, number_text, percent, some_of


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(0, "0 rows are"), (1, "1 row is"), (0.6, "1 row is"), (2, "2 rows are"), (1e4, "10,000 rows are")],
)
def test_one_is_singular_and_thousands_have_commas(number, sentence):
    assert counted(number, "row", "are") == sentence


@pytest.mark.parametrize(
    ("part", "whole", "sentence"),
    [
        (0, 600, "0 of 600 rows are"),
        (1, 1200, "1 of 1,200 rows is"),
        (1, 1, "1 of 1 row is"),
        (2, 3, "2 of 3 rows are"),
    ],
)
def test_some_agree_with_their_number(part, whole, sentence):
    assert some_of(part, whole, "row", "are") == sentence


def test_a_percent_sign_stands_apart():
    assert [percent(0), percent(0.955), percent(1), percent(0.1234, 1)] == ["0 %", "96 %", "100 %", "12.3 %"]


@pytest.mark.parametrize("value", [123456.0, 1e6, 2.48e6, -7654321.0, 0.0, 0.5])
def test_a_number_that_is_shown_in_full_comes_back(value):
    assert float(number_text(value)) == value
    assert "e" not in number_text(value)
