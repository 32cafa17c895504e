"""Texts to vectors: by sentence-transformers, or by a function that the user names. Kept on disk, so that no text is embedded twice."""

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._files import npy_bytes, write_whole
from feddp_kmeans._typing import Array
from feddp_kmeans.errors import FedDPError, InputError

Embed = Callable[[list[str]], Any]
"""Takes a list of texts and gives an array with a row for each."""

MODEL = "all-MiniLM-L6-v2"
"""The paper's model, for sentence-transformers."""

PART = 10_000
"""Texts that are embedded at a time."""


def named_embed(name: str) -> Embed:
    """Return the function ``module:function``, also of a module in the current folder, or, for ``MODEL``, that of sentence-transformers."""
    if name == MODEL:
        return default_embed()
    module, _, function = name.partition(":")
    if not module or not function:
        raise InputError(f"--embed must be written as module:function, got {name!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        embed: Embed = getattr(importlib.import_module(module), function)
    except Exception as error:  # noqa: BLE001 - a module may raise anything
        raise InputError(f"--embed must name a function that can be imported, got {name!r} ({type(error).__name__}: {error}).") from None
    finally:
        sys.path.pop(0)
    return embed


def default_embed() -> Embed:
    """Return the function of sentence-transformers that the paper uses."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            "embed (--embed module:function) must be given, or install sentence-transformers (pip install 'feddp-studies[stackoverflow]')."
        ) from None
    encode: Embed = SentenceTransformer(MODEL).encode
    return encode


def embedded(texts: Sequence[str], embed: Embed) -> Array:
    """Return a row for each text, as 32-bit numbers."""
    try:
        vectors = np.asarray(embed(list(texts)), dtype=np.float32)
    except FedDPError:
        raise
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        raise InputError(f"embed must give a row of numbers for each text, got {type(error).__name__}: {error}.") from None
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise InputError(f"embed must give a finite row for each of {len(texts)} texts, got shape {vectors.shape} or an infinite value.")
    return vectors


def embedded_in_parts(texts: Sequence[str], embed: Embed, folder: Path, say: Callable[[str], None]) -> Array:
    """Return the same. Each part is written to this folder when it is made, and read if it is there; ``say`` gets a line for each."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(texts), PART):
        end = min(start + PART, len(texts))
        path = folder / f"{start}-{end}.npy"
        if not path.exists():
            write_whole(path, npy_bytes(embedded(texts[start:end], embed)))
            say(f"{folder.stem}: {end:,} of {len(texts):,} texts embedded")
        parts.append(np.load(path, allow_pickle=False))
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError(f"embed must give rows of one length, got {sorted({part.shape[1] for part in parts})}.")
    return np.concatenate(parts)
