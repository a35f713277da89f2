"""Choices and settings: what is accepted has an effect, what is not is CF001 with its number and the nearest names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.hook import hookimpl
from assay.core.leaf import Factory
from assay.core.registry import Registry
from assay.dsl.source.diagnostic import Finding
from assay.runtime import builtin
from assay.runtime.config.composition import Composition, compose
from assay.runtime.config.override import read_overrides

pytestmark = pytest.mark.slow  # Hydra takes 0.15 s to compose once

Compose = Callable[..., Composition]


def brief(findings: tuple[Finding, ...]) -> list[tuple[str, str, int, int]]:
    """Return code, path and columns of findings."""
    return [(one.code, one.span.path, one.span.column, one.span.end_column) for one in findings]


def test_defaults_compose_without_a_finding(composed: Compose) -> None:
    found = composed()
    assert () == found.findings
    assert found.settings is not None
    assert ("embedded", 0.001, 160) == (
        found.settings.engine.name,
        found.settings.trainer.lr,
        found.settings.eval.tasks,
    )


def test_override_sets_its_key_and_no_other(composed: Compose) -> None:
    base, found = composed(), composed("trainer.lr=3e-4")
    assert found.settings is not None
    assert 0.0003 == found.settings.trainer.lr
    assert {**base.job, "trainer": {**base.job["trainer"], "lr": 0.0003}} == found.job


def test_last_of_two_overrides_of_one_key_holds(composed: Compose) -> None:
    found = composed("run.seed=1", "run.seed=2")
    assert found.settings is not None
    assert (2, "<override 2>") == (found.settings.run.seed, found.origins["run.seed"])


UNREAD = [
    ("trainer.lrr=1", "CF001", (1, 12), "did you mean `lr`"),
    ("trainr.lr=1", "CF001", (1, 10), "did you mean `trainer`"),
    ("trainer.lr.x=1", "CF001", (1, 13), ""),
    ("+trainer.lrr=1", "CF001", (2, 13), "did you mean `lr`"),
    ("+eval.evry=1", "CF001", (2, 11), "did you mean `every`"),
    ("+policy.hiden=1", "CF001", (2, 14), "did you mean `hidden`"),
    ("+extra.x=1", "CF001", (2, 9), ""),
    ("+extra=1", "CF001", (2, 7), ""),
    ("++trainer.lrr=1", "CF001", (3, 14), "did you mean `lr`"),
    ("+trainer.lr=1", "CF001", (2, 12), "write `trainer.lr=1`"),
    ("~trainer.lrr", "CF001", (2, 13), "did you mean `lr`"),
    ("~trainer.lr", "CF001", (2, 12), ""),
    ("engine=embeded", "CF001", (8, 15), "did you mean `embedded`"),
    ("engine=null", "CF001", (8, 12), ""),
    ("+engine=embedded", "CF001", (2, 8), "write `engine=NAME`"),
    ("~tracker", "CF001", (2, 9), ""),
    ("enigne=embedded", "CF001", (1, 7), "did you mean `engine`"),
    ("curriculum=quikstart", "CF001", (12, 21), "did you mean `quickstart`"),
    ("hydra.run.dir=x", "CF001", (1, 14), "only composition"),
    ("domain=x", "CF001", (1, 7), "domain.<entry>"),
    ("trainer.lr=1,2", "CF001", (12, 15), "-m"),
    ("trainer.lr=(1", "CF001", (12, 14), "quotes"),
    ("run.name=${nothing}", "CF001", (10, 20), ""),
    ("trainer.lr=fast", "YM003", (12, 16), ""),
    ("trainer.lr=-1", "YM003", (12, 14), ""),
    ("launcher.sources=0", "YM003", (18, 19), ""),
    ("launcher.sources=1.5", "YM003", (18, 21), ""),
    ("trainer.lr=null", "YM003", (12, 16), ""),
    ("engine.name=vlm", "RX006", (13, 16), "embedded"),
    ("trainer=1", "CF001", (9, 10), ""),
]


@pytest.mark.parametrize(("text", "code", "columns", "hint"), UNREAD, ids=[row[0] for row in UNREAD])
def test_override_that_nothing_reads_is_one_finding_that_points_into_it(
    composed: Compose, text: str, code: str, columns: tuple[int, int], hint: str
) -> None:
    found = composed("run.seed=3", text)
    assert [(code, "<override 2>", *columns)] == brief(found.findings)
    assert hint in f"{found.findings[0].message} {found.findings[0].hint}"


def test_all_faulty_overrides_are_reported_in_one_pass(composed: Compose) -> None:
    found = composed("trainer.lrr=1", "engine=embeded", "eval.every=x", "run.seed=3", "+eval.foo=1")
    assert {("CF001", 1), ("CF001", 2), ("YM003", 3), ("CF001", 5)} == {
        (one.code, int(one.span.path[len("<override ") : -1])) for one in found.findings
    }


@pytest.mark.parametrize(
    ("texts", "number"),
    [
        (("trainer.lr_floor=0.1", "~curriculum.stages.warmup.decay"), 1),
        (("trainer.lr=0.1", "+curriculum.stages.learn.lr=0.2"), 1),
        (("policy.path=somewhere", "policy.hidden=64"), 2),
        (("trainer.batch=4",), 1),
    ],
)
def test_override_whose_key_something_else_decides_is_reported(
    composed: Compose, texts: tuple[str, ...], number: int
) -> None:
    assert [("CF001", f"<override {number}>")] == [row[:2] for row in brief(composed(*texts).findings)]


def test_key_that_must_be_given_is_reported_where_the_file_leaves_it_open(composed: Compose) -> None:
    found = composed("policy=folder")
    assert [("CF001", "policy/folder.yaml", 7, 10)] == brief(found.findings)
    assert () == composed("policy=folder", "policy.path=somewhere").findings


def perturbed(value: object) -> str:
    match value:
        case bool():
            return str(not value).lower()
        case int():
            return str(value + 1)
        case float():
            return str(value / 2 if value else 0.5)
        case list():
            return "[other]"
        case _:
            return "other"


def test_every_key_changes_the_settings_or_is_refused(composed: Compose) -> None:
    base = composed()
    values = {
        f"{group}.{key}": (value, perturbed(value))
        for group, below in base.job.items()
        if group not in ("domain", "curriculum")
        for key, value in below.items()
        # A policy from a folder makes the keys of a new one idle; a mapping is changed by its keys.
        if (group, key) != ("policy", "path") and not isinstance(value, dict)
    }
    found = composed(*(f"{key}={new}" for key, (_, new) in values.items()))
    refused = {int(one.span.path[len("<override ") : -1]) for one in found.findings}
    assert base.settings is not None and found.settings is not None
    for index, (key, (old, new)) in enumerate(values.items(), start=1):
        group, _, name = key.partition(".")
        assert f"<override {index}>" == found.origins[key]
        if index not in refused:
            before, after = (getattr(settings, group) for settings in (base.settings, found.settings))
            read = (
                getattr(before, name) != getattr(after, name)
                if name in before.__struct_fields__
                else before.options[name] != after.options[name]
            )
            assert read, f"{key}: {old} -> {new}"
    # Nothing is registered under the new names, and every stage of the quickstart states its own batch.
    keys = {key for index, key in enumerate(values, start=1) if index in refused}
    assert keys <= {"trainer.batch", "eval.strategy", *(key for key in values if key.endswith(".name"))}


def test_further_trackers_are_named_with_their_options(composed: Compose) -> None:
    found = composed("tracker=jsonl", "+tracker.also.recorder={project: mine}", "+tracker.also.plain={}")
    assert () == found.findings
    assert found.settings is not None
    assert {"recorder": {"project": "mine"}, "plain": {}} == found.settings.tracker.also


def test_every_value_says_where_it_comes_from(composed: Compose) -> None:
    found = composed("trainer.lr=1", "policy=folder", "policy.path=somewhere")
    assert {f"{group}.{key}" for group, below in found.job.items() for key in below} == set(found.origins)
    assert ("<override 1>", "<override 3>", "policy/folder.yaml:2") == tuple(
        found.origins[key] for key in ("trainer.lr", "policy.path", "policy.max_positions")
    )


class Recorder:
    """A tracker of a package."""

    def __init__(self, project: str, *, mode: str = "online") -> None:
        self.project = project
        self.mode = mode


class Package:
    """A plugin module that brings a tracker, and a folder with its file."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @hookimpl
    def assay_trackers(self) -> list[Factory]:
        return [Factory("recorder", Recorder)]

    @hookimpl
    def assay_config_dirs(self) -> list[str]:
        return [self.folder]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    root = tmp_path / "assay_test_package"
    (root / "conf" / "tracker").mkdir(parents=True)
    (root / "__init__.py").touch()
    (root / "conf" / "tracker" / "recorder.yaml").write_text("name: recorder\nproject: mine\n")
    (root / "conf" / "tracker" / "broken.yaml").write_text("name: [recorder\n")
    (root / "conf" / "tracker" / "double.yaml").write_text("name: recorder\nname: none\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry()
    registry.add(builtin, "assay-rl", "0.1.0")
    registry.add(Package("assay_test_package/conf"), "assay-test-package", "1.0")
    return registry


def test_package_brings_files_and_their_keys_are_arguments(composed: Compose, package: Registry) -> None:
    found = composed("tracker=recorder", "+tracker.mode=offline", registry=package)
    assert () == found.findings
    assert found.settings is not None
    assert {"project": "mine", "mode": "offline"} == found.settings.tracker.options
    assert "tracker/recorder.yaml:2" == found.origins["tracker.project"]


def test_key_that_a_packages_thing_does_not_take_is_reported(composed: Compose, package: Registry) -> None:
    found = composed("tracker=recorder", "+tracker.mod=offline", registry=package)
    assert [("CF001", "<override 2>", 2, 13)] == brief(found.findings)
    assert "did you mean `mode`" in found.findings[0].hint


@pytest.mark.parametrize(("name", "code"), [("broken", "YM005"), ("double", "YM001")])
def test_broken_group_file_is_a_finding_in_the_file(composed: Compose, package: Registry, name: str, code: str) -> None:
    found = composed(f"tracker={name}", "trainer.lrr=1", registry=package)
    assert {(code, f"tracker/{name}.yaml"), ("CF001", "<override 2>")} == {row[:2] for row in brief(found.findings)}


@pytest.mark.parametrize("content", [None, b"a: [", b"\xff", b"a: 1\na: 2\n"])
def test_unreadable_curriculum_file_is_a_finding(composed: Compose, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content)
    found = composed(f"curriculum={path}")
    assert {str(path)} if content is not None else {"<override 1>"} == {one.span.path for one in found.findings}


def test_curriculum_may_be_a_path(composed: Compose, tmp_path: Path) -> None:
    path = tmp_path / "my mix-1.yaml"
    path.write_text("assay: 1\ncurriculum: mine\n")
    found = composed(f"curriculum='{path}'")
    assert () == found.findings
    assert ("my mix-1", path) == (found.choices["curriculum"].name, found.choices["curriculum"].path)


AWKWARD = [
    *("min(a,3)", "0.4*(a > 0)", "a == 1", "<= 0.02 USD", "band(low=0.2)", "1e3", "x == 'y, z'", "it's", "${a}", "*"),
    *("{a: 1, b: [2]}", "[a, b]", "", "null", "a=b", "# no comment", "!x", "a\\", "no", "12:30:00", "\u00fc"),
]


PLACES = ("domain.math.reward.outcome", "curriculum.require")


@pytest.fixture(scope="module")
def awkward(registry: Registry) -> Composition:
    texts = [f"{place}.v{index}={value}" for place in PLACES for index, value in enumerate(AWKWARD)]
    return compose(read_overrides(texts)[0], registry)


def test_awkward_values_compose_without_a_finding(awkward: Composition) -> None:
    assert () == awkward.findings


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("index", "value"), list(enumerate(AWKWARD)), ids=AWKWARD)
def test_hydra_keeps_awkward_values_as_text(awkward: Composition, place: str, index: int, value: str) -> None:
    node = awkward.job
    for part in place.split("."):
        node = node[part]
    assert value == node[f"v{index}"]
    assert f"{place}.v{index}={value}" in awkward.hydra["overrides"]["task"]
