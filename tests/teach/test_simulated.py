"""What the page of the UCWL paper says of a simulated teacher."""

import os

import pytest

from noisewise.teach import simulate_teacher


@pytest.fixture(scope="module")
def mistakes():
    rows = simulate_teacher()
    return {(row["learner"], row["teacher errs"]): row["all"] for row in rows}


@pytest.mark.parametrize("error", [0.0, 0.1, 0.2])
def test_ucwl_beats_the_confidit_of_its_paper_and_not_the_one_with_a_smaller_ridge(mistakes, error):
    assert mistakes["ucwl", error] < mistakes["confidit, alpha = 1", error]
    assert mistakes["ucwl, full", error] < mistakes["confidit, alpha = 1, full", error] + 0.01
    assert mistakes["ucwl", error] > mistakes["confidit", error]
    assert mistakes["ucwl, full", error] > mistakes["confidit, full", error]


@pytest.mark.parametrize("error", [0.0, 0.1, 0.2])
def test_linucb_makes_the_fewest_mistakes_and_banditron_the_most(mistakes, error):
    found = {name: wrong for (name, rate), wrong in mistakes.items() if rate == error}
    assert min(found, key=found.get) == "linucb"
    assert max(found, key=found.get) == "banditron"


@pytest.mark.skipif("NOISEWISE_DATA" not in os.environ, reason="NOISEWISE_DATA names no folder of data")
def test_optdigits_have_more_rounds_and_so_fewer_mistakes(mistakes):
    rows = simulate_teacher(errors=(0.1,), orders=1, data="optdigits")
    assert all(row["all"] < mistakes[row["learner"], 0.1] for row in rows if row["learner"] != "banditron")


def test_other_data_are_refused():
    with pytest.raises(ValueError, match="'digits' or 'optdigits'"):
        simulate_teacher(data="gestures")
