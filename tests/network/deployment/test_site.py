"""Sites and jobs as files."""

import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment import site as site_module
from feddp_kmeans.network.deployment.kit import make_federation, read_kit
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened, read_request
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.network.remote import RemoteAdder
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.secure_sum.identity import new_identity, public_line, save_identity
from feddp_kmeans.network.site_key import SiteKey
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network.deployment.federations import SITES, Federation
from tests.network.loopback import Loopback


@pytest.fixture
def site(tmp_path):
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    return Site("berlin", str(tmp_path / "berlin.csv"), 2.0, str(tmp_path / "state"), str(tmp_path / "budget.jsonl"), ignore=("y",))


@pytest.fixture
def job(tmp_path):
    return RunRequest("run1", Settings(3, 1.0, box=(0, 1)), str(tmp_path / "run"), "feddp serve", min_sites=2)


def test_a_site_file_says_what_the_site_is(site, tmp_path):
    path = tmp_path / "site.json"
    path.write_text(json.dumps(asdict(site)))
    assert read_site(path) == site
    assert site.read().columns == ("x",)


def test_the_limits_of_a_site_are_the_policy_of_its_participant(site):
    default = Policy(PrivacyUnit.POINT, 2.0, 1e-6, min_sites=2)
    assert site.participant()._policy == default
    for name in ("allow_aggregator", "allow_simulation", "confirmed"):
        assert replace(site, **{name: True}).participant()._policy == replace(default, **{name: True})
    other = replace(site, limit=3.0, delta=1e-7, unit="client", colluders=2, threshold=7, min_sites=9).participant()
    assert other._policy == Policy(PrivacyUnit.CLIENT, 3.0, 1e-7, colluders=2, threshold=7, min_sites=9)
    assert other._odometer.path == Path(site.odometer)


def test_a_site_with_keys_signs_and_knows_the_others(site, tmp_path, monkeypatch):
    keys = {name: new_identity() for name in ("berlin", "paris")}
    save_identity(tmp_path / "berlin.key", keys["berlin"])
    others = {name: key.public_key() for name, key in keys.items()}
    authority = make_federation(tmp_path / "federation", ["127.0.0.1"], 9443).kit.authority
    roster = Roster("h", 1, (), tuple(SiteKey(name, public_line(key)) for name, key in others.items()))
    kit = SimpleNamespace(roster=lambda: roster, authorities=list, folder=tmp_path, authority=authority)
    monkeypatch.setattr(site_module, "read_kit", lambda _: kit)
    known = replace(site, key=str(tmp_path / "berlin.key"), kit=str(tmp_path)).participant()
    assert dict(known._known_sites()) == others
    assert known._policy.confirmed
    assert not replace(site, key=str(tmp_path / "berlin.key"), kit=str(tmp_path), confirmed=False).policy.confirmed
    assert known._identity.private_numbers() == keys["berlin"].private_numbers()


def test_a_path_that_would_break_a_message_into_lines_is_refused(site):
    with pytest.raises(FedDPError, match=r"key of a site must be printable text, got 'a\\nb'"):
        replace(site, key="a\nb")


@pytest.mark.parametrize("content", ["", "[]", '{"name": "berlin"}', '{"name": "b", "epsilon": 3}'])
def test_what_describes_no_site_is_refused(tmp_path, content):
    (tmp_path / "site.json").write_text(content)
    with pytest.raises(FedDPError):
        read_site(tmp_path / "site.json")


def test_a_job_comes_back_from_its_file_as_it_was(job, tmp_path):
    assert opened(job) == job
    assert read_request(tmp_path / "run" / "job.json") == job


def test_public_data_that_cannot_be_read_are_refused_before_anything_starts(job, tmp_path):
    with pytest.raises(FedDPError, match=r"nowhere\.csv"):
        opened(replace(job, server=str(tmp_path / "nowhere.csv")))
    assert not (tmp_path / "run").exists()


def test_an_unfinished_run_goes_on_under_its_name_and_only_with_the_same_options(job):
    opened(job)
    assert opened(replace(job, run="run2", command="again")).run == "run1"
    with pytest.raises(FedDPError, match="unfinished run with other options"):
        opened(replace(job, settings=Settings(4, 1.0)))


def test_a_finished_run_that_may_be_replaced_is_cleared(job, tmp_path):
    opened(job)
    (tmp_path / "run" / "releases").mkdir()
    (tmp_path / "run" / "result.json").write_text("{}")
    assert opened(replace(job, run="run2")).run == "run2"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["job.json"]


def sites(tmp_path, n):
    rng = np.random.default_rng(0)
    for number in range(n):
        points = np.array([[0.2, 0.2, 0.8], [0.8, 0.7, 0.1]])[rng.integers(2, size=3000)] + 0.02 * rng.standard_normal((3000, 3))
        np.save(tmp_path / f"s{number}.npy", points)
        yield Site(f"s{number}", str(tmp_path / f"s{number}.npy"), 20.0, str(tmp_path / f"{number}"), str(tmp_path / f"{number}.jsonl"))


@pytest.mark.parametrize("method", ["refined", "paper"])
def test_a_job_runs_to_its_result_over_any_transport(tmp_path, method, server_log):
    rng = np.random.default_rng(1)
    np.save(
        tmp_path / "public.npy",
        np.array([[0.2, 0.2, 0.8], [0.8, 0.7, 0.1]])[rng.integers(2, size=60)] + 0.02 * rng.standard_normal((60, 3)),
    )
    asked = RunRequest(
        "run1", Settings(2, 10.0, method=method), str(tmp_path / "run"), "feddp serve", str(tmp_path / "public.npy"), min_sites=3
    )
    carry_out(Loopback(site.participant() for site in sites(tmp_path, 3)), opened(asked))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert {row["mechanism"] for row in result["ledger"]} == {"gaussian"}
    assert sorted(round(center[0], 1) for center in result["centers"]) == [0.2, 0.8]
    assert "3 sites: s0, s1, s2" in server_log()
    assert not (tmp_path / "run" / "releases" / "pending").exists()


def test_a_job_that_is_killed_while_a_sum_is_opened_goes_on(tmp_path, monkeypatch):
    nodes = Loopback(site.participant() for site in sites(tmp_path, 3))
    job = RunRequest("run1", Settings(2, 10.0, box=(0, 1)), str(tmp_path / "run"), "feddp serve", min_sites=3)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RemoteAdder, "_finished", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out(nodes, opened(job))
    assert (tmp_path / "run" / "releases" / "pending").exists()
    carry_out(nodes, opened(job))
    assert (tmp_path / "run" / "result.json").exists()
    assert not (tmp_path / "run" / "releases" / "pending").exists()


def test_a_job_is_booked_before_its_first_release_and_within_its_limit(tmp_path):
    books = tmp_path / "budget.jsonl"
    asked = RunRequest("run1", Settings(2, 1.0, box=(0, 1)), str(tmp_path / "run"), "feddp simulate", odometer=str(books), limit=0.5)
    nodes = Loopback(site.participant() for site in sites(tmp_path, 2))
    with pytest.raises(FedDPError, match=r"must stay within epsilon 0\.5"):
        carry_out(nodes, opened(asked))
    assert not books.exists()
    carry_out(nodes, opened(replace(asked, limit=1.0, out=str(tmp_path / "other"))))
    assert [entry.private for entry in Odometer(books).entries()] == [True]
    open_nodes = Loopback(replace(site, allow_simulation=True).participant() for site in sites(tmp_path, 2))
    simulated = replace(asked, run="run2", limit=None, seed=1, out=str(tmp_path / "simulated"))
    with pytest.raises(FedDPError, match="the plan must have the answers of at least 2 sites"):  # Sites keep their own limits.
        carry_out(open_nodes, opened(simulated))
    assert [entry.private for entry in Odometer(books).entries()] == [True, False]


def test_a_run_that_cannot_start_ends_in_one_line(job, tmp_path):
    with pytest.raises(FedDPError, match="sites must be at least 2 within 0 s, got 0"):
        carry_out(Loopback([]), opened(replace(job, wait=0.0)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trust": "nobody"}, "trust must be 'aggregator' or 'secure-sum', got 'nobody'."),
        ({"settings": {"n_clusters": 3, "epsilon": -1.0, "box": None}}, "epsilon must be"),
        ({"settings": None}, "TypeError"),
        ({"wait": "long"}, "wait of job.json must be of type float, got a str."),
    ],
)
def test_what_is_wrong_with_the_file_of_a_run_is_said_in_its_own_words(job, tmp_path, change, reason):
    opened(job)
    path = tmp_path / "run" / "job.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FedDPError, match=re.escape(reason)) as refused:
        read_request(path)
    assert "FedDPError" not in str(refused.value)


@pytest.mark.parametrize("read", [read_request, read_site])
def test_a_file_that_is_no_json_or_is_not_there_is_refused_with_the_reason(tmp_path, read):
    path = tmp_path / "given.json"
    with pytest.raises(FedDPError, match="No such file or directory"):
        read(path)
    path.write_text('{"run": 1, "run": 2}')
    with pytest.raises(FedDPError, match="JSON must name a key once, got 'run' twice"):
        read(path)


@pytest.mark.slow  # A whole refined run under secure sum, and two that are refused.
def test_server_and_sites_that_state_the_same_columns_need_no_file(tmp_path):
    rng, nodes = np.random.default_rng(0), []
    for number in range(3):
        rows = [(30 + 40 * old, "fm"[old], 1000 + 4000 * old) for old in rng.integers(2, size=2000).tolist()]
        path = tmp_path / f"s{number}.csv"
        path.write_text("id,age,sex,income\n" + "".join(f"{i},{age},{sex},{income}\n" for i, (age, sex, income) in enumerate(rows)))
        stated = {"ranges": ("age=0:120",), "categories": ("sex=f,m",), "ignore": ("id",)}
        nodes.append(Site(path.stem, str(path), 20.0, str(tmp_path / path.stem), str(tmp_path / f"{number}.jsonl"), **stated).participant())
    asked = RunRequest("run1", Settings(2, 10.0), str(tmp_path / "run"), "feddp serve", min_sites=3, **stated)
    assert read_request(Path(opened(asked).out) / "job.json") == asked
    carry_out(Loopback(nodes), asked)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert [(column["name"], column["kind"]) for column in result["schema"]["columns"]] == [
        ("age", "number"),
        ("sex", "category"),
        ("income", "open"),
    ]
    told = sorted(({part["column"]: part["value"] for part in profile} for profile in result["profiles"]), key=lambda told: told["age"])
    assert [(round(part["age"]), part["sex"], round(part["income"], -3)) for part in told] == [(30, "f", 1000), (70, "m", 5000)]
    for wrong in ({"categories": ("sex=m,f",)}, {"ranges": ("rent=0:1",)}):
        with pytest.raises(FedDPError, match="sites must have the columns that the server states"):
            carry_out(Loopback(nodes), opened(replace(asked, out=str(tmp_path / "other"), **wrong)))
        (tmp_path / "other" / "job.json").unlink()
    with pytest.raises(FedDPError, match="--range must be NAME=LOW:HIGH"):
        opened(replace(asked, out=str(tmp_path / "none"), ranges=("age",)))
    with pytest.raises(FedDPError, match="--range and --categories must name a column of the tables, got 'agee': did you mean age"):
        Site("s", str(tmp_path / "s0.csv"), 1.0, "state", "books", ranges=("agee=0:1",), ignore=("id", "sex")).read()


@pytest.fixture
def federation(tmp_path):
    """Return a federation of four sites that keep running, each with a copy of the kit of its own."""
    made = Federation(tmp_path, SITES[:4])
    made.nodes = []
    rng = np.random.default_rng(0)
    for name in SITES[:4]:
        shutil.copytree(made.kit.folder, tmp_path / name / "kit")
        np.save(tmp_path / name / "x.npy", np.array([[0.2, 0.2], [0.8, 0.7]])[rng.integers(2, size=2000)])
        places = {what: str(tmp_path / name / what) for what in ("kit", "state", "odometer")}
        site = Site(name, str(tmp_path / name / "x.npy"), 20.0, key=str(tmp_path / f"{name}.key"), colluders=0, **places)
        made.nodes.append(site.participant())
    return made


def run(federation, name, transport=Loopback, **more):
    kit = str(federation.kit.folder)
    asked = RunRequest(name, Settings(2, 5.0, box=(0, 1)), str(federation.folder / name), "feddp serve", kit=kit, colluders=0, **more)
    carry_out(transport(federation.nodes), opened(asked))
    return json.loads((federation.folder / name / "result.json").read_text())


def test_a_revocation_takes_effect_without_restarting_a_site(federation, server_log, site_log):
    run(federation, "run1")
    assert "4 sites: aachen, berlin, celle, dresden" in server_log()
    for name in ("berlin", "celle", "dresden"):
        read_kit(federation.folder / name / "kit").revoke("aachen")
    with pytest.raises(FedDPError, match="nothing was released"):  # The server does not know yet: the sites refuse.
        run(federation, "run2")
    assert any("the key of 'aachen' must be valid, but it was revoked" in line for line in site_log())
    federation.kit.revoke("aachen")
    run(federation, "run3")
    assert "3 sites: berlin, celle, dresden" in server_log()
    assert any("is left out: the key of 'aachen' must be valid, but it was revoked" in line for line in server_log())


def test_a_key_that_is_revoked_while_the_server_waits_is_left_out(federation, server_log):
    class Slow(Loopback):
        """Takes a while until the last site is connected."""

        def nodes(self):
            found = super().nodes()
            if "aachen" in federation.kit.sites():
                for folder in (federation.kit.folder, *(federation.folder / name / "kit" for name in SITES[1:4])):
                    read_kit(folder).revoke("aachen")
                return found[:-1]
            return found

    run(federation, "run1", Slow)
    assert "3 sites: berlin, celle, dresden" in server_log()


def test_a_threshold_does_not_fall_when_sites_are_revoked(federation):
    for folder in (federation.kit.folder, *(federation.folder / name / "kit" for name in SITES[:4])):
        for name in ("aachen", "berlin"):
            read_kit(folder).revoke(name)
    with pytest.raises(FedDPError, match="threshold must be from 1 to the 2 sites, got 3"):
        run(federation, "run1")
    with pytest.raises(FedDPError, match="threshold must be at least 3 of 4 sites, got 2"):
        run(federation, "run2", threshold=2)


def test_a_kit_that_changes_under_a_running_site_is_refused_and_a_renewed_key_is_taken_over(federation, server_log):
    run(federation, "run1")
    old = (federation.folder / "celle.pub").read_text()
    federation.renew("celle")
    federation.nodes[2]._identity = federation.key("celle")
    for name in SITES[:4]:
        shutil.copy(federation.folder / "celle.pub", federation.folder / name / "kit" / "sites")
    run(federation, "run2")
    (federation.folder / "dresden" / "kit" / "sites" / "celle.pub").write_text(old)  # The earlier key, handed out again.
    run(federation, "run3")
    assert any(
        "dresden is missing: it refused" in line and "the roster must be the one that this site joined" in line for line in server_log()
    )
