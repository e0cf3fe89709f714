"""The page in a real browser: a dashboard, and a digit that is drawn, guessed, given feedback and learnt from."""

import socket
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the service needs noisewise[serve]")
uvicorn = pytest.importorskip("uvicorn")

from noisewise.serve import Settings, create_app  # noqa: E402


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_app(Settings(f"sqlite:///{tmp_path_factory.mktemp('page')}/log.db"))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def until(check, seconds=15):
    """Wait for a page that updates by itself."""
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "the page did not get there"
        time.sleep(0.05)
    return found


def draw(browser, points):
    from selenium.webdriver.common.action_chains import ActionChains

    paper = browser.find_element("id", "paper")
    pen = ActionChains(browser, duration=10).move_to_element_with_offset(paper, *points[0]).click_and_hold()
    for point in points[1:]:
        pen.move_to_element_with_offset(paper, *point)
    pen.release().perform()


def test_a_drawn_digit_is_guessed_given_feedback_and_learnt_from(address, browser):
    browser.get(f"{address}/#teach")
    text = lambda name: browser.find_element("id", name).text  # noqa: E731
    draw(browser, [(0, -90), (0, -30), (0, 30), (0, 90)])
    until(lambda: "Is it a" in text("guess"))
    browser.find_element("id", "wrong").click()
    until(lambda: "1 rounds, 0 guesses right" in text("tally"))
    first = browser.find_element("css selector", "#progress polyline.corrected").get_attribute("points")
    again = browser.find_element("id", "guess-again")
    until(again.is_enabled)
    again.click()
    until(lambda: "Is it a" in text("guess"))
    browser.find_element("css selector", "body").send_keys("y")  # the keyboard gives feedback too
    until(lambda: "2 rounds, 1 guesses right" in text("tally"))
    assert browser.find_element("css selector", "#progress polyline.corrected").get_attribute("points") != first

    browser.get(f"{address}/#models")
    until(lambda: "pupil" in text("cards") and "2 decisions, 2 with feedback" in text("cards"))
    assert browser.get_log("browser") == []


def test_feedback_on_sample_digits_is_flipped_as_set(address, browser):
    browser.get(f"{address}/#teach")
    slider = "const it = document.getElementById('careless'); it.value = 30; it.dispatchEvent(new Event('input'))"
    browser.execute_script(slider)
    until(lambda: browser.find_element("id", "pupil").get_attribute("value") == "pupil")
    browser.find_element("id", "practise").click()
    until(lambda: "100 of 500" in browser.find_element("id", "practice-note").text, seconds=60)
    browser.find_element("id", "stop").click()
    until(lambda: browser.find_element("id", "practise").is_enabled())
    n, _, flipped = (int(word) for word in browser.find_element("id", "tally").text.split() if word.isdigit())
    assert abs(flipped - 0.3 * n) < 5 * (0.21 * n) ** 0.5


@pytest.mark.parametrize("page", ["models", "teach"])
def test_the_page_fits_a_phone(address, browser, page):
    browser.set_window_size(390, 800)
    browser.get(f"{address}/#{page}")
    time.sleep(0.3)
    fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(fits), "the page scrolls sideways on a phone"


def test_every_control_has_a_name(address, browser):
    browser.get(f"{address}/#teach")
    unnamed = """return [...document.querySelectorAll('button, input, select, canvas, nav')].filter(one =>
        !(one.textContent.trim() || one.ariaLabel || (one.labels && one.labels.length))).map(one => one.outerHTML)"""
    assert browser.execute_script(unnamed) == []
