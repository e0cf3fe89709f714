"""Model files of an earlier version load, and their models go on as they would have gone on then.

Of reports of few rounds the intervals of rates are from 0 to 1 since, and those of the false positive rate wider;
`expected.json` has them so.
"""

import json
from pathlib import Path

import pytest
from sklearn.base import clone

from earlier_models import HOW, assert_said, uniform_noise
from noisewise import load, save
from noisewise.online import recipes
from noisewise.persistence import describe

FOLDER = Path(__file__).parent / "earlier_files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
LEARNERS = [name for name, expected in EXPECTED.items() if expected["how"] == "learner"]


def loaded(path, how):
    """The model of a file; the test ends here if the file holds parts of a scikit-learn that is not installed."""
    try:
        return load(path, extra=[uniform_noise] if how == "symmetric noise" else [])
    except RuntimeWarning as warning:
        pytest.skip(str(warning))


def test_every_earlier_file_has_its_expectations():
    assert {path.stem for path in FOLDER.glob("*.nw")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_model_written_by_the_first_version_goes_on_identically(name):
    expected = EXPECTED[name]
    model = loaded(FOLDER / f"{name}.nw", expected["how"])
    assert_said(HOW[expected["how"]](model, **expected["options"]), expected["said"], expected["close"])


@pytest.mark.parametrize("name", EXPECTED)
def test_a_model_written_by_the_first_version_goes_on_identically_when_saved_again(name, tmp_path):
    expected = EXPECTED[name]
    how, extra = expected["how"], [uniform_noise] if expected["how"] == "symmetric noise" else []
    save(loaded(FOLDER / f"{name}.nw", how), tmp_path / "again.nw", extra=extra)
    said = HOW[how](loaded(tmp_path / "again.nw", how), **expected["options"])
    assert_said(said, expected["said"], expected["close"])


@pytest.mark.parametrize("name", EXPECTED)
def test_an_earlier_file_is_described_without_loading_it(name):
    told = describe(FOLDER / f"{name}.nw")
    assert told["size"] == (FOLDER / f"{name}.nw").stat().st_size
    assert told["versions"]["noisewise"] == "0.1.0"


@pytest.mark.parametrize("name", [name for name in LEARNERS if "fresh" not in name])
def test_decisions_that_were_learnt_before_saving_are_refused_afterwards(name):
    kept = loaded(FOLDER / f"{name}.nw", "learner")
    waiting = kept["waiting"][0][1]
    annotator = ("ann",) if EXPECTED[name]["options"].get("annotators") else ()
    with pytest.raises(ValueError, match="already"):
        kept["learner"].learn(waiting._replace(id=0), 1, *annotator)
    kept["learner"].learn(waiting, 1, *annotator)
    with pytest.raises(ValueError, match="already"):
        kept["learner"].learn(waiting, 1, *annotator)


@pytest.mark.parametrize("name", ["soba", "soba-full"])
def test_an_earlier_soba_is_the_recursive_one_also_when_it_starts_anew(name):
    learner = loaded(FOLDER / f"{name}.nw", "learner")["learner"]
    assert clone(learner).rule.variant == "recursive"


def test_an_earlier_linucb_has_no_intercept_also_when_it_starts_anew():
    fresh = loaded(FOLDER / "linucb-fresh-number.nw", "learner")["learner"]
    assert not fresh.intercept
    assert recipes.linucb(2).intercept
