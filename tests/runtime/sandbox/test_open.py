"""Which boxes the verifiers of a run get, and which runs are refused."""

from pathlib import Path

import msgspec
import pytest

from assay.core.error import ConfigError, PluginError, SandboxError
from assay.core.hook import hookimpl
from assay.core.leaf import Needs, verifier
from assay.core.registry import Registry
from assay.core.signal import Signals
from assay.dsl.compile import compile_bytes
from assay.runtime import builtin
from assay.runtime.run.build import build_entry
from assay.runtime.run.plan import RunPlan
from assay.runtime.sandbox import open as opening
from assay.runtime.sandbox.open import attach_sandbox, open_boxes, prepare_boxes, unguarded
from assay.runtime.sandbox.process import ProcessBackend

DOMAIN = """\
assay: 1
domain: demo.boxed
version: 1
fields: {{q: str}}
data: {{train: [{{q: a}}]}}
prompt: "{{q}}"
{box}
verify:
  run: {leaf}()
reward:
  outcome:
    correct: 1.0*run.ok
"""


class Ran(Signals, frozen=True):
    ok: bool


@verifier("demo.run", version=1, needs=Needs(sandbox=True))
async def run(answer: str | None, box: object) -> Ran:
    """Run something."""
    raise AssertionError(answer, box)


@verifier("demo.plain", version=1)
def plain(answer: str | None) -> Ran:
    """Run nothing."""
    return Ran(ok=answer is None)


class Verifiers:
    """A package of these two."""

    @hookimpl
    def assay_verifiers(self) -> list[object]:
        return [run, plain]


@pytest.fixture(scope="module")
def registry() -> Registry:
    found = Registry()
    found.add(builtin, "assay-rl", "0")
    found.add(Verifiers(), "demo", "1")
    return found


def plan_of(registry: Registry, box: str = "sandbox: {image: any}", leaf: str = "demo.run") -> RunPlan:
    compiled = compile_bytes(DOMAIN.format(box=box, leaf=leaf).encode(), registry, "boxed.yaml", Path())
    return RunPlan("try", 0, (build_entry("one", 1.0, compiled, registry),), (), "", {}, {})


def test_named_backend_is_found_by_workers_through_its_class(registry: Registry) -> None:
    plan = attach_sandbox(plan_of(registry), {"name": "process", "boxes": 2}, registry)
    assert "assay-rl:0:assay.runtime.sandbox.process:ProcessBackend" == plan.factories["sandbox"]
    assert ("exec", "history.sever", "image", "isolation.fresh", "net.none") == plan.entries[0].needs


def test_what_the_named_backend_does_not_hold_is_said(registry: Registry) -> None:
    plan = attach_sandbox(plan_of(registry), {"name": "process", "boxes": 2}, registry)
    factories = {**plan.factories, "sandbox": plan.factories["sandbox"].replace(":0:", f":{installed()}:")}
    (line,) = unguarded(msgspec.structs.replace(plan, factories=factories))
    assert line.startswith("sandbox=process does without history.sever, image, isolation.fresh, net.none: answers of")


def test_process_is_never_taken_by_itself(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"must have a sandbox, got sandbox=none - at mix\.one\. Add sandbox=docker"):
        attach_sandbox(plan_of(registry), {"name": "none"}, registry)


def test_what_cannot_be_done_without_is_refused(registry: Registry) -> None:
    with pytest.raises(
        PluginError, match="`process` must be able to do what the domain needs, got no memory"
    ) as caught:
        attach_sandbox(plan_of(registry, "sandbox: {image: any, memory: 1GiB}"), {"name": "process"}, registry)
    assert "SB001" == caught.value.error_code


def test_domain_must_say_what_its_boxes_are_like(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"must say what they are like, got no `sandbox:` - at mix\.one: local/demo"):
        attach_sandbox(plan_of(registry, box=""), {"name": "process"}, registry)


def test_backend_that_nobody_wants_or_nobody_offers_is_refused(registry: Registry) -> None:
    with pytest.raises(ConfigError, match="a sandbox must be wanted by a verifier of the mix"):
        attach_sandbox(plan_of(registry, leaf="demo.plain"), {"name": "process"}, registry)
    with pytest.raises(PluginError, match="unknown sandbox `proces`"):
        attach_sandbox(plan_of(registry), {"name": "proces"}, registry)


def test_image_that_is_not_there_is_told_of_before_anything_starts(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bare(ProcessBackend):
        async def prepare(self, image: str) -> str:
            raise SandboxError("no such image")

    plan = attach_sandbox(plan_of(registry), {"name": "process"}, registry)
    monkeypatch.setattr(opening, "resolve", lambda ref: Bare)
    with pytest.raises(SandboxError, match=r"must have every image .*got no such image - at image any\. Start it"):
        prepare_boxes(plan)
    prepare_boxes(plan_of(registry, leaf="demo.plain"))


def test_run_that_wants_no_box_opens_none(registry: Registry) -> None:
    plan = plan_of(registry, leaf="demo.plain")
    assert plan == attach_sandbox(plan, {"name": "none"}, registry)
    assert open_boxes(plan) is None
    assert [] == unguarded(plan)


def installed() -> str:
    """Return the version that this environment has, by which a worker finds the backend."""
    from importlib.metadata import version

    return version("assay-rl")
