"""The documentation in a real browser: no page scrolls sideways, long code scrolls in its own box, and every table can be read."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
WIDTHS = (390, 1280)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")]

CUT = """() => [...document.querySelectorAll('.md-content :is(pre, table, li, p, h2, h3)')]
  .filter(e => { for (let p = e; p && !p.matches('.md-content'); p = p.parentElement) {
                   if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false; }
                 if (e.querySelector('code') && e.matches('pre')) return getComputedStyle(e.querySelector('code')).overflowX != 'auto';
                 return e.getBoundingClientRect().right > innerWidth + 1 })
  .map(e => e.textContent.slice(0, 60))"""
"""What is wider than the window and cannot be scrolled by itself."""

HEADLESS = """() => [...document.querySelectorAll('.md-content table:not(.highlighttable)')]
  .filter(t => [...t.querySelectorAll('th')].some(h => !h.textContent.trim())).map(t => t.textContent.slice(0, 60))"""
"""Tables with an empty heading."""

MISSING = "() => [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"


def test_every_page_of_the_documentation_fits_its_window(tmp_path):
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    subprocess.run(
        [Path(sys.executable).parent / "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path / "site"], cwd=ROOT, check=True
    )
    pages = sorted((tmp_path / "site").glob("*.html"))
    assert len(pages) > 30
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        for width in WIDTHS:
            seen = browser.new_page(viewport={"width": width, "height": 900})
            for path in pages:
                seen.goto(path.as_uri())
                assert seen.evaluate("document.documentElement.scrollWidth") <= width, (path.name, width)
                for what in (CUT, HEADLESS, MISSING):
                    assert seen.evaluate(what) == [], (path.name, width)
        browser.close()
