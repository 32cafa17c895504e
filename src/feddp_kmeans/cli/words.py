"""``feddp words``: which words set the clusters of a finished run apart."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import AfterRun, asked_federation, clustered_columns
from feddp_kmeans.cli.show import USELESS, new_table
from feddp_kmeans.cli.terminal import out, say
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.word_lists import WordList

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.cluster_words import ClusterWords


@options.takes_reading
@options.takes_words()
def words(
    reading: Reading,
    listed: WordList,
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    clients: Annotated[str, typer.Argument(help="A folder or pattern with one file per client, or one table.")],
    column: Annotated[str, typer.Option("--column", help="The column of text.")],
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    client_column: options.ClientColumn = None,
    skip_broken: options.SkipBroken = False,
    engine: options.InEngine = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    path: Annotated[Path | None, typer.Option("--out", help="File of the words. (default: words.json in the run's folder)")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell which words set the clusters of a finished run apart, and name the clusters by them.

    Only words of a public list can ever appear: a file of words, those of a public table, or the common ones of a language. It is a small
    run of its own, booked like a fit, and protects what the fit protected. If interrupted, run the same command again: it continues where
    it stopped.

    Exit status: 0 done, 1 refused, 3 written, but no word stands out from noise.

    Examples:
      feddp words run/ questions.csv --column title --server public.csv --epsilon 2
      feddp words run/ notes.csv --column note --language de --epsilon 2

    """
    from feddp_kmeans.cluster_texts import word_schema
    from feddp_kmeans.questions import Question

    after = AfterRun(made, clients, epsilon, delta, limit, limit_delta, odometer, seed, force, as_json, quiet, reading)
    finished, unit = after.begin()
    schema = word_schema(clustered_columns(finished), column, listed.words(column, reading), listed.most)
    question = Question(schema, finished, unit)
    target = after.path(path, question.file)
    federation = asked_federation(clients, question.schema, client_column, engine, skip_broken=skip_broken, reading=reading)
    found = after.carry_out(federation, question.plan(epsilon, delta, federation.n_clients), target, question.found_words, _show)
    if not any(found.words):
        say("No word stands out from noise: a larger epsilon would help, or a shorter list.")
        raise typer.Exit(USELESS)


def _show(found: "ClusterWords") -> None:
    table = new_table("Words that set clusters apart", "cluster", "name", "words (count, times as frequent as in all)")
    for number, (name, cluster) in enumerate(zip(found.names, found.words, strict=True)):
        told = ", ".join(f"{word.word} ({word.count:,.0f}, {word.lift:.1f})" for word in cluster)
        table.add_row(str(number), escape(name), escape(told))
    out.print(table)
