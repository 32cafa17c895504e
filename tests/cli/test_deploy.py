"""The commands of a federation, as far as they go without one."""

import errno
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.cli.main import main
from feddp_kmeans.network.deployment import join, serve, simulate
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.network.wire import pack
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.cli.command import command_in
from tests.report.examples import made_result

BAD = ("nan", "-1.0")
SERVE = ["serve", "--insecure", "-k", 3, "--box", "0,1", "--out", "run"]


@pytest.fixture
def feddp(tmp_path, monkeypatch, capsys):
    """Return what runs a command in a folder of its own: its exit status and what it said."""
    return command_in(tmp_path, monkeypatch, capsys)


def test_keys_are_made_for_the_server_and_for_a_site(feddp, tmp_path):
    status, said = feddp("keys", "federation", "--host", "server.example.org", "--host", "10.0.0.1")
    assert status == 0
    assert "private never leaves this machine" in said
    assert (tmp_path / "federation" / "public" / "ca.crt").exists()
    status, said = feddp("keys", "--site", "berlin")
    assert status == 0
    assert "berlin.pub goes to the server" in said
    assert (tmp_path / "berlin.key").exists()


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["keys"], "either a folder with --host, or --site"),
        (["keys", "new", "--site", "a"], "either a folder with --host, or --site"),
        (["keys", "new"], "--host must be given"),
        (["keys", "--site", "../x"], "a site's name must be"),
        (["serve", "-k", 3, "--epsilon", 1, "--out", "run"], "either a federation folder or --insecure"),
        (
            ["serve", "nowhere", "-k", 3, "--epsilon", 1, "--out", "run"],
            "must be in the public/ folder of a federation, as feddp keys wrote it",
        ),
        (["serve", "--insecure", "-k", 3, "--epsilon", -1, "--out", "run"], "epsilon must be"),
        (["serve", "--insecure", "-k", 3, "--epsilon", 1, "--out", "run", "--trust", "me"], "trust must be"),
        (["join", "--data", "x.csv", "--limit", 1], "must be given the federation's kit and --key"),
        (["join", "kit", "--key", "k", "--data", "x.csv", "--limit", 1], "must be in the public/ folder"),
        (["join", "kit", "--insecure", "127.0.0.1:1", "--data", "x.csv", "--limit", 1], "--insecure must be given without a kit"),
        *(
            (["join", "--insecure", "127.0.0.1:1", "--data", "x.csv", "--limit", n], f"limit must be a positive epsilon, got {n}")
            for n in BAD
        ),
        (["join", "--insecure", "127.0.0.1:1", "--data", "x.csv", "--limit", 1, "--delta", "nan"], "must be between 0 and 1, got nan"),
        *(([*SERVE, "--epsilon", n], f"epsilon must be positive, got {n}") for n in BAD),
        *(([*SERVE, "--epsilon", 1, "--wait", n], f"wait must be at least 0 and finite, in seconds, got {n}") for n in (*BAD, "inf")),
        *(
            ([*SERVE, "--epsilon", 1, "--round-timeout", n], f"round_timeout must be at least 0.1 and finite, in seconds, got {n}")
            for n in BAD
        ),
        (["simulate", "nowhere", "-k", 3, "--epsilon", 1, "--out", "run"], "clients must exist, got 'nowhere'"),
    ],
)
def test_what_is_wrong_with_a_command_is_said_in_one_line(feddp, arguments, rule):
    status, said = feddp(*arguments)
    assert status == 1
    assert rule in said


def test_a_key_that_the_kit_does_not_know_ends_with_one_clear_line(feddp):
    feddp("keys", "federation", "--host", "127.0.0.1")
    feddp("keys", "--site", "stranger")
    status, said = feddp("join", "federation/public", "--key", "stranger.key", "--data", "x.csv", "--limit", 1)
    assert status == 1
    assert said == ("feddp: --key must belong to a site of this federation; the server has to put its .pub file into public/sites first.")


def test_data_that_cannot_be_read_end_a_join_before_it_connects(feddp):
    status, said = feddp("join", "--insecure", "127.0.0.1:1", "--data", "nowhere.csv", "--limit", 1)
    assert status == 1
    assert "got 'nowhere.csv', where there is no file" in said


@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        ([], Policy(PrivacyUnit.POINT, 2.0, min_sites=2)),
        (["--unit", "client", "--delta", "1e-7"], Policy(PrivacyUnit.CLIENT, 2.0, 1e-7, min_sites=2)),
        (["--limit-delta", "1e-7"], Policy(PrivacyUnit.POINT, 2.0, 1e-7, min_sites=2)),
        (["--colluders", 3, "--confirmed"], Policy(PrivacyUnit.POINT, 2.0, min_sites=2, colluders=3, confirmed=True)),
        (["--min-sites", 5, "--threshold", 4], Policy(PrivacyUnit.POINT, 2.0, min_sites=5, threshold=4)),
        (["--allow-aggregator"], Policy(PrivacyUnit.POINT, 2.0, min_sites=2, allow_aggregator=True)),
    ],
)
def test_a_site_insists_on_what_its_options_say(feddp, tmp_path, monkeypatch, asked, policy):
    stayed = []
    monkeypatch.setattr(join, "join", lambda connection, handle, connected: stayed.append(handle.__self__))
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    status, said = feddp("join", "--insecure", "127.0.0.1:1", "--data", "berlin.csv", "--limit", 2, "--odometer", "books.jsonl", *asked)
    assert status == 0, said
    (participant,) = stayed
    assert participant._policy == policy
    assert participant._odometer.path.name == "books.jsonl"


def written(job, **changes):
    """What a server that finished leaves behind."""
    Path(job.out).mkdir()
    (Path(job.out) / "result.json").write_text(json.dumps(made_result(**changes)))


def test_a_server_whose_result_is_useless_says_so_by_its_status(feddp, monkeypatch):
    monkeypatch.setattr(serve, "serve", lambda job, *_: written(job, useless="all is noise", remarks=["all is noise"]))
    status, said = feddp("serve", "--insecure", "-k", 3, "--epsilon", 0.5, "--out", "run")
    assert status == 3
    assert "This result is useless" in said
    assert said.endswith("feddp: finished and written, but useless: all is noise.")
    row = {"release": "sums", "times": 9, "sites": 4, "missing": {"celle": "timed out"}, "noise_factor": 1.2}
    attendance = {"participants": ["aachen", "berlin", "celle"], "attendance": [row | {"times": 2}, row | {"times": 7, "missing": {}}]}
    monkeypatch.setattr(serve, "serve", lambda job, *_: written(job, **attendance))
    status, said = feddp("serve", "--insecure", "-k", 3, "--epsilon", 0.5, "--out", "other")
    assert status == 0
    assert "3 sites took part; celle was missing in 2 of 9 releases (timed out)." in said


def test_a_server_asks_for_what_its_options_say(feddp, monkeypatch):
    served = []
    monkeypatch.setattr(serve, "serve", lambda job, *_: served.append(job) or written(job))
    given = ["--threshold", 4, "--colluders", 1, "--confirmed", "--min-sites", 5, "--unit", "client"]
    given += ["--range", "age=0:120", "--categories", "sex=f,m", "--ignore", "id", "--schema", "schema.toml"]
    status, said = feddp("serve", "--insecure", "-k", 3, "--epsilon", 0.5, "--delta", 1e-7, "--out", "run", "--quiet", *given)
    assert status == 0, said
    (job,) = served
    assert (job.trust, job.threshold, job.colluders, job.confirmed, job.min_sites, job.seed) == ("secure-sum", 4, 1, True, 5, None)
    assert (job.settings.epsilon, job.settings.delta, job.settings.privacy_unit) == (0.5, 1e-7, "client")
    assert (job.ranges, job.categories, job.ignore) == (("age=0:120",), ("sex=f,m",), ("id",))
    assert job.schema == str(Path("schema.toml").resolve())


def test_a_site_states_columns_as_the_server_does(feddp, tmp_path, monkeypatch):
    stayed = []
    monkeypatch.setattr(join, "join", lambda connection, handle, connected: stayed.append(handle.__self__))
    (tmp_path / "berlin.csv").write_text("age,sex\n30,f\n40,m\n")
    asked = ["join", "--insecure", "127.0.0.1:1", "--data", "berlin.csv", "--limit", 2, "--categories", "sex=f,m"]
    assert feddp(*asked, "--range", "age=0:120")[0] == 0
    assert stayed[0].columns == ("age", "sex=f", "sex=m")
    status, said = feddp(*asked, "--range", "agee=0:120")
    assert (status, said.partition("feddp: ")[2]) == (
        1,
        "--range and --categories must name a column of the tables, got 'agee': did you mean age?",
    )


def test_simulated_sites_get_the_schema_of_the_server(feddp, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(simulate, "simulate", lambda job, *how, **_: asked.append(how) or written(job))
    (tmp_path / "berlin.csv").write_text("age,sex\n30,f\n40,m\n")
    status, said = feddp(
        "simulate", "berlin.csv", "-k", 1, "--epsilon", 1, "--out", "run", "--range", "age=0:120", "--categories", "sex=f,m"
    )
    assert status == 0, said
    ((_, columns, schema),) = asked
    assert (columns, schema.radius) == (("age", "sex=f", "sex=m"), pytest.approx(1.5**0.5))


def test_a_server_leaves_what_it_is_not_told_to_the_number_of_sites(feddp, monkeypatch):
    served = []
    monkeypatch.setattr(serve, "serve", lambda job, *_: served.append(job) or written(job))
    status, said = feddp("serve", "--insecure", "-k", 3, "--epsilon", 0.5, "--out", "run", "--quiet")
    assert status == 0, said
    (job,) = served
    assert (job.min_sites, job.threshold, job.colluders, job.confirmed) == (None, None, None, None)


def test_a_site_is_told_whose_noise_every_sum_holds(feddp, tmp_path, monkeypatch):
    monkeypatch.setattr(join, "join", lambda *_: None)
    feddp("keys", "federation", "--host", "127.0.0.1")
    for name in ("aachen", "berlin", "celle"):
        feddp("keys", "--site", name)
        shutil.copy(tmp_path / f"{name}.pub", tmp_path / "federation" / "public" / "sites")
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    given = ["join", "federation/public", "--key", "berlin.key", "--data", "berlin.csv", "--limit", 2]
    status, said = feddp(*given)
    assert status == 0, said
    assert "of 3 sites at least 3 must answer and 1 may side with the server: every sum holds the noise of at least 2 honest sites." in said
    status, said = feddp(*given, "--min-sites", 4)
    assert status == 1
    assert "sites must be at least 4, got a federation of 3" in said


def test_options_speak_of_sites(feddp):
    for command in ("serve", "join", "simulate"):
        status, said = feddp(command, "--help")
        assert status == 0
        assert "--min-clients" not in said
        assert all(option in said for option in ("--threshold", "--colluders"))


def test_a_site_reads_its_data_once_and_says_once_what_is_left_out(feddp, tmp_path, monkeypatch):
    monkeypatch.setattr(join, "join", lambda connection, handle, connected: handle(pack("describe", nonce=b"1")))
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,\n")
    status, said = feddp("join", "--insecure", "127.0.0.1:1", "--data", "berlin.csv", "--limit", 2)
    assert status == 0, said
    assert said.count("1 of 2 rows have a cell that is missing") == 1


@pytest.mark.parametrize("given", [["--port", 0], ["--port", 65536], ["--port", "nan"], ["--threshold", -1], ["--colluders", "nan"]])
def test_whole_numbers_out_of_their_range_are_wrong_usage(feddp, given, tmp_path):
    status, said = feddp(*SERVE, "--epsilon", 1, *given)
    assert status == 2
    assert said.startswith(f"feddp: Invalid value for '{given[0]}':")
    assert not (tmp_path / "run").exists()


def test_a_site_keeps_its_log_and_shows_it_as_json_if_asked(feddp, tmp_path, monkeypatch, capsys):
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")

    def stay(connection, handle, connected):
        handle(b"garbage")
        raise FedDPError("the server refuses this key.")

    monkeypatch.setattr(join, "join", stay)
    monkeypatch.setattr(sys, "argv", ["feddp", "join", "--insecure", "127.0.0.1:1", "--data", "berlin.csv", "--limit", "2", "--log-json"])
    with pytest.raises(SystemExit):
        main()
    shown = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all({"time", "level", "event", "message"} <= set(row) for row in shown)
    assert [row["event"] for row in shown][-2:] == ["refused", "ended"]
    assert shown[-1]["reason"] == "the server refuses this key."
    kept = [json.loads(line) for line in (tmp_path / ".feddp-runs" / "log.jsonl").read_text().splitlines()]
    assert [row["event"] for row in kept] == ["refused", "ended"]
    assert kept[0]["site"] == "berlin"


def test_a_server_keeps_its_log_in_the_run_folder(feddp, tmp_path, monkeypatch):
    def fails(job, *_):
        Path(job.out).mkdir()
        raise FedDPError("the SuperLink must answer.")

    monkeypatch.setattr(serve, "serve", fails)
    status, _ = feddp(*SERVE, "--epsilon", 1)
    assert status == 1
    (kept,) = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert (kept["event"], kept["reason"], kept["level"]) == ("ended", "the SuperLink must answer.", "error")


def test_a_server_whose_disk_is_full_says_so(feddp, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(serve, "serve", full)
    status, said = feddp(*SERVE, "--epsilon", 1)
    assert status == 1
    assert said.endswith("feddp: the run must be able to read its data and to write its folder, got [Errno 28] No space left on device.")
