"""Pictures of a real report for the tutorial and the README, taken by Chromium into docs/figures.

    python docs/tools/pictures.py acs_2024_puma.parquet     carry out the tutorial on the real table, then take pictures of its report
    python docs/tools/pictures.py run/report.html           take pictures of this report

The table is that of the tutorial before its codes become words, as Parquet: the person file of the American Community Survey 2024, with the
columns that ``examples/tables/census_workers.py`` reads.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from PIL import Image
from playwright.sync_api import sync_playwright
from pyarrow import csv, parquet

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
TUTORIAL = ROOT / "docs" / "tutorial.md"
WASHINGTON = 53
COLORS = 48
"""Colors of a picture: enough for a page of text and bars, at a third of the size."""
SHOTS = {  # name: width and height of the window, and what is at its top
    "report-desktop": (1280, 1310, None),
    "report-clusters": (1280, 900, "#clusters"),
    "report-values": (1280, 900, "#values"),
    "report-phone": (390, 780, None),
}


def main(source: Path) -> None:
    """Take all pictures."""
    if source.suffix == ".html":
        take_pictures(source)
        return
    with tempfile.TemporaryDirectory() as name:
        take_pictures(tutorial_report(source, Path(name)))


def tutorial_report(source: Path, folder: Path) -> Path:
    """Carry out the tutorial up to its ``feddp fit``, as printed, and return the report."""
    people = parquet.read_table(source)
    people = people.filter(pc.equal(people["state_fips"], WASHINGTON)).rename_columns({"client": "PUMA"})
    csv.write_csv(people, folder / "psam_p53.csv")
    shutil.copy(ROOT / "examples" / "tables" / "census_workers.py", folder)
    page = TUTORIAL.read_text()
    for title, text in re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```', page, re.DOTALL | re.MULTILINE):
        (folder / title).write_text(text)
    for line in re.findall(r"^\$ (python .*|feddp fit .* --out run)$", page, re.MULTILINE):
        program, *words = line.split()
        subprocess.run([Path(sys.executable).parent / program, *words], cwd=folder, check=True)  # noqa: S603
    return folder / "run" / "report.html"


def take_pictures(report: Path) -> None:
    """Open the report in windows of several sizes, and keep what is seen."""
    with sync_playwright() as driver:
        where = next(path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path)
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        for name, (width, height, top) in SHOTS.items():
            page: Any = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
            page.goto(report.resolve().as_uri())
            if top:
                page.locator(top).first.evaluate("e => window.scrollTo(0, e.getBoundingClientRect().top + window.scrollY - 16)")
            seen = Image.open(BytesIO(page.screenshot())).convert("RGB")
            seen.quantize(COLORS).save(FIGURES / f"{name}.png", optimize=True)
            print(FIGURES / f"{name}.png", (FIGURES / f"{name}.png").stat().st_size, "bytes")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
