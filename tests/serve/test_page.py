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
    while not server.started or app.state.service.activity is not None:
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
    until(lambda: "1 round, 0 right" in text("tally"))
    first = browser.find_element("css selector", "#progress polyline.corrected").get_attribute("points")
    again = browser.find_element("id", "guess-again")
    until(again.is_enabled)
    again.click()
    until(lambda: "Is it a" in text("guess"))
    browser.find_element("css selector", "body").send_keys("y")  # the keyboard gives feedback too
    until(lambda: "2 rounds, 1 right" in text("tally"))
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


def test_looking_at_the_page_makes_no_model_and_a_pupil_can_be_named_and_deleted(address, browser):
    httpx = pytest.importorskip("httpx")
    names = lambda: [one["name"] for one in httpx.get(f"{address}/models", timeout=30).json()["models"]]  # noqa: E731
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/#teach")
    before = names()
    choice = browser.find_element("id", "pupil")
    until(lambda: choice.get_attribute("value"))
    browser.execute_script("const it = arguments[0]; it.value = ''; it.dispatchEvent(new Event('change'))", choice)
    browser.find_element("id", "pupil-name").send_keys("anna")
    browser.find_element("css selector", "#new-pupil button").click()
    until(lambda: choice.get_attribute("value") == "anna")
    assert names() == before
    draw(browser, [(0, -90), (0, 90)])
    until(lambda: "Is it a" in browser.find_element("id", "guess").text)
    assert names() == [*before, "anna"]
    browser.execute_script("window.confirm = () => true")
    browser.find_element("id", "dismiss").click()
    until(lambda: names() == before)


def test_a_model_of_one_kind_of_feedback_is_marked_and_unknown_rates_are_called_so(address, browser):
    httpx = pytest.importorskip("httpx")
    client = httpx.Client(base_url=address, timeout=30)
    client.put("/models/praised", json={"actions": ["a", "b"], "features": {"count": 2}}).raise_for_status()
    for index in range(12):
        made = client.post("/models/praised/decide", json={"features": [1.0, float(index)]}).json()
        if index % 2 == 0:
            client.post("/models/praised/feedback", json={"decision_id": made["decision_id"], "right": True})
    browser.set_window_size(390, 844)
    browser.get(f"{address}/#models")
    until(lambda: browser.find_elements("css selector", "[data-model=praised]"))
    card = "document.querySelector('[data-model=praised]')"  # cards are made anew every two seconds
    browser.execute_script(f"{card}.click()")
    until(lambda: browser.find_element("id", "detail-name").text == "praised")
    assert "only positive feedback" in until(lambda: browser.find_element("id", "detail-warning").text)
    assert "not known yet" in browser.find_element("id", "rates").text
    assert "accuracy is not known" in browser.execute_script(f"return {card}.textContent")
    until(lambda: browser.execute_script("return document.querySelectorAll('#log tr').length") == 15)
    until(lambda: "decide" in browser.execute_script("return document.getElementById('latency').textContent"))
    browser.execute_script("document.getElementById('by-time').click()")
    until(lambda: ":" in browser.execute_script("return document.getElementById('learning-curve').textContent"))
    fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(fits), "the page scrolls sideways on a phone"
    client.close()


def test_a_model_with_action_features_shows_its_rewards_weights_and_actions(address, browser):
    import random

    import httpx

    from offers import liked, situation

    rng = random.Random(0)
    with httpx.Client(base_url=address, timeout=60) as client:
        client.put("/models/meals", json={"actions": "features"}).raise_for_status()
        for _ in range(40):
            context, actions = situation(rng)
            made = client.post("/models/meals/decide", json={"context": context, "actions": actions}).json()
            played = next(action for action in actions if action["id"] == made["action"])
            body = {"decision_id": made["decision_id"], "reward": liked(context, played)}
            client.post("/models/meals/feedback", json=body).raise_for_status()
    text = lambda name: browser.find_element("id", name).text  # noqa: E731
    browser.get(f"{address}/#models")
    until(lambda: "meals" in text("cards"))
    browser.find_element("css selector", '[data-model="meals"]').click()
    until(lambda: text("detail-name") == "meals" and "mean reward" in text("curve-title"))
    assert "recent reward" in text("cards")
    assert "taste=" in text("rates")
    assert "meal" in text("worst")
    assert "reward" in text("log")
    assert browser.find_elements("css selector", "#learning-curve polyline.corrected")
    until(lambda: "ms" in text("latency"))
    assert browser.get_log("browser") == []
