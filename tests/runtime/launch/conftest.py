"""Inline runs over a plugin that is made for the test."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hazard_plugin import DOMAIN, MODULE

from assay.core.registry import Registry
from assay.dsl.compile import compile_bytes
from assay.runtime import builtin
from assay.runtime.cli.try_ import try_plan
from assay.runtime.coordinator.instruction import Finish
from assay.runtime.launch.inline import Inline, inline_folder
from assay.runtime.launch.stub import StubChat, StubEngine
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder

Play = Callable[..., tuple[Finish, RunFolder]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Plays all held-out tasks of a domain with one verifier and one source, answering `yes`."""
    site = tmp_path / "site"
    info = site / "assay_hazard-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-hazard\nVersion: 1.0\n")
    (site / "assay_hazard_leaves.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "assay_hazard_leaves", raising=False)
    registry = Registry()
    registry.add(builtin, "assay-rl", _version())
    registry.add(importlib.import_module("assay_hazard_leaves"), "assay-hazard", "1.0")
    assert [] == registry.failures

    def run(verifier: str = "hazard.right", source: str = "hazard.rows()") -> tuple[Finish, RunFolder]:
        text = DOMAIN.format(verifier=verifier, source=source).encode()
        compiled = compile_bytes(text, registry, "hazard.yaml", tmp_path)
        entry = build_entry("hazard", 1.0, compiled, registry)
        plan = try_plan(entry, "stub", registry, tasks=4)
        folder = inline_folder(tmp_path / "run")
        inline = Inline(plan, folder, StubEngine("yes"), StubChat(), paths=[str(site)], should_validate=True)
        finish = inline.run(60.0)
        return finish, folder

    return run


def _version() -> str:
    from importlib.metadata import version

    return version("assay-rl")
