"""A Docker engine and an image for it. With ASSAY_REQUIRE_DOCKER=1 a run without an engine fails."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.core.sandbox import SandboxSpec
from assay_sandbox_docker.backend import DockerBackend
from assay_sandbox_docker.box import DockerSandbox
from assay_sandbox_docker.image import build

IMAGE = "assay-test:1"
ENGINE = Path("/var/tmp/assay-dockerd/docker.sock")
T = TypeVar("T")
Run = Callable[[Awaitable[T]], T]


@pytest.fixture(scope="session")
def base_url() -> str:
    """Address of the engine: DOCKER_HOST, or the one that `.ci/dockerd start` makes."""
    import docker
    import docker.errors

    url = os.environ.get("DOCKER_HOST") or f"unix://{ENGINE}"
    if url.startswith("unix://") and not Path(url.removeprefix("unix://")).exists():
        said = f"no Docker engine at {url}; start one with `.ci/dockerd start`"
        if os.environ.get("ASSAY_REQUIRE_DOCKER"):
            pytest.fail(said)
        pytest.skip(said)
    client = docker.DockerClient(url)
    client.ping()
    client.close()
    return url


@pytest.fixture(scope="session")
def image(base_url: str) -> str:
    """An image of this machine's own programs."""
    import docker
    import docker.errors

    client = docker.DockerClient(base_url)
    try:
        client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        build(client, IMAGE)
    client.close()
    return IMAGE


@pytest.fixture
def run() -> Iterator[Run]:
    """Run a coroutine to its end."""
    with asyncio.Runner() as runner:
        yield runner.run  # type: ignore[misc]


@pytest.fixture
def backend(base_url: str) -> Iterator[DockerBackend]:
    """The backend; nothing it made may be left after a test."""
    made = DockerBackend(base_url=base_url)
    yield made
    label = f"assay.owner={_identity()}"
    left = made.client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
    images = made.client.images.list(filters={"label": label})
    for container in left:
        made.remove(container)
    for snapshot in images:
        made.remove_image(snapshot.id)
    assert ([], []) == (left, images)
    made.client.close()


@pytest.fixture
def box(backend: DockerBackend, image: str, run: Run) -> Iterator[DockerSandbox]:
    """A fresh box."""
    made: Any = run(backend.acquire(SandboxSpec(image, history="keep"), 60.0))
    yield made
    run(made.close())


def _identity() -> str:
    from assay_sandbox_docker.owner import identity

    return identity(os.getpid())
