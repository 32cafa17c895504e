"""The Kubernetes example is one site with no more rights than it needs, and its command is one that feddp takes."""

from pathlib import Path

import pytest
import typer

pytest.importorskip("yaml")

import yaml

from feddp_kmeans.cli.main import app

SITE = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "kubernetes.yaml").read_text())
POD = SITE["spec"]["template"]["spec"]


def test_a_site_is_one_pod_that_is_nobody():
    assert (SITE["kind"], SITE["spec"]["replicas"]) == ("StatefulSet", 1)
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["automountServiceAccountToken"] is False
    for container in (*POD["initContainers"], *POD["containers"]):
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }


def test_every_mount_has_its_volume():
    known = {volume["name"] for volume in POD["volumes"]} | {claim["metadata"]["name"] for claim in SITE["spec"]["volumeClaimTemplates"]}
    mounted = {mount["name"] for container in (*POD["initContainers"], *POD["containers"]) for mount in container["volumeMounts"]}
    assert mounted == known


def test_its_command_is_one_that_feddp_takes():
    ((name, *arguments),) = (container["args"] for container in POD["containers"])
    context = typer.main.get_command(app).commands[name].make_context(name, arguments)
    assert Path(context.params["odometer"]) == Path("/state/budget.jsonl")
