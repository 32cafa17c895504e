"""``feddp ask``: a question about finished clusters, in a file for the sites of a federation."""

from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import clustered_columns
from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.profile import names_of
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns
from feddp_kmeans.tables.word_lists import WordList


@options.takes_reading
@options.takes_words()
@options.takes_columns
def ask(
    reading: Reading,
    listed: WordList,
    stated: StatedColumns,
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    *,
    file: Annotated[Path, typer.Option("--out", help="File of the question.")],
    columns: Annotated[str | None, typer.Option("--columns", help="Columns to count: age,sex,region.")] = None,
    text: Annotated[str | None, typer.Option("--words", help="Column of text whose words are counted, instead of --columns.")] = None,
    force: options.Force = False,
) -> None:
    """Write a question about the clusters of a finished run: which columns, or which words, are counted in each. It asks nobody.

    The file goes to the sites, which read it and take part with it; then the server asks. All of it is public.

    Examples:
      feddp ask run/ --columns age,sex --range age=0:110 --categories sex=female,male --out question.json
      feddp join kit/ --key berlin.key --data berlin.csv --limit 2 --schema question.json
      feddp serve federation/ --about run/ --schema question.json --epsilon 0.5 --out answer/

    """
    from feddp_kmeans.cluster_texts import word_schema
    from feddp_kmeans.profiling import profile_schema
    from feddp_kmeans.report.finished_run import read_run
    from feddp_kmeans.tables.schema import Schema

    finished = read_run(made)
    check_new_file(file, force=force)
    if (columns is None) == (text is None):
        raise InputError("--columns or --words must be given, got both or neither.")
    if columns is not None:
        known = Schema(stated.fields()) if stated.fields() else Schema.read(stated.schema) if stated.schema else None
        schema = profile_schema(clustered_columns(finished), names_of(columns), known)
    else:
        assert text is not None
        schema = word_schema(clustered_columns(finished), text, listed.words(text, reading), listed.most)
    schema.write(file)
    say(f"Written to {file}. Sites take part with: feddp join ... --schema {file}")
    say(f"Then: feddp serve FOLDER --about {made} --schema {file} --epsilon ... --out ...")
