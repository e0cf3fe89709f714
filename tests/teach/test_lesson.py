"""Sketches taught by yes and no: features that do not depend on place and size, lessons that go on, drawn shapes."""

import json
import threading

import numpy as np
import pytest

from noisewise.teach import Lesson, serve_lesson, sketch_features
from noisewise.teach.server import LessonServer
from noisewise.teach.sketch import DIRECTIONS, N_FEATURES, SIZE


def drawn(name, rng):
    """A shape as a hand draws it: anywhere, of any size, a little off."""
    if name == "circle":
        angle = np.linspace(0, 2 * np.pi, 40)
        points = np.column_stack([np.cos(angle), np.sin(angle)])
    elif name == "line":
        points = np.array([[-1.0, 1.0], [1.0, -1.0]])
    else:
        corners = {"square": 4, "triangle": 3}[name]
        angle = np.linspace(0, 2 * np.pi, corners + 1) + (np.pi / 4 if corners == 4 else -np.pi / 2)
        points = np.column_stack([np.cos(angle), np.sin(angle)])
    points = points + rng.normal(scale=0.06, size=points.shape)
    return [(rng.uniform(20, 150) * points + rng.uniform(0, 300, size=2)).tolist()]


def test_features_have_one_length_whatever_the_place_and_size(rng):
    for name in ("circle", "square", "triangle", "line"):
        sketch = drawn(name, rng)
        row = sketch_features(sketch)
        assert row.shape == (N_FEATURES,)
        assert np.linalg.norm(row) == pytest.approx(1)
        moved = [(3.5 * np.array(sketch[0]) - 1000).tolist()]
        np.testing.assert_allclose(sketch_features(moved), row, atol=1e-6)


def test_a_line_has_ink_where_it_goes_and_in_its_direction():
    ink = np.square(sketch_features([[[0, 0], [70, 0]]])[:-1]).reshape(SIZE, SIZE, DIRECTIONS)
    assert set(np.flatnonzero(ink.sum(axis=(0, 1)))) == {0}  # horizontal alone
    assert len(np.flatnonzero(ink.sum(axis=(1, 2)))) == 1  # in one row of cells
    assert (ink.sum(axis=(0, 2)) > 0).all()  # through all columns


@pytest.mark.parametrize("sketch", [[], [[]], None, 3, [[[1, 2, 3]]], [[["a", "b"]]], [[[1, np.nan]]]])
def test_what_is_no_sketch_is_refused(sketch):
    with pytest.raises(ValueError, match="sketch"):
        sketch_features(sketch)
    with pytest.raises(ValueError, match="at most 5000"):
        sketch_features([[[i, i] for i in range(6000)]])


@pytest.mark.parametrize("learner", ["ucwl", "linucb", "confidit"])
def test_shapes_are_learnt_from_nothing_by_yes_and_no(rng, learner):
    names = ["circle", "square", "triangle", "line"]
    lesson = Lesson(names, learner=learner)
    for _ in range(150):
        wanted = names[rng.integers(4)]
        lesson.answer(lesson.guess(drawn(wanted, rng)) == wanted)
    assert np.mean(lesson.rights[-40:]) > 0.9
    assert lesson.summary()["rounds"] == 150
    assert len(lesson.summary()["curve"]) == 15


def test_a_lesson_goes_on_where_it_ended(rng, tmp_path):
    names, path = ["circle", "line"], tmp_path / "lesson.jsonl"
    first = Lesson(names, path)
    for _ in range(12):
        wanted = names[rng.integers(2)]
        first.answer(first.guess(drawn(wanted, rng)) == wanted)
    again = Lesson(names, path)
    assert again.rights == first.rights
    np.testing.assert_array_equal(again.learner.table_, first.learner.table_)
    other = Lesson(names, path, "linucb")  # whose guesses would have been others
    assert other.rights == first.rights
    with pytest.raises(ValueError, match="is a lesson on circle, line"):
        Lesson(["a", "b"], path)
    path.write_text("no\n")
    with pytest.raises(ValueError, match="line 1 of"):
        Lesson(names, path)


def test_what_cannot_be_taught_is_refused():
    for names in (["one"], ["a", "a"], ["a", ""]):
        with pytest.raises(ValueError, match="two or more different ones"):
            Lesson(names)
    with pytest.raises(ValueError, match="learner is 'magic'"):
        Lesson(["a", "b"], learner="magic")
    with pytest.raises(ValueError, match="draw something first"):
        Lesson(["a", "b"]).answer(True)


def test_a_lesson_is_given_in_a_browser(browser, tmp_path):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    path = tmp_path / "lesson.jsonl"
    lesson = Lesson(["circle", "line"], path)
    lesson.rights += [True] * 18  # as if there had been rounds
    server = LessonServer(lesson)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        browser.get(server.url)
        wait = WebDriverWait(browser, 30)
        wait.until(lambda page: "18 of 18 right" in page.find_element("id", "progress").text)
        board = browser.find_element("id", "board")
        for round_ in range(2):
            ActionChains(browser).move_to_element_with_offset(board, -60, -40).click_and_hold().move_by_offset(
                90, 80
            ).release().perform()
            ActionChains(browser).send_keys("\ue007").perform()
            wait.until(lambda page: page.find_element("id", "guess").text in ("circle?", "line?"))
            guess = browser.find_element("id", "guess").text
            ActionChains(browser).send_keys("y" if guess == "line?" else "n").perform()
            told = f"of {round_ + 19} right"
            wait.until(lambda page, told=told: told in page.find_element("id", "progress").text)
        assert browser.find_element("id", "curve").is_displayed()  # from twenty rounds on
        rounds = [json.loads(line) for line in path.read_text().splitlines()]
        assert len(rounds) == 2
        assert all(one["right"] == (one["guess"] == "line") for one in rounds)
        assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_page_is_served_until_it_is_stopped(monkeypatch):
    monkeypatch.setattr(LessonServer, "serve_forever", lambda self: None)
    said = []
    serve_lesson(Lesson(["a", "b"]), browser=False, ready=said.append)
    assert said[0].startswith("http://127.0.0.1:")


def test_a_lesson_in_a_folder_that_is_not_there_is_refused_before_it_starts(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        Lesson(["line", "dot"], tmp_path / "nowhere" / "lesson.jsonl")
