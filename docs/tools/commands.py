"""The page "Commands" of the documentation, made of the program itself when the documentation is built (mkdocs calls ``on_files``)."""

import inspect
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from feddp_kmeans.cli.main import app

PAGE = "commands.md"

HEAD = """# Commands

Made from the program itself when this page was built: it is what `feddp COMMAND --help` says.

Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 finished and written in full but useless, 130 interrupted
([what each means](report.md)).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those that mkdocs builds."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """Return the page: every command with its arguments and options, in the order of ``feddp --help``."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="feddp")
    return "\n\n".join([HEAD.rstrip(), *(_section(group.get_command(context, name), name) for name in group.list_commands(context))]) + "\n"


def _section(command: Any, name: str) -> str:
    context = typer.Context(command, info_name=f"feddp {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## feddp {name}", f"```sh\n{usage}\n```", *_help(command)]
    for title, wanted in (("Arguments", "argument"), ("Options", "option")):
        rows = [_row(param, context) for param in command.params if param.param_type_name == wanted and not getattr(param, "hidden", False)]
        parts += [f"**{title}**", "\n".join(rows)] if rows else []
    return "\n\n".join(parts)


def _help(command: Any) -> list[str]:
    """Return the paragraphs of the help; examples become a block of code."""
    text, _, examples = inspect.cleandoc((command.help or "").replace("\b", "").replace("\f", "")).partition("Examples:\n")
    return [text.strip(), *([f"```sh\n{inspect.cleandoc(examples)}\n```"] if examples else [])]


def _row(param: Any, context: Any) -> str:
    """Return one line: the names of the option, what it takes, its default, and what it does."""
    kind = param.make_metavar(context) if param.param_type_name == "argument" else _value(param, context)
    names = kind.strip("[]") if param.param_type_name == "argument" else ", ".join([*param.opts, *param.secondary_opts])
    shown = names if param.param_type_name == "argument" or not kind else f"{names} {kind}"
    return f"- `{shown}`{_default(param)}: {' '.join((param.help or '').split())}"


def _default(param: Any) -> str:
    if param.required:
        return " (required)"
    given = param.default
    none = given is None or given is False or given == () or callable(given)
    return "" if none else f" (default `{getattr(given, 'value', given)}`)"


def _value(param: Any, context: Any) -> str:
    return "" if param.is_flag else str(param.make_metavar(context))


if __name__ == "__main__":
    print(page())
