"""A review in a real browser, by keyboard alone; the process and the browser are killed in the middle."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits

from browsers import start_browser
from noisewise import audit_labels, audit_multilabel, audit_targets
from noisewise.audit.verdicts import read_verdicts
from noisewise.review import ReviewSession

N_ROWS = 100
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def digits():
    """Digits, and the same with one label in ten wrong."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(truth), 60, replace=False)
    y = truth.copy()
    y[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return X, y, truth


def until(check, seconds=30):
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, "the page did not get there"
        time.sleep(0.01)
    return found


def press(browser, key):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(key).perform()


def seen(browser):
    """What the page shows, in one call."""
    return browser.execute_script("""const text = id => document.getElementById(id).textContent;
        return { row: text("heading"), observed: text("observed"), suggested: text("suggested"),
                 progress: text("progress"), finished: document.getElementById("finish").open,
                 others: [...document.querySelectorAll("#candidates button")].map(b => b.textContent.split(" ")) }""")


def shown_row(browser):
    found = re.search(r"\d+", seen(browser)["row"])
    return found and int(found.group())


class Reviewer:
    """Presses the keys that a plan has for each row, and remembers what the page acknowledged."""

    def __init__(self, keys):
        self.keys = keys
        self.acknowledged = {}

    def go(self, browser, n):
        for _ in range(n):
            before, row = seen(browser), shown_row(browser)
            press(browser, self.keys(row, before))
            until(lambda before=before: seen(browser)["progress"] != before["progress"])
            self.acknowledged[row] = True
            until(lambda before=before: (now := seen(browser))["row"] != before["row"] or now["finished"])


def start(folder):
    """`noisewise review` as a process of its own, and the address it gives."""
    command = ["review", "digits.csv", "--label", "digit", "--rows", str(N_ROWS), "--no-browser", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "noisewise.cli", *command, "--reviewer", "ann"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, json.loads(process.stdout.readline())["url"]


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_a_hundred_rows_by_keyboard_with_process_and_browser_killed_in_the_middle(digits, tmp_path):
    X, y, truth = digits
    names = [f"pixel{j}" for j in range(64)]
    pl.DataFrame(X, schema=names, orient="row").with_columns(pl.Series("digit", y)).write_csv(tmp_path / "digits.csv")
    wanted = {}

    def key(row, page):
        """What a reviewer who knows the truth would press; every tenth row can't be told."""
        if row % 10 == 3:
            wanted[row] = None
            return "c"
        wanted[row] = int(truth[row])
        if str(truth[row]) in (page["observed"], page["suggested"]):
            return "k" if str(truth[row]) == page["observed"] else "s"
        return next(number for number, label in page["others"] if label == str(truth[row]))

    reviewer = Reviewer(key)
    browser = start_browser(tmp_path / "first", process_group=0)
    process, url = start(tmp_path)
    try:
        browser.get(url)
        until(lambda: browser.find_element("id", "review").is_displayed())
        reviewer.go(browser, 37)
        before = seen(browser)
        process.kill()  # SIGKILL
        process.wait()
        press(browser, "k")
        until(lambda: "Not saved" in browser.find_element("id", "error").text)
        assert seen(browser) == before
    finally:
        os.killpg(browser.service.process.pid, signal.SIGKILL)
        end(process)
    assert len(reviewer.acknowledged) == 37

    browser = start_browser(tmp_path / "second")
    process, url = start(tmp_path)
    try:
        browser.get(url)
        until(lambda: browser.find_element("id", "review").is_displayed())
        assert seen(browser)["progress"].startswith("37 of")
        assert shown_row(browser) not in reviewer.acknowledged
        reviewer.go(browser, 1)
        row = list(reviewer.acknowledged)[-1]
        press(browser, "u")  # and once more
        until(lambda: shown_row(browser) == row)
        assert seen(browser)["progress"].startswith("37 of")
        reviewer.go(browser, N_ROWS - 37)
        until(lambda: browser.find_element("id", "finish").is_displayed())  # the last decision finishes
        assert "mended.csv" in browser.find_element("id", "finish-files").text
    finally:
        browser.quit()
        end(process)

    folder = tmp_path / "digits-review"
    assert len(wanted) == N_ROWS == len(reviewer.acknowledged)
    decided = {row: label for row, label in wanted.items() if label is not None}
    mended = y.copy()
    mended[list(decided)] = list(decided.values())
    assert pl.read_csv(folder / "mended.csv")["digit"].to_list() == mended.tolist()
    assert pl.read_csv(folder / "mended.csv").drop("digit").equals(pl.read_csv(tmp_path / "digits.csv").drop("digit"))
    assert read_verdicts(folder / "reviewed.csv", audit_labels(X, y)) == wanted
    history = pl.read_csv(folder / "history.csv")
    assert history.height == N_ROWS + 2  # one was taken back and decided again
    assert set(history["reviewer"]) == {"ann"}


@pytest.fixture(scope="module")
def address(serving, tmp_path_factory):
    """A review of tickets with texts, numbers and many labels, served by this process."""
    rng = np.random.default_rng(0)
    topics = [f"topic {k:02d}" for k in range(14)]
    y = np.arange(280) % 14
    text = [" ".join(rng.choice([f"word{k}", f"name{k}", "the", "a", "is"], 12)) for k in y]
    y[:14] = (y[:14] + 1) % 14
    table = pl.DataFrame({"id": [f"T-{row}" for row in range(280)], "text": text, "size": y + rng.normal(size=280)})
    audit = audit_labels(table, np.array(topics)[y])
    review = ReviewSession(audit, tmp_path_factory.mktemp("tickets"), rows=np.arange(14), reviewer="ann")
    with serving(review) as server:
        yield server


@pytest.fixture
def page(address, browser):
    browser.set_window_size(1200, 900)
    browser.get("about:blank")
    browser.get(address.url)
    until(lambda: browser.find_element("id", "review").is_displayed())
    return browser


def test_any_label_is_found_by_typing(page, address):
    row = shown_row(page)
    press(page, "o")
    press(page, "topic 13")
    until(lambda: len(page.find_elements("css selector", "#labels li")) == 1)
    press(page, "\ue007")  # Enter
    until(lambda: shown_row(page) != row)
    assert address.review.verdicts[row] == "topic 13"
    assert "topic 13, stored" in page.find_element("id", "spoken").get_attribute("textContent")


def test_a_row_is_looked_at_without_deciding(page, address):
    decided, row = len(address.review.decisions), shown_row(page)
    press(page, "\ue014")  # right
    until(lambda: shown_row(page) != row)
    press(page, "\ue012")  # left
    until(lambda: shown_row(page) == row)
    assert len(address.review.decisions) == decided


def test_a_tab_that_is_behind_does_not_overwrite(page, address):
    row = shown_row(page)
    address.review.decide(row, "topic 05")
    press(page, "k")
    until(lambda: "decided elsewhere" in page.find_element("id", "error").text)
    until(lambda: page.find_element("id", "decision").text.endswith("topic 05"))
    assert shown_row(page) == row
    assert address.review.verdicts[row] == "topic 05"
    press(page, "k")  # knowingly
    until(lambda: shown_row(page) != row)
    assert address.review.log.standing(row).action == "keep"


def test_single_keys_can_be_switched_off(page, address):
    decided = len(address.review.decisions)
    page.execute_script("document.getElementById('keys').click()")
    press(page, "k")
    time.sleep(0.3)
    assert len(address.review.decisions) == decided
    page.execute_script("document.getElementById('keys').click()")


def test_the_page_fits_a_phone_in_light_and_dark(page):
    page.set_window_size(390, 844)
    for scheme in SCHEMES:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        background = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (sum(int(part) for part in re.findall(r"\d+", background)[:3]) > 600) == (scheme == "light")
    wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.execute_script(wide), "the page scrolls sideways on a phone"
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_screen_reader_finds_names_and_news(page):
    unnamed = """return [...document.querySelectorAll('button, input, progress, section, dialog')].filter(one =>
        !(one.textContent.trim() || one.ariaLabel || one.getAttribute('aria-labelledby') || one.labels?.length))
        .map(one => one.outerHTML)"""
    assert page.execute_script(unnamed) == []
    assert page.find_element("id", "spoken").get_attribute("aria-live") == "polite"
    assert page.find_element("id", "error").get_attribute("role") == "alert"
    assert "Row" in page.find_element("id", "spoken").get_attribute("textContent")
    assert [entry for entry in page.get_log("browser") if "409" not in entry["message"]] == []


@pytest.mark.parametrize(
    ("kind", "typed", "verdict"), [("numbers", "41.5", 41.5), ("tags", "red;blue", ("blue", "red"))]
)
def test_numbers_and_tags_are_typed(browser, serving, tmp_path, kind, typed, verdict):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    if kind == "numbers":
        audit = audit_targets(pl.DataFrame(X), (30 + 5 * X[:, 0] + rng.normal(0, 0.3, 120)).round(2))
    else:
        audit = audit_multilabel(pl.DataFrame(X), X > 0, tags=["blue", "green", "red"])
    with serving(ReviewSession(audit, tmp_path, rows=[5, 6, 7])) as server:
        browser.get(server.url)
        until(lambda: browser.find_element("id", "review").is_displayed())
        press(browser, "k")
        until(lambda: shown_row(browser) == 6)
        press(browser, "o")
        press(browser, typed)
        press(browser, "\ue007")  # Enter
        until(lambda: shown_row(browser) == 7)
        assert server.review.verdicts[6] == verdict
        assert not server.review._changes(5)
