"""The report in a real browser: nothing fails, nothing is loaded, nothing sticks out, and dark is dark."""

import shutil
from pathlib import Path

import pytest

from feddp_kmeans.report.page import render_page
from tests.report.examples import HARD

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)
WIDTHS = (390, 1200)
_LIMIT = 180_000
"""Milliseconds for the browser to do anything: it is slow to start on a busy machine."""

BOTH, DECIDE = ("summary", "remarks", "columns"), ("clusters", "values", "quality", "map")
OFFICER = ("guaranteed", "questions", "budget", "asked", "again")
SECTIONS = (*BOTH, *DECIDE, *OFFICER)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=f"no Chromium here: none of {', '.join(NAMES)} is on the path")

CONTRAST = """() => {
  const linear = x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(x => linear(x / 255)); return .2126 * r + .7152 * g + .0722 * b };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!c.endsWith(', 0)')) return c }
                        return 'rgb(255,255,255)' };
  return Math.min(...[...document.querySelectorAll('h1,h2,h3,p,li,dt,dd,th,td,caption,figcaption,a,code,strong,.tag')].map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return (a + .05) / (b + .05) })) }"""
"""The lowest contrast between a text and what is behind it."""


CUT_OFF = """() => [...document.querySelectorAll('td,th,p,h1,h2,h3,dd,li')]
  .filter(e => !e.closest('.scroll') && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
"""Texts that are wider than their box, but for those that can be scrolled."""


class Seen:
    """A page, and what its browser said while it was open."""

    def __init__(self, page):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", lambda message: self.errors.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path):
        self.errors.clear()
        self.requests.clear()
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    with api.sync_playwright() as driver:
        # No sandbox: the page is ours, and containers that run tests as root have none.
        found = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], timeout=_LIMIT
        )
        yield found
        found.close()


@pytest.fixture
def see(browser):
    contexts = []

    def opened(width=1200, scheme="light", **more):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more))
        contexts[-1].set_default_timeout(_LIMIT)
        return Seen(contexts[-1].new_page())

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {key: folder / f"{index}.html" for index, key in enumerate(HARD)}
    for key, path in made.items():
        path.write_text(render_page(HARD[key]), encoding="utf-8")
    return made


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_quiet_alone_and_fits_its_width(see, pages, width):
    seen = see(width)
    for key, path in pages.items():
        page = seen.open(path)
        assert seen.errors == [], key
        assert seen.requests == [path.as_uri()], key
        assert page.evaluate("document.documentElement.scrollWidth") <= width, key
        assert page.evaluate(CUT_OFF) == [], key


def test_all_sections_and_pictures_are_there(see, pages, tmp_path):
    page = see().open(pages["ordinary"])
    for section in SECTIONS:
        assert page.locator(f"h2#{section}").is_visible()
        assert page.locator(f"nav a[href='#{section}']").is_visible()
    assert page.get_by_role("img", name="Share of the privacy budget").is_visible()
    assert page.get_by_role("img", name="Map of the cluster centers").is_visible()
    assert page.locator("circle.server").count() == 40
    for landmark in ("banner", "main", "navigation", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    assert page.locator("table").count() == page.locator("table > caption").count()
    assert page.locator(".not-private").count() == 0
    page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert (tmp_path / "report.png").stat().st_size > 10_000


@pytest.mark.parametrize(("view", "shown", "hidden"), [("decide", DECIDE, OFFICER), ("officer", OFFICER, DECIDE)])
def test_each_reader_has_a_view_on_screen_and_on_paper_without_script(see, pages, view, shown, hidden):
    page = see(java_script_enabled=False).open(pages["ordinary"])
    page.locator(f"#view-{view}").check()
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        assert all(page.locator(f"h2#{name}").is_visible() for name in (*BOTH, *shown))
        assert not any(page.locator(f"h2#{name}").is_visible() for name in hidden)
        assert page.locator(".views").is_visible() is (media == "screen")


def test_tables_and_pictures_have_names(see, pages):
    page = see().open(pages["categories"])
    for table in page.get_by_role("table").all():
        assert table.locator("caption").inner_text().strip()
        assert table.locator("th:not([scope])").count() == 0
    assert page.get_by_role("img", name="3 clusters from").count() == 7
    assert page.get_by_role("radio").count() == 3
    assert page.get_by_role("group", name="Show and print").count() == 1


def test_it_reads_without_script(see, pages):
    page = see(java_script_enabled=False).open(pages["ordinary"])
    assert page.get_by_text("Where the budget went").is_visible()


def test_a_simulation_is_red_at_the_top(see, pages):
    box = see().open(pages["simulation"]).locator(".not-private")
    assert box.bounding_box()["y"] < 100
    red, green, blue = (int(x) for x in box.evaluate("e => getComputedStyle(e).color").strip("rgb()").split(","))
    assert red > 2 * max(green, blue)


@pytest.mark.parametrize("key", ["ordinary", "simulation", "all noise"])
def test_dark_is_dark_and_both_have_contrast(see, pages, key):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (see(scheme=scheme).open(pages[key]) for scheme in ("light", "dark"))
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    assert dark.evaluate(background) == "rgb(13, 17, 23)"
    assert light.evaluate(CONTRAST) >= 4.5
    assert dark.evaluate(CONTRAST) >= 4.5


def test_the_keyboard_finds_the_skip_link_first_and_print_is_light(see, pages):
    page = see(scheme="dark").open(pages["ordinary"])
    page.keyboard.press("Tab")
    focused = "[document.activeElement.className, document.activeElement.getBoundingClientRect().left >= 0]"
    assert page.evaluate(focused) == ["skip", True]
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


def test_hostile_names_run_nothing(see, pages):
    seen = see()
    dialogs = []
    seen.page.on("dialog", lambda dialog: dialogs.append(dialog) or dialog.dismiss())
    page = seen.open(Path(pages["hostile"]))
    assert dialogs == []
    assert page.locator("script, img").count() == 0
