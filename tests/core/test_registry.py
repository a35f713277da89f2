"""The registry: failures are kept and told, names are found or suggested, workers load one object."""

import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

import assay
from assay.core.error import PluginError
from assay.core.registry import Registry, resolve


def broken() -> list[object]:
    raise RuntimeError("no such thing")


def test_a_hook_that_raises_is_recorded_with_its_reason() -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_verifiers=assay.hookimpl(broken)), "dist-a", "1.0")
    (failure,) = registry.failures
    assert ("dist-a", "1.0", "assay_verifiers") == (failure.dist, failure.version, failure.what)
    assert "RuntimeError: no such thing" == failure.reason
    assert "Traceback" in failure.story


def test_an_unknown_hook_is_recorded() -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_verifier=assay.hookimpl(lambda: [])), "dist-a", "1.0")
    assert "assay_verifier" in registry.failures[0].reason


def test_an_item_of_the_wrong_kind_is_recorded() -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_verifiers=assay.hookimpl(lambda: ["text"])), "dist-a", "1.0")
    assert "assay_verifiers" in registry.failures[0].reason
    assert "'text'" in registry.failures[0].reason


def test_one_broken_hook_leaves_the_others_working() -> None:
    @assay.function("twice", version=1, direction=["up"])
    def twice(x: float) -> float:
        return 2 * x

    registry = Registry()
    module = SimpleNamespace(assay_verifiers=assay.hookimpl(broken), assay_functions=assay.hookimpl(lambda: [twice]))
    registry.add(module, "dist-a", "1.0")
    assert twice is registry.find("function", "twice").value
    assert 1 == len(registry.failures)


def test_an_unknown_name_is_told_with_the_nearest_and_with_what_failed_to_load() -> None:
    registry = Registry()
    registry.add(SimpleNamespace(assay_verifiers=assay.hookimpl(broken)), "dist-broken", "1.0")

    @assay.function("twice", version=1, direction=["up"])
    def twice(x: float) -> float:
        return 2 * x

    registry.add(SimpleNamespace(assay_functions=assay.hookimpl(lambda: [twice])), "dist-a", "1.0")
    with pytest.raises(PluginError, match="did you mean `twice`") as caught:
        registry.find("function", "twise")
    assert "RX006" == caught.value.error_code
    assert "dist-broken" in str(caught.value)


def test_a_worker_loads_the_named_object_of_the_named_version() -> None:
    import pluggy

    assert pluggy.HookspecMarker is resolve(f"pluggy:{pluggy.__version__}:pluggy:HookspecMarker")


@pytest.mark.parametrize(
    ("ref", "what"),
    [
        ("no-such-dist:1:a:b", "no no-such-dist"),
        ("pluggy:0.0.1:pluggy:HookspecMarker", "pluggy 0.0.1"),
        ("pluggy:{version}:pluggy:NoSuchThing", "NoSuchThing"),
        ("pluggy:{version}:no_such_module:x", "no_such_module"),
    ],
)
def test_a_worker_refuses_what_it_does_not_have(ref: str, what: str) -> None:
    import pluggy

    with pytest.raises(PluginError, match=what):
        resolve(ref.format(version=pluggy.__version__))


@pytest.mark.slow
def test_packages_that_break_or_want_another_host_are_shown_and_hurt_nobody(tmp_path: Path) -> None:
    for name, module, requires in (
        ("assay-broken", "raise ImportError('missing part')", "assay-rl>=0.1"),
        ("assay-future", "", "assay-rl>=99"),
    ):
        package = name.replace("-", "_")
        (tmp_path / f"{package}.py").write_text(module)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(f"[assay]\nx = {package}\n")
    script = """
        from assay.core.registry import installed
        registry = installed()
        for failure in sorted(registry.failures, key=lambda failure: failure.dist):
            print(failure.dist, failure.reason)
        print(registry.find("verifier", "text.equal").dist)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "assay-broken ImportError: missing part" == lines[0]
    assert lines[1].startswith("assay-future assay-rl must satisfy >=99, got ")
    assert "assay-rl" == lines[2]
