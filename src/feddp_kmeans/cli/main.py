"""The ``feddp`` command: all its commands, and their exit status.

Each command has its own file. Heavy libraries are imported when a command runs, so that help and small commands start fast.
"""

import atexit
import gc
import sys
from typing import Annotated, Any

import typer

from feddp_kmeans import __version__, plugins
from feddp_kmeans.cli.ask import ask
from feddp_kmeans.cli.audit import audit
from feddp_kmeans.cli.budget import budget
from feddp_kmeans.cli.choose_k import choose_k
from feddp_kmeans.cli.demo import demo
from feddp_kmeans.cli.encode import encode
from feddp_kmeans.cli.evaluate import evaluate
from feddp_kmeans.cli.export_app import export_app
from feddp_kmeans.cli.fit import fit
from feddp_kmeans.cli.folders import INTERRUPTED
from feddp_kmeans.cli.join import join
from feddp_kmeans.cli.keys import keys
from feddp_kmeans.cli.knots import knots
from feddp_kmeans.cli.plan import plan
from feddp_kmeans.cli.predict import predict
from feddp_kmeans.cli.profile import profile
from feddp_kmeans.cli.report import report
from feddp_kmeans.cli.sample import sample
from feddp_kmeans.cli.serve import serve
from feddp_kmeans.cli.simulate import simulate
from feddp_kmeans.cli.terminal import complain, log_shown, out
from feddp_kmeans.cli.topics import topics
from feddp_kmeans.cli.usage import ERRORS, usage_line
from feddp_kmeans.cli.words import words
from feddp_kmeans.errors import FedDPError, InputError, without_text

UNFORESEEN = 70

atexit.register(gc.freeze)  # a last search for garbage among all modules takes half a second: fifty sites on two cores would end late


class _Commands(typer.core.TyperGroup):
    """The commands of ``feddp``; for a command of a distribution that is not installed, it says how to install it."""

    def get_command(self, ctx: Any, name: str) -> Any:
        found = super().get_command(ctx, name)
        if found is None and (advice := plugins.advice(plugins.COMMANDS, name)):
            raise InputError(f"command must be an installed one, got {name!r}. {advice}")
        return found


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Private federated k-means.\n\nFirst steps: feddp demo. Then: feddp fit clients/ -k 10 --epsilon 1 --out run/",
)
for _command in (
    demo,
    plan,
    fit,
    choose_k,
    keys,
    serve,
    join,
    simulate,
    export_app,
    encode,
    knots,
    predict,
    profile,
    words,
    topics,
    ask,
    sample,
    evaluate,
    budget,
    report,
    audit,
):
    app.command()(_command)
for _name in plugins.names(plugins.COMMANDS):
    app.command(_name)(plugins.load(plugins.COMMANDS, _name))


def main() -> None:
    """Run the command. Our own errors become one line and exit status 1, wrong usage one line and status 2, Ctrl-C status 130.

    Status 3 means that fit, serve or simulate finished and wrote the result in full, but that it is useless: the noise hides the clusters;
    or that knots finished, and a column has none.
    Any other error is also one line, with exit status 70: its text or a traceback could quote private data.
    """
    try:
        with log_shown():
            sys.exit(app(prog_name="feddp", standalone_mode=False) or 0)
    except ERRORS.NoArgsIsHelpError as error:  # the help is printed already
        sys.exit(error.exit_code)
    except ERRORS.ClickException as error:
        complain(usage_line(error, sys.argv[1:]))
        sys.exit(error.exit_code)
    except FedDPError as error:
        complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        complain("interrupted; nothing half-written is left.")
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - no traceback, whatever it is
        complain(f"unexpected error: {without_text(error)}.")
        sys.exit(UNFORESEEN)


def _version(asked: bool) -> None:
    if asked:
        out.print(f"feddp {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    pass
