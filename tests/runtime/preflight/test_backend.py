"""Controls of verifiers that want boxes get them from a backend that declares enough, and from no other."""

from pathlib import Path

import pytest

from assay.core.error import PluginError, SandboxError
from assay.core.hook import hookimpl
from assay.core.registry import Registry
from assay.core.sandbox import SandboxSpec
from assay.dsl.compile import Compiled, compile_bytes
from assay.dsl.expr.function import BUILTIN
from assay.runtime.preflight.backend import choose_backend
from assay.runtime.preflight.control import Trial, subject_of, try_controls
from assay.runtime.sandbox.host import BoxHost
from assay.runtime.sandbox.process import ProcessBackend, ProcessSandbox
from assay.runtime.verify.host import VerifierHost

DOMAIN = b"""\
assay: 1
domain: demo.boxed
version: 1
fields: {right: str}
data:
  train:
    - {right: "true"}
prompt: "Write a command that succeeds."
sandbox: {image: any}
verify:
  run: boxed.shell()
reward:
  outcome:
    correct: 1.0*run.ok
controls:
  oracle: {answer: "{right}", reward: "> 0.9"}
  nop: {answer: "", reward: "< 0.1"}
"""


class Declaring(ProcessBackend):
    """The trusted backend under another name, which says it can do everything."""

    name = "declaring"

    def capabilities(self) -> frozenset[str]:
        return frozenset({"exec", "image", "net.none", "history.sever", "isolation.fresh"})


class Gone(Declaring):
    """A backend whose daemon is gone."""

    name = "gone"

    async def acquire(self, spec: SandboxSpec, deadline_s: float) -> ProcessSandbox:
        raise SandboxError("no daemon")


class Offers:
    """A package of backends."""

    @hookimpl
    def assay_sandboxes(self) -> list[ProcessBackend]:
        return [Declaring(), Gone()]


@pytest.fixture(scope="module")
def compiled(registry: Registry) -> Compiled:
    return compile_bytes(DOMAIN, registry, "boxed.yaml", Path())


def attempt(compiled: Compiled, registry: Registry, plugin_folder: Path, backend: ProcessBackend) -> list[Trial]:
    subject = subject_of("boxed", compiled, registry, BUILTIN)
    with VerifierHost(boxes=BoxHost(backend), paths=[str(plugin_folder)]) as host:
        return try_controls([subject], host, 1)


@pytest.mark.slow
def test_control_is_graded_in_a_box(compiled: Compiled, registry: Registry, plugin_folder: Path) -> None:
    trials = attempt(compiled, registry, plugin_folder, Declaring())
    assert [((1.0,), ""), ((0.0,), "")] == [(trial.rewards, trial.problem) for trial in trials]


@pytest.mark.slow
def test_lost_box_says_nothing_about_the_grader(compiled: Compiled, registry: Registry, plugin_folder: Path) -> None:
    oracle, nop = attempt(compiled, registry, plugin_folder, Gone())
    assert (True, True) == (oracle.is_lost, nop.is_lost)
    assert oracle.problem.startswith("train[0]: must be scored, got infra of `run`")
    assert "no daemon" in oracle.problem


def test_backend_must_declare_everything_needed(compiled: Compiled) -> None:
    assert compiled.facts is not None
    registry = Registry()
    registry.add(Offers(), "assay-offers", "1.0")
    chosen = choose_backend(compiled.facts.needs, registry)
    assert chosen is not None and "declaring" == chosen.name
    named = choose_backend(compiled.facts.needs, registry, "gone")
    assert named is not None and "gone" == named.name
    with pytest.raises(PluginError, match="declaring lacks gpu; gone lacks gpu") as caught:
        choose_backend({"exec", "gpu"}, registry)
    assert "SB001" == caught.value.error_code
    assert None is choose_backend((), registry)


def test_unnamed_backend_is_taken_for_what_it_declares_alone(compiled: Compiled, registry: Registry) -> None:
    assert compiled.facts is not None
    with pytest.raises(PluginError, match=r"process lacks history\.sever, image, isolation\.fresh, net\.none"):
        choose_backend(compiled.facts.needs, registry)
    named = choose_backend(compiled.facts.needs, registry, "process")
    assert named is not None and "process" == named.name
