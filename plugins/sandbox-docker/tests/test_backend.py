"""Boxes are fresh, on time, and never outlive their owner."""

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest

from assay.core.error import SandboxError
from assay.core.registry import Registry
from assay.core.sandbox import SandboxSpec
from assay_sandbox_docker import owner
from assay_sandbox_docker.backend import DockerBackend


def test_capabilities_are_declared_without_an_engine() -> None:
    declared = DockerBackend(base_url="unix:///nowhere").capabilities()
    assert {"exec", "image", "net.none", "net.full", "cpu", "memory", "time"} <= declared
    assert {"isolation.fresh", "history.sever", "snapshot", "fork"} <= declared


def test_plugin_offers_the_backend() -> None:
    import assay_sandbox_docker

    registry = Registry()
    registry.add(assay_sandbox_docker, "assay-sandbox-docker", "0.1.0")
    assert () == tuple(registry.failures)
    assert "docker" == registry.find("sandbox", "docker").value.name


def test_engine_that_is_not_there_is_a_sandbox_error(run: Any) -> None:
    with pytest.raises(SandboxError, match="Docker engine"):
        run(DockerBackend(base_url="unix:///nowhere").prepare("x"))


def test_owner_that_is_gone_or_late_is_an_orphan() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        alive = {owner.LABEL_OWNER: owner.identity(process.pid), owner.LABEL_UNTIL: str(time.time() + 60)}
        assert not owner.is_orphan(alive)
        assert owner.is_orphan({**alive, owner.LABEL_UNTIL: "1"})
        process.kill()
        process.wait()
        assert owner.is_orphan(alive)
    assert not owner.is_orphan({owner.LABEL_OWNER: "elsewhere:1:1"})


@pytest.mark.docker
@pytest.mark.slow
def test_image_nobody_has_is_a_sandbox_error(run: Any, backend: Any) -> None:
    with pytest.raises(SandboxError):
        run(backend.acquire(SandboxSpec("assay-test-absent:1"), 60.0))


@pytest.mark.docker
@pytest.mark.slow
def test_late_box_is_removed(run: Any, backend: Any, image: str) -> None:
    run(backend.reap())
    with pytest.raises(SandboxError, match=r"within 0\.01 s"):
        run(backend.acquire(SandboxSpec(image, history="keep"), 0.01))
    label = f"{owner.LABEL_OWNER}={owner.labels(1)[owner.LABEL_OWNER]}"
    filters = {"label": label}
    until, counts = time.monotonic() + 20, [0]
    while (counts[-1] or not any(counts)) and time.monotonic() < until:
        run(asyncio.sleep(0.02))
        counts.append(len(backend.client.api.containers(all=True, filters=filters)))
    assert (True, 0) == (any(counts), counts[-1])


@pytest.mark.docker
@pytest.mark.slow
def test_close_removes_box_and_snapshots_and_may_be_repeated(run: Any, backend: Any, image: str) -> None:
    box = run(backend.acquire(SandboxSpec(image, history="keep"), 60.0))
    snapshot = run(box.snapshot())
    run(box.close())
    run(box.close())
    assert snapshot not in [found.id for found in backend.client.images.list()]


ORPHAN = """
import asyncio, os, sys
from assay.core.sandbox import SandboxSpec
from assay_sandbox_docker.backend import DockerBackend
async def main():
    box = await DockerBackend(base_url=sys.argv[1]).acquire(SandboxSpec(sys.argv[2], history="keep"), 60.0)
    await box.snapshot()
    print(box.container.id, flush=True)
    os._exit(1)
asyncio.run(main())
"""


@pytest.mark.docker
@pytest.mark.slow
def test_reaper_removes_what_a_dead_owner_left_and_nothing_else(
    run: Any, backend: Any, box: Any, base_url: str, image: str
) -> None:
    argv = [sys.executable, "-c", ORPHAN, base_url, image]
    orphan = subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    assert orphan
    assert run(backend.reap()) >= 2
    left = [container.id for container in backend.client.containers.list(all=True)]
    assert (False, True) == (orphan in left, box.container.id in left)
