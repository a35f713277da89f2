"""What a leaf imports late is there before its first call."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.runtime.verify.warm import import_all

PLUGIN = {
    "__init__.py": "",
    "leaf.py": """
import assay

class Out(assay.Signals, frozen=True):
    x: float

def inner():
    if False:
        import fractions_never_there
    from warm_plugin.other import deep
    return deep()

@assay.verifier("warm.v", version=1)
def v(answer: str) -> Out:
    return Out(x=inner())
""",
    "other.py": """
ran = False

def deep():
    global ran
    ran = True
    from . import late
    return late.value
""",
    "late.py": "value = 1.0",
    "unused.py": "",
}


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package whose verifier reaches its imports through two functions."""
    folder = tmp_path / "warm_plugin"
    folder.mkdir()
    for name, text in PLUGIN.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    yield importlib.import_module("warm_plugin.leaf")
    for name in [name for name in sys.modules if name.startswith("warm_plugin")]:
        del sys.modules[name]


def test_imports_are_made_and_no_function_is_run(plugin: Any) -> None:
    assert "warm_plugin.late" not in sys.modules
    import_all(plugin.v)
    assert {"warm_plugin.other", "warm_plugin.late"} <= sys.modules.keys()
    assert "warm_plugin.unused" not in sys.modules
    assert not sys.modules["warm_plugin.other"].ran
