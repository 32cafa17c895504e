"""feddp audit: files, words and exit status."""

import json

import pytest

from feddp_kmeans.privacy import mechanism, noise
from tests.cli.command import feddp, feddp_process

SMALL = ("audit", "--method", "paper", "--runs", "20", "--seed", "1", "--settings-only")


def test_an_audit_in_two_processes_writes_verdict_and_picture(tmp_path):
    done = feddp_process(*SMALL, "--jobs", "2", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Not refuted: epsilon 8" in done.stdout
    assert "never prove one" in " ".join(done.stdout.split())
    found = json.loads((tmp_path / "audit.json").read_text())
    assert found["refuted"] is False
    assert list(found["verdicts"]) == ["outer product", "weights", "sums", "counts", "whole runs"]
    assert found["failure_chance"] <= 1e-4
    assert (tmp_path / "roc.svg").read_text().startswith("<svg")


def test_a_refuted_claim_is_exit_status_one_and_names_what_is_wrong(tmp_path, monkeypatch):
    honest = noise.discrete_gaussian
    monkeypatch.setattr(mechanism, "discrete_gaussian", lambda stream, sigma, size: honest(stream, sigma / 4, size))
    done = feddp(*SMALL, "--jobs", "1", "--release", "sums", "--out", tmp_path)
    assert done.returncode == 1
    assert "REFUTED" in done.stdout
    assert "noise has the stated law? No:" in done.stdout
    assert json.loads((tmp_path / "audit.json").read_text())["refuted"] is True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--release", "nothing"), "release must be one of ['outer product'"),
        (("--runs", "5"), "runs must be at least 20, got 5."),
        (("--epsilon", "inf"), "epsilon must be finite to be audited, got inf."),
        (("--dimension", "0"), "dimension must be at least 1, got 0."),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_line(options, words, tmp_path):
    done = feddp("audit", "--method", "paper", *options, "--out", tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
