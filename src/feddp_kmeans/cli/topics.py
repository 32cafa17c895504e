"""``feddp topics``: from people's texts to private topics with names."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from feddp_kmeans._files import write_whole
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import AfterRun
from feddp_kmeans.cli.budget import odometer_of, table_of
from feddp_kmeans.cli.folders import RELEASES, check_no_client, kept_run
from feddp_kmeans.cli.show import USELESS, new_table
from feddp_kmeans.cli.terminal import out, say, show_log
from feddp_kmeans.federation.recorded import RecordedFederation, read_record
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.word_lists import WordList

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.cluster_words import ClusterWords
    from feddp_kmeans.algorithm.prepare import Prepared
    from feddp_kmeans.text_tables import TextTables

TOPICS = "topics.json"
_PUBLIC = 5000
"""Public texts that the method is given as server data."""


@options.takes_settings({"unit": "client"}, method="refined", radius=None, box=None, scale="off", n_points=None)
@options.takes_reading
@options.takes_words(texts=None)
def topics(
    settings: Settings,
    reading: Reading,
    listed: WordList,
    clients: Annotated[str, typer.Argument(help="One file per client: their folder or a pattern. Or one table with --client-column.")],
    column: Annotated[str, typer.Option("--text", help="The column of text.")],
    server: Annotated[Path, typer.Option("--server", help="Public table with that column, from elsewhere: its words are the list.")],
    folder: options.RunFolder,
    how: Annotated[
        str,
        typer.Option(
            "--embed", help="tfidf, learnt from the public texts; sentence-transformers/MODEL; or MODULE:FUNCTION from texts to vectors."
        ),
    ] = "tfidf",
    vectors: Annotated[str | None, typer.Option("--vectors", help="Column of both tables with vectors that are made already.")] = None,
    client_column: options.ClientColumn = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the topics of people's texts privately: cluster their vectors, count listed words in each, and name the topics by them.

    Half of the budget is for the clusters, half for the words; both runs are booked. If interrupted, run the same command again: nothing
    is paid twice.

    Exit status: 0 done, 1 refused, 3 written, but noise hides the topics, or all words.

    Examples:
      feddp topics questions.parquet --client-column user --text title --server public.csv -k 10 --epsilon 4 --out topics/
      feddp topics notes/ --text note --embed my_model:embed --server public.csv -k auto --epsilon 4 --out topics/

    """
    from feddp_kmeans.privacy.accounting import shares_of_total
    from feddp_kmeans.questions import Question, question_plan
    from feddp_kmeans.report.about import WORDS, read_told
    from feddp_kmeans.report.finished_run import read_result, read_run
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.report.spent import spent_so_far
    from feddp_kmeans.report.topic_page import nearest_texts, render_topics, topics_of
    from feddp_kmeans.text_tables import TextTables

    show_log(quiet=quiet)
    check_no_client(clients, folder)
    done = (folder / "result.json").exists() and not force
    check_folder(folder, force=force or (done and not (folder / TOPICS).exists()))
    if listed.file is None and listed.language is None:
        listed = replace(listed, texts=server)
    tables = TextTables.open(clients, server, column, client_column, how, vectors, listed, reading)
    epsilon = shares_of_total(settings.epsilon, settings.delta, [0.5, 0.5])[0]
    books = Books(odometer_of(clients, odometer), options.limit_of(limit, limit_delta), options.command_line(), table_of(clients))
    prepared = _prepared(tables, settings, epsilon)
    if force or not (done or read_record(folder / RELEASES)):  # before anything is replaced
        at_most = {"n_clients": tables.both.n_clients, "k": settings.largest_k}
        books.check(prepared.plan, question_plan(tables.schema, settings.unit, epsilon, settings.delta, **at_most), secure=seed is None)
    if force:
        _empty(folder)
    if not done:
        _cluster(tables, prepared, folder, books, seed, quiet=quiet)
    question, result = Question(tables.schema, read_run(folder), settings.unit), read_result(folder)
    if (words := read_told(folder / WORDS, result)) is None:
        more = (epsilon, settings.delta, limit, limit_delta, odometer, seed)
        after = AfterRun(folder, clients, *more, force=True, as_json=False, quiet=True, reading=reading)
        plan = question.plan(epsilon, settings.delta, tables.both.n_clients)
        words = after.carry_out(tables.both, plan, folder / WORDS, question.found_words, _nothing).to_dict()
    found = topics_of(result, words, nearest_texts(question.finished.centers, tables.public, tables.texts))
    page = render_topics(result, found, spent_so_far(books.odometer, prepared.plan))
    write_whole(folder / "topics.html", page.encode(errors="replace"))
    text = json.dumps({"format": 1, "topics": found}, indent=2, allow_nan=False, ensure_ascii=False)
    write_whole(folder / TOPICS, (text + "\n").encode(errors="replace"))
    if as_json:
        typer.echo(text)
    elif not quiet:
        _show(found, folder)
    if result.get("useless") or not any(topic["words"] for topic in found):
        say("Noise hides the topics, or all of their words: a larger epsilon would help, or more people.")
        raise typer.Exit(USELESS)


def _empty(folder: Path) -> None:
    """Remove an earlier run, finished or not."""
    from feddp_kmeans.report.about import WORDS

    for name in (RELEASES, f"{WORDS}.run"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("result.json", WORDS, TOPICS):
        (folder / name).unlink(missing_ok=True)


def _prepared(tables: "TextTables", settings: Settings, epsilon: float) -> "Prepared":
    """Return the plan of the clusters: some of the public texts are the server data."""
    from feddp_kmeans.algorithm.prepare import prepare

    points = tables.public[np.isfinite(tables.public).all(axis=1)]
    server = points[np.sort(np.random.default_rng(0).permutation(len(points))[:_PUBLIC])]
    return prepare(replace(settings, epsilon=epsilon, radius=1.0), server, tables.vectors.n_clients, tables.vectors.dimension)


def _cluster(tables: "TextTables", prepared: "Prepared", folder: Path, books: Books, seed: int | None, *, quiet: bool) -> None:
    """Cluster the vectors and write the result; go on where an earlier try stopped."""
    from feddp_kmeans.algorithm import clustering
    from feddp_kmeans.report.result import result_dict, write_result
    from feddp_kmeans.report.spent import spent_so_far

    recorded = RecordedFederation(tables.vectors, folder / RELEASES)
    recorded.books = books
    with kept_run(recorded, prepared.plan, seed, folder, f"--out {folder}", quiet=quiet) as run:
        found = clustering.carry_out(run, prepared)
        spent = spent_so_far(books.odometer, prepared.plan)
        made = result_dict(found, columns=tables.schema.clustered, seed=seed, command=books.what, spent=spent)
        write_result(folder, made)


def _nothing(_: "ClusterWords") -> None:
    """Show nothing: the topics are shown instead."""


def _show(found: list[dict[str, Any]], folder: Path) -> None:
    from rich.markup import escape

    table = new_table("Topics", "topic", "size", "share")
    table.add_column("words", justify="left")
    table.add_column("a public text near it", justify="left")
    for topic in found:
        size = "-" if topic["size"] is None else f"{topic['size']:,.0f} ± {2 * (topic['size_error'] or 0):,.0f}"
        words = ", ".join(one["word"] for one in topic["words"][:5]) or "-"
        table.add_row(str(topic["topic"]), size, f"{topic['share']:.0%}", escape(words), escape((topic["public_texts"] or ["-"])[0][:60]))
    out.print(table)
    say(f"Written to {folder}: topics.html, topics.json, words.json, result.json, report.html.")
