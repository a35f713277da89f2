"""The backend: images, containers and their removal."""

import asyncio
import contextlib
import os
import socket
import threading
from typing import Any

from assay.core.error import SandboxError
from assay.core.sandbox import SandboxSpec
from assay_sandbox_docker import owner
from assay_sandbox_docker.box import DockerSandbox, guarded

_DEFAULT_URL = "unix:///var/run/docker.sock"
_DEFAULT_LIFE_S = 3600.0
_DEFAULT_MEMORY_BYTES = 2 << 30
# A box outlives its time by this much, so that what it made can still be graded.
_GRACE_S = 300.0


class DockerBackend:
    """Makes boxes that are Docker containers. Talks to the engine only when it must.

    Args:
        user: Whom commands run as inside; never root.
        max_processes: In one box.
        read_only: Mount the root file system read-only, with `/tmp` and `/work` as sized tmpfs; no snapshots then.
        base_url: Address of the engine; None reads the environment, as the docker command does.
    """

    name = "docker"

    def __init__(
        self,
        *,
        user: str = "1000:1000",
        max_processes: int = 256,
        read_only: bool = False,
        base_url: str | None = None,
    ) -> None:
        self.user = user
        self.max_processes = max_processes
        self.read_only = read_only
        self.base_url = base_url
        self._client: Any = None
        self._lock = threading.Lock()
        self._has_reaped = False

    def capabilities(self) -> frozenset[str]:
        """Return what boxes of this backend can do."""
        words = "exec image net.none net.full cpu memory time history.sever isolation.fresh"
        return frozenset(words.split()) | (frozenset() if self.read_only else {"snapshot", "fork"})

    @property
    def client(self) -> Any:
        """The SDK's client, made at first use."""
        import docker

        with self._lock:
            if self._client is None:
                _reach(self.base_url or os.environ.get("DOCKER_HOST") or _DEFAULT_URL)
                self._client = docker.DockerClient(self.base_url) if self.base_url else docker.from_env()
            return self._client

    async def prepare(self, image: str) -> str:
        """Find an image here, or pull it; returns its id.

        Raises:
            SandboxError: neither works.
        """
        return await asyncio.to_thread(guarded, self._prepare, image)

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> DockerSandbox:
        """Return a fresh box within `deadline_s` seconds.

        Raises:
            SandboxError: the engine fails or is late; a box that comes later is removed.
        """
        if not self._has_reaped:
            self._has_reaped = True
            await self.reap()
        made = asyncio.ensure_future(asyncio.to_thread(guarded, self._acquire, spec))
        try:
            return await asyncio.wait_for(asyncio.shield(made), deadline_s)
        except TimeoutError:
            made.add_done_callback(_remove_late)
            raise SandboxError(f"a box must be there within {deadline_s:g} s", at=spec.image) from None
        except asyncio.CancelledError:
            made.add_done_callback(_remove_late)
            raise

    async def reap(self) -> int:
        """Remove containers and snapshots whose owner is gone or whose time is over; returns how many."""
        return await asyncio.to_thread(guarded, self._reap)

    def life_s(self, spec: SandboxSpec) -> float:
        """Seconds after which a box ends by itself and may be removed by anybody."""
        return (spec.time_s or _DEFAULT_LIFE_S) + _GRACE_S

    def create(self, image: str, spec: SandboxSpec) -> Any:
        """Create and start a container of an image or snapshot."""
        memory = spec.memory_bytes or _DEFAULT_MEMORY_BYTES
        life_s = self.life_s(spec)
        container = self.client.containers.create(
            image,
            # The first process is no shell: everything else in the box may be killed at once.
            ["sleep", str(int(life_s))],
            entrypoint=[],
            user=self.user,
            network_mode="none" if spec.net == "none" else "bridge",
            nano_cpus=int(spec.cpu * 1e9),
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=self.max_processes,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=self.read_only,
            tmpfs={"/tmp": "size=256m,mode=1777", "/work": "size=1g,mode=1777"} if self.read_only else None,
            labels=owner.labels(life_s),
        )
        try:
            container.start()
        except BaseException:
            self.remove(container)
            raise
        return container

    def remove(self, container: Any) -> None:
        """Remove a container with its volumes; gone already is well."""
        import docker.errors

        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True, v=True)

    def remove_image(self, image: str) -> None:
        """Remove a snapshot; one that is gone or still has boxes stays to the reaper."""
        import docker.errors

        with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
            self.client.images.remove(image)

    def _prepare(self, image: str) -> str:
        import docker.errors

        try:
            found: str = self.client.images.get(image).id
        except docker.errors.ImageNotFound:
            found = self.client.images.pull(image).id
        return found

    def _acquire(self, spec: SandboxSpec) -> DockerSandbox:
        image = self._prepare(spec.image)
        box = DockerSandbox(self, spec, image, self.create(image, spec))
        if spec.history == "sever":
            try:
                box.sever()
            except BaseException:
                self.remove(box.container)
                raise
        return box

    def _reap(self) -> int:
        # Another reaper may be at work: what is gone between listing and looking is no error.
        filters = {"label": owner.LABEL_OWNER}
        containers = self.client.containers.list(all=True, filters=filters, ignore_removed=True)
        orphans = [container for container in containers if owner.is_orphan(container.labels)]
        for container in orphans:
            self.remove(container)
        images = self.client.images.list(filters=filters)
        forgotten = [image for image in images if owner.is_orphan(image.labels)]
        for image in forgotten:
            self.remove_image(image.id)
        return len(orphans) + len(forgotten)


def _reach(url: str) -> None:
    """Connect to an engine's unix socket and let go; the SDK would leave a socket open where nobody listens.

    Raises:
        OSError: nobody listens.
    """
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(url.removeprefix("unix://"))


def _remove_late(made: "asyncio.Future[DockerSandbox]") -> None:
    if not made.cancelled() and made.exception() is None:
        box = made.result()
        threading.Thread(target=box.backend.remove, args=(box.container,)).start()
