"""What is missing is named with the command that installs it into this environment."""

import importlib.metadata
import json
import sys
from pathlib import Path

import pytest

from assay.core.hook import hookimpl
from assay.core.registry import PluginFailure, Registry
from assay.runtime import builtin
from assay.runtime.preflight import installation
from assay.runtime.preflight.check import pip


class Others:
    """Versions of packages as they are, but for some."""

    def __init__(self, **versions: str | None) -> None:
        self.versions = versions

    def __call__(self, name: str) -> str:
        version = self.versions.get(name.replace("-", "_"), importlib.metadata.version(name))
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version


def test_old_python_fails() -> None:
    check = installation.check_python((3, 10, 4))
    assert ("fail", "must be 3.11 or newer, got 3.10.4") == (check.state, check.found)
    assert "ok" == installation.check_python().state


def test_whole_installation_is_sound() -> None:
    checks = list(installation.check_packages())
    assert [("packages", "ok"), ("extra train", "ok"), ("extra docker", "ok"), ("extra judge", "ok")] == [
        (c.name, c.state) for c in checks
    ]


@pytest.mark.parametrize(
    ("others", "name", "state", "found"),
    [
        (Others(msgspec="0.1"), "packages", "fail", "msgspec must satisfy >=0.20, got 0.1"),
        (Others(torch=None, psutil=None), "extra train", "fail", "no psutil, no torch"),
        (Others(docker=None), "extra docker", "warn", "no docker"),
    ],
)
def test_missing_package_comes_with_its_command(others: Others, name: str, state: str, found: str) -> None:
    (check,) = [check for check in installation.check_packages(others) if check.state != "ok"]
    assert (name, state, found) == (check.name, check.state, check.found)
    extra = name.removeprefix("extra ") if name != "packages" else ""
    assert pip("install", *installation.source_of("assay-rl", extra)) == check.fix


@pytest.mark.parametrize(
    ("version", "has_gpu", "state", "found"),
    [
        ("2.13.0+cpu", False, "ok", "2.13.0+cpu, computes on the CPU"),
        ("2.13.0", False, "ok", "2.13.0, computes on the CPU"),
        ("2.13.0", True, "ok", "2.13.0, computes on an NVIDIA GPU"),
        ("2.13.0+cpu", True, "warn", "2.13.0+cpu computes on the CPU, and this machine has an NVIDIA GPU"),
        (None, False, "fail", "not installed"),
    ],
)
def test_torch_says_what_it_computes_on(version: str | None, has_gpu: bool, state: str, found: str) -> None:
    check = installation.check_torch(has_gpu, Others(torch=version))
    assert (state, found) == (check.state, check.found)
    assert (state == "ok") == (check.fix == "")


@pytest.mark.slow
def test_torch_is_not_imported_to_be_looked_at() -> None:
    import subprocess

    program = (
        "import sys; from assay.runtime.cli import main; status = main(['doctor', '--format', 'json']);"
        "print(status, *sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = ran.stderr.splitlines()[-1].split()
    heavy = ("torch", "numpy", "zmq", "docker", "hydra", "transformers", "megatron", "reasoning_gym")
    assert [] == [name for name in heavy if name in modules]
    assert {"name", "state", "found", "fix"} == set(json.loads(ran.stdout)["checks"][0])


def test_plugin_that_failed_and_names_that_clash_fail() -> None:
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    registry.add(builtin, "assay-copy", "2.0")
    registry.failures.append(PluginFailure("assay-broken", "1.0", "broken", "ModuleNotFoundError: no sums"))
    checks = {check.name: check for check in installation.check_plugins(registry)}
    broken = checks["plugin assay-broken"]
    assert ("fail", "1.0: broken must load, got ModuleNotFoundError: no sums") == (broken.state, broken.found)
    assert broken.fix.endswith("-m pip install --upgrade assay-broken")
    clash = checks["verifier text.equal"]
    assert ("fail", "must be offered once, got assay-rl 0.1.0 and assay-copy 2.0") == (clash.state, clash.found)
    assert clash.fix.endswith("-m pip uninstall assay-copy")
    assert "ok" == checks["plugins"].state


class Box:
    """A backend that isolates."""

    name = "box"

    def capabilities(self) -> frozenset[str]:
        return frozenset({"exec", "isolation.fresh"})

    @hookimpl
    def assay_sandboxes(self) -> "list[Box]":
        return [self]


def test_backend_that_isolates_is_wanted() -> None:
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    check = installation.check_sandboxes(registry)
    assert ("warn", "none that isolates, got process") == (check.state, check.found.partition(":")[0])
    assert "sandbox-docker" in check.fix
    registry.add(Box(), "assay-box", "1.0")
    assert "ok" == installation.check_sandboxes(registry).state


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, ["assay-demo[train]"]),
        ({"url": "file:///a%20b/demo", "dir_info": {"editable": True}}, ["--editable", "/a b/demo[train]"]),
        ({"url": "file:///demo.whl", "archive_info": {}}, ["/demo.whl[train]"]),
        (
            {"url": "https://example.org/demo.whl", "archive_info": {}},
            ["assay-demo[train] @ https://example.org/demo.whl"],
        ),
    ],
)
def test_package_is_installed_from_where_it_came(
    origin: dict[str, object] | None, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "assay_demo-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-demo\nVersion: 1.0\n")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert words == installation.source_of("assay-demo", "train")
