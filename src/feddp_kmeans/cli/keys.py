"""``feddp keys``: the key pairs and the folder of a federation."""

from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError


def keys(
    folder: Annotated[Path | None, typer.Argument(help="Federation folder to make, on the server's machine.")] = None,
    host: Annotated[list[str] | None, typer.Option("--host", help="Name or address of the server for sites; may be given again.")] = None,
    port: Annotated[int, typer.Option("--port", help="The server's port.")] = options.PORT,
    site: Annotated[
        str | None, typer.Option("--site", help="Make NAME.key and NAME.pub here, on the machine with the site's data.")
    ] = None,
) -> None:
    """Make the keys of a federation: its folder on the server, or a site's key pair at the site.

    Examples:
      feddp keys federation/ --host server.example.org     # public/ goes to the sites, private/ stays
      feddp keys --site berlin                             # berlin.pub goes to the server, into public/sites/

    """
    from feddp_kmeans.network.deployment.keys import write_site_key
    from feddp_kmeans.network.deployment.kit import check_site_name, make_federation

    if (folder is None) == (site is None):
        raise InputError("feddp keys must be given either a folder with --host, or --site.")
    if site is not None:
        check_site_name(site)
        private, public = write_site_key(Path(), site)
        say(f"{private} stays here, and nobody else may read it; {public} goes to the server, into public/sites/ of its federation folder.")
    elif folder is not None:
        make_federation(folder, host or (), port)
        say(f"Put the .pub file of every site into {folder / 'public' / 'sites'}; then give {folder / 'public'} to the sites.")
        say(f"{folder / 'private'} never leaves this machine.")
