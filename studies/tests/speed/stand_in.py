"""A stand-in for the authors' repository: a script of ours with its layout, its arguments and the results that it keeps."""

CONFIG = "dim: 4\nK: 2\nnum_train_clients: 3\nouter_product_clipping_bound: 5\n"

RUN = """
import argparse
from types import SimpleNamespace

import numpy as np

import pfl


def make_data(args):
    rng = np.random.RandomState(0)
    points = (rng.standard_normal((300, args.dim)) + 4 * rng.randint(0, 2, (300, 1))).astype(np.float32)
    server = points[:20].astype(np.float64)
    return None, None, SimpleNamespace(raw_data=(server,)), [SimpleNamespace(raw_data=(points, None))]


def post_evaluation(results, args, model, data, when, mechanisms, times, rates, verbose):
    results[when] = {"Privacy cost": (2.0, 1e-6)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--args_config")
    for name in ("dim", "K", "num_train_clients", "num_val_clients", "outer_product_clipping_bound"):
        parser.add_argument(f"--{name}", type=int)
    args = parser.parse_args()
    for line in open(args.args_config).read().splitlines():
        name, value = line.split(": ")
        setattr(args, name, int(value))
    _, _, server, central = make_data(args)
    FAILS
    np.random.seed(1)
    np.random.normal(loc=0, scale=50.0, size=(args.dim, args.dim))
    np.random.laplace(loc=0, scale=2.0, size=20)
    sums, counts = central[0].raw_data[0][:2] * 100, np.full(2, 100.0)
    np.random.seed(SEED)
    sums = sums + np.random.normal(loc=0, scale=10.0, size=(args.K, args.dim))
    np.random.seed(2)
    counts = counts + np.random.laplace(loc=0, scale=4.0, size=args.K)
    results, model = {}, SimpleNamespace(initial_centers=sums / counts[:, None])
    post_evaluation(results, args, model, central, "Initialization", [], [], [], True)
    post_evaluation(results, args, model, central, "Clustering", [], [], [], True)
    raise AssertionError("what follows is no part of a private run")


if __name__ == "__main__":
    main()
"""


def stand_in(folder, *, pfl=True, fails="", seed=2):
    """Write the stand-in; ``fails`` is a statement that it makes instead of a run, ``seed`` that of the sums (the counts have 2)."""
    (folder / "configs").mkdir(parents=True)
    (folder / "configs" / "gaussians_data_privacy.yaml").write_text(CONFIG)
    (folder / "run.py").write_text(RUN.replace("FAILS", fails or "pass").replace("SEED", str(seed)))
    if pfl:
        (folder / "pfl.py").write_text("")
    return folder
