"""Options shared by several commands, and the settings made from them."""

import inspect
import logging
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.meaning import weakness
from feddp_kmeans.privacy.odometer import Limit
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns
from feddp_kmeans.tables.word_lists import MOST_COUNTED, WordList

log = logging.getLogger(__name__)
PORT = 9443
TRIAL = "No TLS and no keys: for trials on one machine only."

Where = str | tuple[str, ...]
"""As in tables/client_files.py, which takes longer to import."""
Epsilon = Annotated[float, typer.Option("--epsilon", help="Total privacy budget; inf adds no noise.")]
Delta = Annotated[float, typer.Option("--delta", help="Chance that the guarantee may fail.")]
Unit = Annotated[str, typer.Option("--unit", help="What is protected: point or client.")]
MethodOption = Annotated[str, typer.Option("--method", help="refined or paper.")]
Server = Annotated[Path | None, typer.Option("--server", help="Public server data, if any: a table.")]
ClientColumn = Annotated[str | None, typer.Option("--client-column", help="Column that names the client of a row.")]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LOW:HIGH",
        help="Public range of a column: age=0:120, income=0:1e6:log, joined=2015-01-01:2026-12-31; may be repeated.",
    ),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="A column to leave out; may be repeated.")]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="A client file that cannot be read is a client without data.")]
InEngine = Annotated[
    str | None, typer.Option("--silo", help="spark or dask: adds up the rows of Parquet files, all as one table. (default: this process)")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Reproducible simulation: NOT private. To try options, --rehearse.")]
Rehearse = Annotated[
    bool, typer.Option("--rehearse", help="Try these options on made-up points instead of the clients' rows: nothing is booked.")
]
LimitEpsilon = Annotated[float | None, typer.Option("--limit", help="Largest epsilon that all runs on these data may spend together.")]
LimitDelta = Annotated[float, typer.Option("--limit-delta", help="The delta at which the total over all runs is stated.")]
OdometerFile = Annotated[
    Path | None, typer.Option("--odometer", help="File that records all runs. (default: .feddp-budget.jsonl next to the data)")
]


def _like_before(context: typer.Context, run: Path | None) -> Path | None:
    """Make the number of clusters and the unit of a run the defaults of a command that goes on from it."""
    if run is not None and not context.resilient_parsing:
        from feddp_kmeans.report.finished_run import read_result  # here, so that commands start fast

        result = read_result(run, ("n_clusters", "privacy_unit"))
        context.default_map = {"clusters": str(result["n_clusters"]), "unit": str(result["privacy_unit"])}
    return run


From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        is_eager=True,
        callback=_like_before,
        help="Finished run to go on from, such as last month's: its clusters are the start and keep their numbers. Then -k is known.",
    ),
]
About = Annotated[
    Path | None,
    typer.Option(
        "--about",
        is_eager=True,
        callback=_like_before,
        help="Finished run that --schema, a question made by feddp ask, is about. Nothing is clustered.",
    ),
]
NewPeople = Annotated[
    bool, typer.Option("--new-people", help="You state that nobody in these tables was in those of --from: their budgets do not add up.")
]
CountedSize = Annotated[
    int, typer.Option("--client-size", min=1, help="Where clients are protected: how many rows of a client count in full.")
]
Json = Annotated[bool, typer.Option("--json", help="Print only the result on stdout, as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no tables, only errors.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Show the log as JSON lines: time, level, event and its facts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
RunFolder = Annotated[Path, typer.Option("--out", help="Folder for result.json, centers.parquet and report.html.")]
MinSites = Annotated[
    int | None,
    typer.Option("--min-sites", min=1, help="Sites that must be connected before the run starts. (default: all of the federation)"),
]
TrustOption = Annotated[str, typer.Option("--trust", help="secure-sum: the server learns noisy sums alone; aggregator: it adds the noise.")]
Threshold = Annotated[
    int | None, typer.Option("--threshold", min=1, help="Fewest sites that a sum is made of. (default: two thirds, or more where safe)")
]
Colluders = Annotated[
    int | None, typer.Option("--colluders", min=0, help="Sites that may side with the server. (default: a tenth, at least one)")
]
Confirmed = Annotated[
    bool | None,
    typer.Option("--confirmed/--not-confirmed", help="Sites sign who is in a sum before it is opened. (default: where there are keys)"),
]
ExpectedPoints = Annotated[
    int | None,
    typer.Option("--expected-points", min=1, help="Publicly agreed number of rows of all sites: sizes that differ get a warning."),
]
Metrics = Annotated[
    Path | None, typer.Option("--metrics", metavar="FILE.prom", help="Keep a text file for Prometheus here, rewritten every 15 seconds.")
]
RoundTimeout = Annotated[float, typer.Option("--round-timeout", help="Seconds that a site has for an answer.")]


def takes_settings(defaults: Mapping[str, Any] | None = None, **fixed: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of settings to a command and passes it the ``settings``; ``fixed`` ones are no options."""
    return _takes("settings", _settings, defaults or {}, fixed)


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of reading tables to a command and pass it the ``reading``."""
    return _takes("reading", _reading, {}, {})(command)


def takes_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what columns hold to a command and pass it the ``stated`` columns."""
    return _takes("stated", _stated, {}, {})(command)


def takes_clients(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument of the clients to a command and pass it as ``clients``: one place, or several files."""
    return _takes("clients", _clients, {}, {})(command)


def takes_words(**fixed: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a list of words to a command and passes it the ``listed`` words, as above."""
    return _takes("listed", _words, {}, fixed)


def _takes(
    made: str, make: Callable[..., Any], defaults: Mapping[str, Any], fixed: Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of ``make``, and passes what it makes of them as the argument ``made``."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        stated = {name: p for name, p in inspect.signature(make).parameters.items() if name not in fixed}
        asked = [p.replace(default=defaults.get(name, p.default)) for name, p in stated.items()]
        own = [p for p in inspect.signature(command).parameters.values() if p.name != made]

        @wraps(command)
        def run(**given: Any) -> None:
            command(**{made: make(**{name: given.pop(name) for name in stated}, **fixed)}, **given)

        by_name = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *asked)]
        run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in by_name}
        return run

    return give


def _settings(
    clusters: Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters, or auto.")],
    epsilon: Epsilon,
    delta: Delta = 1e-6,
    unit: Unit = "point",
    method: MethodOption = "refined",
    lloyd_steps: Annotated[str, typer.Option("--lloyd-steps", help="A whole number, or auto.")] = "auto",
    radius: Annotated[float | None, typer.Option("--radius", help="Public bound on a point's norm. (default: the server data's)")] = None,
    box: Annotated[
        str | None, typer.Option("--box", help="Public smallest and largest value of the coordinates, as LOW,HIGH; instead of --radius.")
    ] = None,
    client_size: Annotated[
        int | None, typer.Option("--client-size", help="Public typical number of points per client (for --unit client).")
    ] = None,
    n_points: Annotated[int | None, typer.Option("--n-points", help="Public approximate number of points in total.")] = None,
    scale: Annotated[
        str,
        typer.Option("--scale", help="auto: columns of very different ranges get units of their own; columns: also many; off: none."),
    ] = "auto",
    max_clusters: Annotated[int, typer.Option("--max-clusters", help="Largest number of clusters tried with -k auto.")] = 30,
) -> Settings:
    """Return the settings that these options state; wrong values are refused by name, and an epsilon that protects nobody is said to."""
    settings = Settings(
        _number(clusters),
        epsilon,
        delta,
        privacy_unit=PrivacyUnit.parse(unit),
        method=MethodName.parse(method),
        lloyd_steps=_number(lloyd_steps),
        radius=radius,
        box=None if box is None else _box(box),
        client_size=client_size,
        n_points=n_points,
        max_clusters=max_clusters,
        scale=scale,
    )
    warn_of_weakness(settings.epsilon, settings.delta)
    return settings


def _clients(
    clients: Annotated[
        list[str], typer.Argument(help="One file per client: files, their folder or a pattern. Or one table with --client-column.")
    ],
) -> Where:
    """Return one place, or several files."""
    return clients[0] if len(clients) == 1 else tuple(clients)


def warn_of_weakness(epsilon: float, delta: float) -> None:
    """Log a warning if this budget protects nobody."""
    if weak := weakness(epsilon, delta):
        log.warning("WARNING: %s; 1 is a strong promise, 4 a weak one.", weak)


def _reading(
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Character between the cells of text files. (default: found in the header)")
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="Encoding of text files, such as latin-1. (default: UTF-8, or as a byte order mark says)"),
    ] = None,
    sheet: Annotated[
        str | None, typer.Option("--sheet", help="Sheet of Excel workbooks. (default: the one that is not empty, if there is only one)")
    ] = None,
) -> Reading:
    """Return how tables are read."""
    return Reading(delimiter, encoding, sheet)


def _stated(
    schema_file: Annotated[
        Path | None, typer.Option("--schema", help="What the columns hold: TOML or JSON, made by feddp encode or written by hand.")
    ] = None,
    ranges: Ranges = None,
    categories: Annotated[
        list[str] | None,
        typer.Option("--categories", metavar="NAME=WORD,WORD", help="Public words of a column: sex=female,male; may be repeated."),
    ] = None,
    ignore: Ignore = None,
) -> StatedColumns:
    """Return what these options say about columns."""
    schema = None if schema_file is None else str(schema_file)
    return StatedColumns(schema=schema, ranges=tuple(ranges or ()), categories=tuple(categories or ()), ignore=tuple(ignore or ()))


def _words(
    word_file: Annotated[Path | None, typer.Option("--list", help="Public list of words, one per line.")] = None,
    texts: Annotated[Path | None, typer.Option("--server", help="Public table with that column: its words are the list.")] = None,
    language: Annotated[str | None, typer.Option("--language", help="The common words of a language are the list: en, de, fr, ...")] = None,
    stop: Annotated[Path | None, typer.Option("--stop", help="Public words that are left out of the list, one per line.")] = None,
    longest: Annotated[int, typer.Option("--vocabulary", min=1, help="Words of the public table, or of the language, that are listed.")] = (
        WordList.longest
    ),
    most: Annotated[int, typer.Option("--most", min=1, help="Distinct words of a person, or of a row, that count.")] = MOST_COUNTED,
) -> WordList:
    """Return which words are counted."""
    return WordList(word_file, texts, language, stop, longest, most)


def limit_of(epsilon: float | None, delta: float) -> Limit | None:
    """Return the limit that these options state, None if there is none."""
    return None if epsilon is None else Limit(epsilon, delta)


def command_line() -> str:
    """Return the command line, to be written into the result."""
    return shlex.join(["feddp", *sys.argv[1:]])


def _number(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,400}", text) else text


def _box(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--box must be two numbers LOW,HIGH, got {text!r}.") from None
    return low, high
