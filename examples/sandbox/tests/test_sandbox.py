"""The backend keeps the contract of sandboxes."""

import asyncio
from pathlib import Path

import pytest
from assay_example_sandbox.folders import Folders

from assay.core.error import SandboxError
from assay.core.sandbox import SandboxSpec
from assay.testing import SandboxContract

PROJECT = str(Path(__file__).parent / "project")

TestFolders = SandboxContract.of(Folders(), spec=SandboxSpec(PROJECT))


def test_box_begins_as_the_project_and_leaves_it_alone() -> None:
    async def change() -> bytes:
        box = await Folders().acquire(SandboxSpec(PROJECT), 1.0)
        found = await box.get("shop.py")
        await box.put("shop.py", b"")
        await box.close()
        return found

    assert asyncio.run(change()) == (Path(PROJECT) / "shop.py").read_bytes() != b""


def test_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(SandboxError, match=r"an image must name a folder, got .*absent"):
        asyncio.run(Folders().acquire(SandboxSpec("absent"), 1.0))
