"""``feddp keys``: the key pairs and the folder of a federation."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import err, log, say
from feddp_kmeans.errors import InputError

if TYPE_CHECKING:
    from feddp_kmeans.network.deployment.kit import FederationFolder

_DAYS = "Days for which a site's key or the server's certificate is valid."
_PHRASE = "File with the passphrase of the authority's key. (default: asked for on a terminal)"
_RENEW = "Make a new certificate of the server with the same authority, or a new key of --site that the present one vouches for."
_RENEW_AUTHORITY = "Make a new authority; sites accept the present one as well."
_SIGN = "Sign the roster of this kit with --key, after its words were compared."


def keys(
    folder: Annotated[
        Path | None, typer.Argument(help="Federation folder to make or to work on; for --status and --revoke also a kit.")
    ] = None,
    host: Annotated[list[str] | None, typer.Option("--host", help="Name or address of the server for sites; may be given again.")] = None,
    port: Annotated[int, typer.Option("--port", help="The server's port.")] = options.PORT,
    site: Annotated[
        str | None, typer.Option("--site", help="Make NAME.key and NAME.pub here, on the machine with the site's data.")
    ] = None,
    days: Annotated[int, typer.Option("--days", help=_DAYS)] = 825,
    passphrase_file: Annotated[Path | None, typer.Option("--passphrase-file", help=_PHRASE)] = None,
    status: Annotated[bool, typer.Option("--status", help="Show all keys; exit status 1 if one has expired.")] = False,
    renew: Annotated[bool, typer.Option("--renew", help=_RENEW)] = False,
    renew_authority: Annotated[bool, typer.Option("--renew-authority", help=_RENEW_AUTHORITY)] = False,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="SITE", help="Do not accept this site's key any more.")] = None,
    sign: Annotated[Path | None, typer.Option("--sign", metavar="KIT", help=_SIGN)] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The site's private key, to --sign with.")] = None,
) -> None:
    """Make the keys of a federation: its folder on the server, or a site's key pair at the site; show, sign, renew and revoke them.

    Examples:
      feddp keys federation/ --host server.example.org     # public/ goes to the sites, private/ stays
      feddp keys --site berlin                             # berlin.pub goes to the server, into public/sites/
      feddp keys federation/ --status                      # words to compare, and how long each key is valid
      feddp keys --sign kit/ --key berlin.key              # agree to who is in the federation

    """
    if sum(given is not None for given in (folder, site, sign)) != 1:
        raise InputError("feddp keys must be given either a folder with --host, or --site, or --sign.")
    if sum((status, renew, renew_authority, revoke is not None)) > 1:
        raise InputError("feddp keys must be given one of --status, --renew, --renew-authority and --revoke, got several.")
    if folder is None and (status or renew_authority or revoke is not None or (renew and site is None)):
        raise InputError("--status, --renew-authority and --revoke must be given with a folder, and --renew with a folder or --site.")
    if sign is not None:
        _sign(sign, key)
    elif site is not None:
        _make_site(site, days, renew=renew)
    elif folder is not None and status:
        _show(folder)
    elif folder is not None and revoke is not None:
        _revoke(folder, revoke)
    elif folder is not None and (renew or renew_authority):
        _renew(folder, passphrase_file, days, authority=renew_authority)
    elif folder is not None:
        _make_folder(folder, host or (), port, passphrase_file, days)


def _make_folder(folder: Path, hosts: Sequence[str], port: int, passphrase_file: Path | None, days: int) -> None:
    from feddp_kmeans.network.deployment.kit import check_new, make_federation

    check_new(folder, hosts, port)
    made = make_federation(folder, hosts, port, _new_passphrase(passphrase_file), days)
    say(f"Put the .pub file of every site into {folder / 'public' / 'sites'}; then give {folder / 'public'} to the sites.")
    say(f"{made.key.parent} never leaves this machine. The words of the roster: feddp keys {folder} --status")


def _renew(folder: Path, passphrase_file: Path | None, days: int, *, authority: bool) -> None:
    from feddp_kmeans.network.deployment.kit import find_federation

    found = find_federation(folder)
    passphrase = _known_passphrase(found, passphrase_file)
    if authority:
        found.renew_authority(passphrase)
        say(f"There is a new authority. Give {found.kit.folder} to all sites, which read it when they connect next.")
        say(f"Once they are: feddp keys {folder} --renew")
    else:
        found.renew(passphrase, days)
        say("The server has a new certificate. It is used from the next feddp serve on; sites need nothing new.")


def _revoke(folder: Path, name: str) -> None:
    from feddp_kmeans.network.deployment.kit import find_kit

    kit = find_kit(folder)
    kit.revoke(name)
    say(f"{name} is revoked from the next run on. Sites refuse its key as soon as they have {kit.folder} as it is now.")


def _make_site(name: str, days: int, *, renew: bool) -> None:
    from feddp_kmeans.network.deployment.keys import renew_site_key, write_site_key
    from feddp_kmeans.network.site_key import read_site_key

    if renew:
        private, public, kept = renew_site_key(Path(), name, days)
        say(f"{kept} is the earlier key: use it until the server has {public}, then remove it.")
    else:
        private, public = write_site_key(Path(), name, days)
    say(f"{private} stays here, and nobody else may read it; {public} goes to the server, into public/sites/ of its federation folder.")
    say(f"The words of {name}'s key: {read_site_key(public).words}")


def _sign(kit: Path, key: Path | None) -> None:
    from feddp_kmeans.network.deployment.key_status import roster_lines
    from feddp_kmeans.network.deployment.kit import find_kit
    from feddp_kmeans.network.deployment.signatures import sign_roster
    from feddp_kmeans.network.secure_sum.identity import load_identity

    if key is None:
        raise InputError("--sign must be given with --key, the site's private key.")
    found = find_kit(kit)
    path = sign_roster(found, load_identity(key))
    for line in roster_lines(found.roster()):
        say(line)
    say(f"Signed. If another site has other words, delete {path}; else it goes to the server, into public/signatures/.")


def _show(folder: Path) -> None:
    from feddp_kmeans.network.deployment.key_status import key_lines
    from feddp_kmeans.network.deployment.kit import find_federation, find_kit
    from feddp_kmeans.network.deployment.signatures import signers

    kit = find_kit(folder)
    lines = key_lines(kit, None if kit.folder == folder else find_federation(folder))
    roster = kit.roster()
    for line in lines:
        say(line.text)
    say(f"roster of {len(roster.sites)} sites: {roster.words}; signed by {', '.join(signers(kit, roster)) or 'nobody'}")
    if any(line.expired for line in lines):
        raise typer.Exit(1)


def _known_passphrase(server: "FederationFolder", file: Path | None) -> bytes | None:
    """Return the passphrase of a key that has one."""
    from feddp_kmeans.network.deployment.keys import is_encrypted

    if file is None and is_encrypted(server.authority_key) and _on_a_terminal():
        return str(typer.prompt("Passphrase of the authority's key", hide_input=True, err=True)).encode()
    return None if file is None else _passphrase_in(file)


def _new_passphrase(file: Path | None) -> bytes | None:
    """Return a passphrase for a new key, or None with a warning."""
    if file is not None:
        return _passphrase_in(file)
    asked = "A passphrase for the authority's key (empty: none)"
    if _on_a_terminal() and (given := typer.prompt(asked, "", hide_input=True, confirmation_prompt=True, show_default=False, err=True)):
        return str(given).encode()
    log.warning("ca.key is not encrypted: whoever reads it can pose as the server. --passphrase-file encrypts it.")
    return None


def _passphrase_in(file: Path) -> bytes:
    from feddp_kmeans.network.secure_sum.identity import private_bytes

    if not (found := private_bytes(file, "a file with a passphrase").rstrip(b"\r\n")):
        raise InputError(f"{file.name} must hold a passphrase, got an empty file.")
    return found


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and err.is_terminal
