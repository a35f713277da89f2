"""What docs/sandboxes.md shows, with real processes: graded in boxes, worker killed, regraded, nothing left."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from real_run import Command

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```\w+ file=(\S+)\n(.*?)```", re.S)
SMALL = ("policy.words=[add,times]", 'policy.characters="x0123456789+*"', "policy.hidden=32", "policy.ffn=64")
ENGINE = Path("/var/tmp/assay-dockerd/docker.sock")
IMAGE = "assay-python:1"
Boxes = Callable[[], set[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, its package installed."""
    for name, text in BLOCK.findall((ROOT / "docs" / "sandboxes.md").read_text()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    metadata = tmp_path / "src" / "assay_code-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-code\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[assay]\ncode = assay_code\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"), prepend=os.pathsep)
    return tmp_path


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files alone; its name is short, because sockets are among them."""
    with tempfile.TemporaryDirectory(prefix="a", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a Docker engine that has the page's image."""
    import docker
    import docker.errors

    from assay_sandbox_docker.image import build

    url = os.environ.get("DOCKER_HOST") or f"unix://{ENGINE}"
    if url.startswith("unix://") and not Path(url.removeprefix("unix://")).exists():
        said = f"no Docker engine at {url}; start one with `.ci/dockerd start`"
        if os.environ.get("ASSAY_REQUIRE_DOCKER"):
            pytest.fail(said)
        pytest.skip(said)
    monkeypatch.setenv("DOCKER_HOST", url)
    client = docker.DockerClient(url)
    try:
        client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        build(client, IMAGE)
    yield client
    client.close()


def train(command: Callable[..., Command], sandbox: str, boxes: Boxes) -> Command:
    """Train with a verify worker that is killed while it grades, and see that none of its boxes is left."""
    run = command("train", "curriculum=code.yaml", f"sandbox={sandbox}", "eval.tasks=2", *SMALL)
    run.until(lambda status: status["step"] >= 41 and bool(boxes()))
    held, killed = boxes(), run.processes()["verify-0"]["pid"]
    os.kill(killed, signal.SIGKILL)

    def is_reaped(_: object) -> bool:
        successor = run.processes()["verify-0"]
        return successor["is_alive"] and successor["pid"] != killed and not held & boxes()

    run.until(is_reaped)
    assert 0 == run.wait(), run.output
    assert set() == boxes()
    return run


def verdicts(run: Command) -> list[list[Any]]:
    """Return the verdict of every episode that has one."""
    with closing(sqlite3.connect(run.run_folder / "ledger.sqlite")) as ledger:
        return [json.loads(text) for (text,) in ledger.execute("SELECT verdict FROM episode WHERE verdict NOT NULL")]


def regrade(folder: Path, *words: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "assay", "regrade", "latest", "--format", "json", *words]
    ran = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == ran.returncode, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["entries"]["body"]
    return found


def check(run: Command, folder: Path, boxes: Boxes) -> None:
    """Every episode was scored in a box, and a regrade opens boxes again."""
    found = verdicts(run)
    assert {"scored"} == {verdict[0] for verdict in found}
    again = regrade(folder, "domain.body.verify.tests=code.body(outputs, outputs)")
    assert len(found) == again["episodes"]["REGRADE"]
    assert (len(found), 0) == (again["shift"]["after"]["scored"], again["shift"]["after"]["unscored"])
    assert again["shift"]["after"]["mean"] < again["shift"]["before"]["mean"]
    assert set() == boxes()


@pytest.mark.slow
def test_run_grades_and_regrades_in_folders_and_a_killed_worker_leaves_none(
    folder: Path, temporary: Path, command: Callable[..., Command]
) -> None:
    def boxes() -> set[str]:
        return {path.name for path in temporary.glob("assay-box-*")}

    run = train(command, "process", boxes)
    assert "warning: sandbox=process does without history.sever, image, isolation.fresh, net.none" in run.output
    check(run, folder, boxes)


@pytest.mark.slow
@pytest.mark.docker
def test_run_grades_and_regrades_in_containers_and_a_killed_worker_leaves_none(
    folder: Path, command: Callable[..., Command], engine: Any
) -> None:
    from assay_sandbox_docker.owner import LABEL_OWNER

    others = {box.id for box in engine.containers.list(all=True, filters={"label": LABEL_OWNER}, ignore_removed=True)}

    def boxes() -> set[str]:
        listed = engine.containers.list(all=True, filters={"label": LABEL_OWNER}, ignore_removed=True)
        return {box.id for box in listed} - others

    check(train(command, "docker", boxes), folder, boxes)


def test_domain_that_wants_boxes_is_refused_without_a_sandbox(folder: Path, command: Callable[..., Command]) -> None:
    run = command("train", "curriculum=code.yaml", *SMALL)
    assert 1 == run.wait()
    assert "must have a sandbox, got sandbox=none - at mix.body. Add sandbox=docker" in run.output
    assert not (folder / "runs").exists()
