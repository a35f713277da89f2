"""Which trackers a run has, and that what a tracker or launcher refuses is refused before the run."""

from importlib.metadata import version
from types import SimpleNamespace

import pytest

import assay
from assay.core.error import AssayError
from assay.core.launcher import Launch
from assay.core.leaf import Factory
from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.config.setting import LauncherSettings, TrackerSettings
from assay.runtime.run.build import _check_launcher, _trackers


@pytest.fixture
def registry() -> Registry:
    found = Registry()
    found.add(builtin, "assay-rl", version("assay-rl"))
    offer = assay.hookimpl(lambda: [Factory("needy", "fractions:Fraction", "Wants a number.")])
    found.add(SimpleNamespace(assay_trackers=offer), "assay-rl", version("assay-rl"))
    return found


def test_run_has_no_tracker_unless_one_is_named(registry: Registry) -> None:
    assert {} == _trackers(TrackerSettings("none"), registry)


def test_run_has_the_named_tracker_and_further_ones(registry: Registry) -> None:
    settings = TrackerSettings("jsonl", {"needy": {"numerator": 3}}, {"path": "x.jsonl"})
    found = _trackers(settings, registry)
    assert {"jsonl": {"path": "x.jsonl"}, "needy": {"numerator": 3}} == {n: one.arguments for n, one in found.items()}
    assert found["jsonl"].ref.endswith("assay.runtime.tracker.jsonl:JsonlTracker")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TrackerSettings("jsnl"), "unknown tracker `jsnl`. did you mean `jsonl`?"),
        (TrackerSettings("none", {"jsnl": {}}), "unknown tracker `jsnl`"),
        (TrackerSettings("jsonl", {}, {"path": ""}), "tracker.path must name a file"),
        (TrackerSettings("none", {"needy": {"numerator": "x"}}), "a tracker must be made, got ValueError"),
        (TrackerSettings("none", {"jsonl": {"pth": "x"}}), "a tracker must be made, got TypeError"),
    ],
)
def test_tracker_that_cannot_be_made_is_refused(registry: Registry, settings: TrackerSettings, message: str) -> None:
    with pytest.raises(AssayError) as caught:
        _trackers(settings, registry)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 3}, "a launcher must be made, got TypeError"),
        ({"refuse": True}, "launcher.refuse must be false"),
    ],
)
def test_launcher_that_cannot_be_made_is_refused(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], message: str
) -> None:
    def make(launch: Launch, *, refuse: bool = False) -> None:
        if refuse:
            raise AssayError("launcher.refuse must be false", got=refuse)

    monkeypatch.setattr("assay.runtime.launch.local.LocalLauncher", make)
    wanted = LauncherSettings("local", 1, 1, 1, 1, 1, 1.0, 1.0, 1.0, options)
    with pytest.raises(AssayError) as caught:
        _check_launcher(wanted, registry)
    assert message in str(caught.value)
