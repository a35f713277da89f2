"""`folders`: boxes that are copies of a folder, and snapshots that are copies of a box."""

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from assay.core.error import SandboxError
from assay.core.sandbox import SandboxSpec
from assay_example_sandbox.box import Box

# Names the owner of each box, so that another process can tell what was left behind.
_PREFIX = "assay-folders-"


class Folders:
    """Copies of project folders, for commands that you trust."""

    name = "folders"

    def capabilities(self) -> frozenset[str]:
        """Return what a box is held to; isolation is not among it."""
        return frozenset({"exec", "image", "time", "snapshot", "fork"})

    async def prepare(self, image: str) -> str:
        """Return a digest of the folder's names and contents.

        Raises:
            SandboxError: there is no such folder.
        """
        digest = hashlib.sha256()
        root = self._project(image)
        for path in sorted(root.rglob("*")):
            digest.update(str(path.relative_to(root)).encode(errors="surrogateescape"))
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> Box:
        """Return a copy of the folder that `spec.image` names.

        Raises:
            SandboxError: there is no such folder, or memory must be bounded, which this backend cannot.
        """
        if spec.memory_bytes is not None:
            raise SandboxError("a box with bounded memory must come from another backend", got=self.name)
        project = self._project(spec.image)
        home = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        deadline = time.monotonic() + (spec.time_s or float("inf"))
        return Box.copy_of(project, home, deadline)

    async def reap(self) -> int:
        """Remove the boxes of processes that are gone; returns how many."""
        count = 0
        for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            owner = home.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                shutil.rmtree(home, ignore_errors=True)
                count += 1
        return count

    def _project(self, image: str) -> Path:
        root = Path(os.environ.get("ASSAY_FOLDERS", "."))
        project = (root / image).absolute()
        if not project.is_dir():
            raise SandboxError(
                "an image must name a folder", got=project, todo="ASSAY_FOLDERS says what it counts from"
            )
        return project
