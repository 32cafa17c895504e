"""Runs the paper's published code and writes down what it did: its data, its noise, its centers and its time.

A script for the published code's own Python, which has no package of ours: ``published_hooks.py REPOSITORY FOLDER ARGUMENTS...``. The run
is that of its ``run.py``; it ends when the private centers are known.
"""

import hashlib
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

DATA, FACTS = "data.npz", "facts.json"


class PublishedWatch:
    """Adds up the seconds while it runs, and notes the noise that numpy draws."""

    def __init__(self) -> None:
        self.draws: list[dict[str, Any]] = []
        self.seconds = {"cpu_seconds": 0.0, "seconds": 0.0}
        self._since: dict[str, float] = {}

    def start(self) -> None:
        """Go on."""
        self._since = {"cpu_seconds": time.process_time(), "seconds": time.perf_counter()}

    def stop(self) -> None:
        """Pause."""
        now = {"cpu_seconds": time.process_time(), "seconds": time.perf_counter()}
        self.seconds = {name: value + now[name] - self._since[name] for name, value in self.seconds.items()}

    def note(self, law: str) -> None:
        """Note each draw of this law from now on: its scale, its shape, and the state of the generator before it."""
        draw = getattr(np.random, law)

        def noted(loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
            state: Any = np.random.get_state()  # noqa: NPY002 - the generator that the published code uses
            before = hashlib.sha256(state[1].tobytes() + str(state[2:]).encode()).hexdigest()
            drawn = draw(loc, scale, size)
            self.draws.append({"law": law, "scale": float(scale), "shape": list(np.shape(drawn)), "state": before})
            return drawn

        setattr(np.random, law, noted)


def main() -> None:
    """Run what the command line names."""
    repository, folder = Path(sys.argv[1]), Path(sys.argv[2])
    # Its imports are found where ``python run.py`` finds them, and none next to this file.
    sys.argv, sys.path[0] = ["run.py", *sys.argv[3:]], str(repository)
    published: Any = importlib.import_module("run")
    make_data, evaluate, watch = published.make_data, published.post_evaluation, PublishedWatch()

    def data_made(arguments: Any) -> Any:
        made = make_data(arguments)
        np.savez(folder / DATA, points=made[3][0].raw_data[0], server_points=made[2].raw_data[0])
        for law in ("normal", "laplace"):
            watch.note(law)
        watch.start()
        return made

    def evaluated(results: Any, arguments: Any, model: Any, data: Any, when: str, *others: Any) -> None:
        watch.stop()
        evaluate(results, arguments, model, data, when, *others)
        if when == "Clustering":
            epsilon, delta = results[when]["Privacy cost"]
            stated = {"epsilon": float(epsilon), "delta": float(delta), "arguments": vars(arguments)}
            centers = np.asarray(model.centers if hasattr(model, "centers") else model.initial_centers).tolist()
            (folder / FACTS).write_text(json.dumps(watch.seconds | stated | {"centers": centers, "draws": watch.draws}), encoding="utf-8")
            raise SystemExit
        watch.start()

    published.make_data, published.post_evaluation = data_made, evaluated
    published.main()


if __name__ == "__main__":
    main()
