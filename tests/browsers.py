"""A headless browser for tests of pages."""

import shutil

import pytest


def start_browser(profile, **process):
    """A headless Chromium, which keeps what pages say on its console; `process` is for the process of its driver."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no Chromium with its driver is installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver, popen_kw=process))
