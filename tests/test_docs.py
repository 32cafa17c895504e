"""The documentation names what there is: every path and every dotted name on its pages exists, and the API page lists what is public."""

import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import typer

import feddp_kmeans
from feddp_kmeans.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "studies" / "README.md"]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PRODUCT = ROOT / "src" / "feddp_kmeans"
BASES = (ROOT, ROOT / "src", PRODUCT, ROOT / "studies", ROOT / "studies" / "feddp_studies")
"""Folders that paths on the pages start from."""

PACKAGES = ("", "feddp_kmeans.", "feddp_studies.")
STUDIES = ("accuracy", "datasets", "reproduction", "rivals", "speed", "theory")
ROOMS = sorted({path.parent.name for path in PRODUCT.glob("*/__init__.py")} | {*STUDIES})
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:[\w.]+/)*[\w.]+\.(?:py|cu|toml|md)")
DOTTED = re.compile(rf"(?:feddp_kmeans|feddp_studies|{'|'.join(ROOMS)})(?:\.\w+)+")
NOT_CODE = {"audit.json", "report.html", "feddp_kmeans.starts"}
"""Files that commands write, and a group of entry points."""

ITEM = re.compile(r"(?P<path>[\w/]+\.py): (?P<name>[\w.]+)")


def spans(text):
    """Return what stands between backticks outside of code blocks."""
    return SPAN.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def place_of(path):
    """Return the file that a page means, or None."""
    return next((base / path for base in BASES if (base / path).exists()), None)


def has(thing, names):
    for name in names:
        fields = getattr(thing, "__dataclass_fields__", {})
        if not hasattr(thing, name):
            return name in fields or name in getattr(thing, "__annotations__", {})
        thing = getattr(thing, name)
    return True


def resolves(dotted):
    """Return whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for package in PACKAGES:
        for cut in range(len(parts), 0, -1):
            try:
                module = importlib.import_module(package + ".".join(parts[:cut]))
            except ImportError:
                continue
            if has(module, parts[cut:]):
                return True
    return False


def missing(text):
    """Return the paths and names of a page that are not there."""
    for span in set(spans(text)) - NOT_CODE:
        item = ITEM.fullmatch(span)
        if item:
            where = place_of(item["path"])
            base = where and next(base for base in (PRODUCT.parent, ROOT / "studies", ROOT) if where.is_relative_to(base))
            if where is None or not resolves(
                ".".join([*where.relative_to(base).with_suffix("").parts, item["name"]]).replace(".__init__", "")
            ):
                yield span
        elif PATH.fullmatch(span):
            if place_of(span) is None and "/" in span:
                yield span
        elif DOTTED.fullmatch(span) and not resolves(span):
            yield span


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_every_dotted_name_on_a_page_exists(page):
    assert not list(missing(page.read_text()))


def test_what_does_not_exist_is_found():
    good = "`privacy/noise.py` `privacy/noise.py: StreamFactory` `feddp_kmeans.privacy.plan.Plan` `tests/test_docs.py`"
    bad = ["privacy/moon.py", "privacy/noise.py: moon", "feddp_kmeans.privacy.moon", "privacy.plan.Moon"]
    assert not list(missing(good))
    assert sorted(missing(" ".join(f"`{span}`" for span in bad))) == sorted(bad)


def rows_below(heading):
    """Return the first cells of the table below a heading of the architecture page."""
    section = ARCHITECTURE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][1:]


def test_the_tree_of_the_architecture_page_exists_and_names_every_room():
    (tree,) = re.findall(r"```text\n(.*?)```", ARCHITECTURE.read_text(), re.DOTALL)
    room, named = "", set()
    for line in tree.splitlines():
        name = line.split()[0]
        room = room if line.startswith(" ") else name
        path = PRODUCT / (room + name if line.startswith(" ") else name)
        assert path.exists(), path
        assert path.is_dir() == name.endswith("/")
        named.add(name)
    assert {f"{path.parent.name}/" for path in PRODUCT.glob("*/__init__.py")} <= named


def test_the_architecture_page_explains_the_words_and_finds_twenty_behaviours():
    first = {"unit", "release", "look", "cell", "bound", "silo", "cohort"}
    words = first | {"plan", "ledger", "odometer", "run", "gate", "query", "residual", "proxy"}
    assert words <= set(rows_below("Glossary"))
    assert len(rows_below("Where is ...?")) >= 20


def test_the_api_page_lists_what_is_public():
    listed = re.findall(r"^::: feddp_kmeans\.(\S+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted([*listed, "__version__"]) == sorted(feddp_kmeans.__all__)


def test_the_page_on_the_result_names_every_field():
    source = (PRODUCT / "report" / "result.py").read_text()
    fields = set(re.findall(r'^ +"(\w+)": ', source, re.MULTILINE)) - {"python"}
    page = (ROOT / "docs" / "result_file.md").read_text()
    assert {"centers", "ledger", "reach"} <= fields
    assert not fields - set(spans(page))


def test_the_page_of_commands_shows_every_option():
    page = runpy.run_path(str(ROOT / "docs" / "tools" / "commands.py"))["page"]()
    for command in ("fit", "encode", "budget", "serve"):
        assert f"\n## feddp {command}\n" in page
    rows = [line for line in page.splitlines() if line.startswith("- `")]
    assert "- `--epsilon FLOAT` (default `1.0`): Total privacy budget; inf adds no noise." in rows
    assert not [row for row in rows if not row.partition(": ")[2]]


COMMAND = re.compile(r"(?:^|\s)feddp (?P<name>[a-z-]+)(?P<rest>[^#\n]*)", re.MULTILINE)
OPTION = re.compile(r"(?:^| )(--?[a-z][a-z-]*)")


def shown_commands(text):
    """The commands in the blocks of a page that a shell would take; a line that ends with a backslash goes on."""
    for kind, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if kind in {"", "sh", "console"}:
            yield from ((found["name"], OPTION.findall(found["rest"])) for found in COMMAND.finditer(block.replace("\\\n", " ")))


def known_options():
    group = typer.main.get_command(app)
    return {name: {opt for param in command.params for opt in param.opts} for name, command in group.commands.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_has_these_options(page):
    known = known_options()
    for name, options in shown_commands(page.read_text()):
        assert name in known, f"feddp {name}"
        assert set(options) <= known[name], f"feddp {name}"


def test_a_wrong_option_would_be_found():
    ((name, options),) = shown_commands("```sh\nfeddp fit people.csv -k 3 \\\n    --moon 1   # --sun\n```")
    assert (name, options) == ("fit", ["-k", "--moon"])
    assert not set(options) <= known_options()["fit"]


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([*(page.name for page in (ROOT / "docs").glob("*.md")), "commands.md"])


def test_one_version_is_stated_everywhere():
    product, studies = (tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"] for place in (".", "studies"))
    version = product["version"]
    assert studies["version"] == version
    assert f"feddp-kmeans=={version}" in studies["dependencies"]
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
