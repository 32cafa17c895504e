"""The image: what its steps say, and a real build on a root file system made from Debian packages, with a federation of its containers."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("flwr")
pytest.importorskip("yaml")

from tests.deploy.services import SERVICES, SITES, prepared
from tests.end_to_end.processes import kill

ROOT = Path(__file__).parents[2]
STEPS = [
    tuple(step.split(maxsplit=1))
    for step in re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).splitlines()
    if step and not step.startswith("#")
]
SOMEBODY = 4321
"""A user whom the image does not know."""


def test_the_base_may_be_another_one():
    assert STEPS[:2] == [("ARG", "BASE=python:3.11-slim"), ("FROM", "${BASE}")]


def test_only_what_is_needed_is_sent_to_the_build():
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {source for kind, rest in STEPS if kind == "COPY" for source in rest.split()[:-1]}
    assert copied == let_in
    assert all((ROOT / source).exists() for source in copied)


def test_a_container_is_nobody_and_says_how_it_is():
    (user,) = (rest for kind, rest in STEPS if kind == "USER")
    assert user.isdigit()  # so that a cluster can see that it is not root
    assert int(user) > 0
    assert dict(STEPS)["HEALTHCHECK"].endswith(' CMD ["/opt/feddp/bin/python", "-I", "/opt/feddp/health.py"]')


class Builder:
    """buildah with a store of its own, which needs no daemon."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot", "TMPDIR": str(folder)}

    def command(self, *arguments):
        return ["buildah", "--root", str(self.folder / "store"), "--runroot", str(self.folder / "running"), *map(str, arguments)]

    def __call__(self, *arguments):
        done = subprocess.run(self.command(*arguments), env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()

    def container(self):
        return self("from", "feddp")

    def inside(self, container, volumes, command):
        mounts = [word for volume in volumes for word in ("-v", volume)]
        return self.command("run", "--user", f"{SOMEBODY}:{SOMEBODY}", "--cap-drop", "all", *mounts, container, "--", *command)


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    missing = [tool for tool in ("mmdebstrap", "buildah") if shutil.which(tool) is None]
    if missing or os.getuid() != 0:
        pytest.skip(f"{' and '.join(missing) or 'root'} is needed to build an image without a daemon")
    folder = tmp_path_factory.mktemp("image")
    packages = ["--variant=minbase", "--include=python3,python3-venv,ca-certificates"]
    make_base = ["mmdebstrap", *packages, "bookworm", folder / "base.tar", "http://deb.debian.org/debian"]
    made = subprocess.run(make_base, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        why = next((line for line in made.stderr.splitlines() if line.startswith("E:")), "")
        pytest.skip(f"no root file system could be made from Debian packages: {why}")
    build = Builder(folder)
    base = build("from", "scratch")
    build("add", base, folder / "base.tar", "/")
    build("commit", "--rm", base, "localhost/base")
    (folder / "base.tar").unlink()
    # The certificates and the package index are this machine's.
    here = [place for place in ("/etc/ssl/certs", "/etc/pip.conf") if Path(place).exists()]
    volumes = [word for place in here for word in ("-v", f"{place}:{place}:ro")]
    build("bud", "--format", "docker", "--build-arg", "BASE=localhost/base", "-t", "feddp", *volumes, ".")
    yield build
    kill("TMPDIR", folder)
    build("rm", "--all")
    shutil.rmtree(folder)


@pytest.mark.slow  # Debian, Python's packages and a federation: five minutes, with a network.
def test_containers_of_the_built_image_make_a_federation_as_a_user_it_does_not_know(builder, tmp_path):
    prepared(tmp_path)
    subprocess.run(["chown", "-R", f"{SOMEBODY}:{SOMEBODY}", tmp_path], check=True)
    running = {}
    for name, service in SERVICES.items():
        volumes = []
        for volume in service["volumes"]:
            source, *rest = volume.split(":")
            place = tmp_path / source if source.startswith(".") else tmp_path / "volumes" / source
            if not place.exists():
                place.mkdir(parents=True)
                os.chown(place, SOMEBODY, SOMEBODY)
            volumes.append(":".join([str(place), *rest]))
        command = ["feddp", *shlex.split(service["command"])]
        container = builder.container()
        with (tmp_path / f"{name}.log").open("wb") as log:
            running[name] = subprocess.Popen(
                builder.inside(container, volumes, command), env=builder.environment, stdout=log, stderr=subprocess.STDOUT
            )
        if name == "server":
            line = tmp_path / "run" / "cmdline"
            line.write_bytes("\0".join(command).encode())
            health = builder.inside(container, volumes, ["/opt/feddp/bin/python", "-I", "/opt/feddp/health.py", "/run-folder/cmdline"])
    try:
        assert running["server"].poll() is None
        well = False
        while running["server"].poll() is None:
            well |= subprocess.run(health, env=builder.environment, capture_output=True, check=False).returncode == 0
        logs = "\n".join(path.read_text()[-1500:] for path in tmp_path.glob("*.log"))
        assert running["server"].returncode == 0, logs
        assert well
        assert subprocess.run(health, env=builder.environment, capture_output=True, check=False).returncode != 0
    finally:
        for name in SITES:
            running[name].terminate()
        kill("TMPDIR", builder.folder)
        for process in running.values():
            process.wait()
    assert json.loads((tmp_path / "run" / "1" / "result.json").read_text())["trust"] == "secure-sum"
    for name in SITES:
        assert (tmp_path / "volumes" / f"{name}-state" / "budget.jsonl").stat().st_uid == SOMEBODY
