"""Wrong usage of a command in one line that says what to type instead."""

import shlex
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

ERRORS: Any = import_module(typer.BadParameter.__module__)
"""Errors of usage: those of click, or of the copy of it that newer versions of typer have inside."""

_MISSING = {
    "clusters": ("-k must be given, the number of clusters or auto", ("-k", "5")),
    "epsilon": ("--epsilon must be given, the privacy budget: 1 is a strong promise, 4 a weak one", ("--epsilon", "1")),
    "clients": ("CLIENTS must be given: a table, a folder of tables, or a pattern in quotes such as 'clients/*.csv'", ()),
}
"""Options that everyone has to decide on, and examples of them."""


def usage_line(error: Any, arguments: Sequence[str]) -> str:
    """Return what is wrong with a command line, and a command that works or the page of help for it."""
    told = error.format_message().rstrip(".")
    if not isinstance(error, ERRORS.UsageError) or error.ctx is None:
        return f"{told}."
    help_page = f"Try: {error.ctx.command_path} --help"
    if isinstance(error, ERRORS.MissingParameter) and error.param is not None and error.param.name in _MISSING:
        told, example = _MISSING[error.param.name]
        if error.param.name == "clusters" and not any(word.startswith("--epsilon") for word in arguments):
            example = (*example, *_MISSING["epsilon"][1])
        return f"{told}. " + (f"For example: {shlex.join(['feddp', *arguments, *example])}" if example else help_page)
    if told.startswith("Got unexpected extra argument") and any(Path(word).exists() for word in arguments):
        if not any(one.param_type_name == "argument" for one in error.ctx.command.params):
            return f"{told}: {error.ctx.command_path} takes options only, and reads no data. {help_page}"
        return f"{told}: several files are given as a pattern in quotes, such as 'clients/*.csv', or as their folder. {help_page}"
    return f"{told}{'' if told.endswith('?') else '.'} {help_page}"


def missing_argument(name: str) -> Exception:
    """Return the error of a command that was given too few arguments."""
    context = import_module(f"{ERRORS.__package__}.globals").get_current_context()
    made: Exception = ERRORS.UsageError(f"Missing argument '{name}'.", context)
    return made
