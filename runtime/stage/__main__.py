"""Starts one process of a run: `python -m assay.runtime.stage <role> <name> <run folder>`."""

import argparse
import ctypes
import inspect
import os
import random
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.error import AssayError
from assay.core.registry import resolve
from assay.runtime.run.environment import LAUNCHER_PID, WEIGHTS_FOLDER
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import RunPlan, read_plan
from assay.runtime.wire.client import Client
from assay.runtime.wire.server import socket_address

_PR_SET_PDEATHSIG = 1
# Episodes that a verify worker holds at a time, so that it never waits for the coordinator between two.
_VERIFY_SLOTS = 32
# Episodes that an engine plays at a time, where it does not say.
_ROLLOUT_SLOTS = 256
# Difference of log-probs that rounding in float32 explains.
_PROBE_TOLERANCE = 1e-4
# What only some roles may import; each process says at its end which of them it did.
_HEAVY = ("megatron", "torch", "transformers", "numpy", "reasoning_gym", "sympy", "hydra", "zmq")
_PROBE_SEQUENCES, _PROBE_TOKENS = 4, 12


def main(argv: list[str] | None = None) -> int:
    """Run one stage until the run ends; returns the exit status."""
    parser = argparse.ArgumentParser(prog="assay.runtime.stage")
    parser.add_argument("role", choices=sorted(_STAGES))
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args(argv)
    die_with_parent()
    folder = RunFolder(arguments.folder.resolve())
    try:
        return _STAGES[arguments.role](read_plan(folder.path), folder, arguments.name) or 0
    except AssayError as error:
        print(f"error[{error.error_code}]: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        print(f"imported: {' '.join(name for name in _HEAVY if name in sys.modules)}", flush=True)


def die_with_parent() -> None:
    """Have the kernel end this process when its launcher ends; at once where that has happened already."""
    launcher = os.environ.get(LAUNCHER_PID)
    if launcher is not None:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(launcher):
            os._exit(1)
    # The launcher decides when a run ends; a terminal's Ctrl-C is the launcher's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_coordinator(plan: RunPlan, folder: RunFolder, name: str) -> int:
    """Decide, until the run is over."""
    from assay.runtime.coordinator.loop import run_coordinator
    from assay.runtime.run.coordination import run_spec

    finish = run_coordinator(folder.path, run_spec(plan))
    print(finish.reason, flush=True)
    return finish.code


def run_source(plan: RunPlan, folder: RunFolder, name: str) -> None:
    """Make tasks."""
    from assay.runtime.stage.source import SourceStage
    from assay.runtime.stage.worker import serve

    store = open_store(plan, folder, name)
    client = connect(plan, folder, "source", name, {"slots": 4.0})
    serve(client, SourceStage(plan, store, client))


def run_rollout(plan: RunPlan, folder: RunFolder, name: str) -> None:
    """Play episodes."""
    from assay.runtime.run.policy import wait_for_policy
    from assay.runtime.stage.probe import Probe
    from assay.runtime.stage.rollout import RolloutStage, parser_refs
    from assay.runtime.stage.worker import serve
    from assay.runtime.verify.host import VerifierHost

    set_threads(plan)
    settings, make_engine = plan.settings["engine"], factory(plan, "engine")
    policy = wait_for_policy(plan)
    engine = make_engine(policy, **context_limit(make_engine, plan), **settings["options"])
    chat = open_chat(plan, policy)
    parsers = None
    if refs := parser_refs(plan):
        parsers = VerifierHost()
        parsers.start(refs)
    probe = Probe(folder.probes, _PROBE_TOLERANCE, lambda line: print(f"alarm: {line}", file=sys.stderr, flush=True))
    store = open_store(plan, folder, name)
    slots = float(settings["options"].get("max_active", _ROLLOUT_SLOTS))
    client = connect(plan, folder, "rollout", name, {"slots": slots})
    stage = RolloutStage(
        plan,
        engine,
        chat,
        store,
        client,
        parsers=parsers,
        temperature=settings["temperature"],
        top_p=settings["top_p"],
        eval_temperature=plan.settings["eval"]["temperature"],
        probe=probe,
    )
    serve(client, stage)
    print(
        f"probes: {probe.num_checked} checked, {probe.num_missing} missing, largest gap {probe.worst:.3g}", flush=True
    )


def run_verify(plan: RunPlan, folder: RunFolder, name: str) -> None:
    """Verify episodes."""
    from assay.runtime.judge.open import open_judge
    from assay.runtime.review.desk import PeopleDesk
    from assay.runtime.sandbox.open import open_boxes
    from assay.runtime.stage.verify import VerifyStage, rubrics
    from assay.runtime.stage.worker import serve
    from assay.runtime.verify.grade import GradeDesk
    from assay.runtime.verify.host import VerifierHost

    host = VerifierHost(boxes=open_boxes(plan), judges=open_judge(plan, folder.judge))
    desk = GradeDesk(host, rubrics(plan.entries), PeopleDesk(folder.path))
    desk.host.wait_started()
    write_protections(folder, desk.host.locked)
    store = open_store(plan, folder, None)
    client = connect(plan, folder, "verify", name, {"slots": float(_VERIFY_SLOTS)})
    serve(client, VerifyStage(desk, store, client))


def write_protections(folder: RunFolder, locked: Mapping[str, tuple[str, ...]]) -> None:
    """Say in the run folder what verifiers are kept from here, and what they are not."""
    from assay.runtime.verify.lockdown import missing

    found = {name: {"in_force": words, "missing": missing(words)} for name, words in locked.items()}
    draft = folder.protections.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    draft.replace(folder.protections)


def run_update(plan: RunPlan, folder: RunFolder, name: str) -> None:
    """Train, as the rank that the environment names."""
    from assay.runtime.policy.architecture import Architecture
    from assay.runtime.run.policy import make_policy, wait_for_policy
    from assay.runtime.stage.rank import RankWorker
    from assay.runtime.stage.update import UpdateStage
    from assay.runtime.weight.layout import WeightLayout
    from assay.runtime.weight.publisher import WeightPublisher

    set_threads(plan)
    settings = plan.settings["trainer"]
    # Before Megatron is imported, which takes seconds: rollout workers wait for it.
    policy = make_policy(plan) if os.environ.get("RANK", "0") == "0" else wait_for_policy(plan)
    trainer = factory(plan, "trainer")(policy, seed=plan.seed, **settings["options"])
    chat = open_chat(plan, policy)
    worker = RankWorker(plan, trainer, chat, open_store(plan, folder, None))
    if trainer.group.rank != 0:
        worker.follow(trainer.group)
        return
    shape = Architecture.read(policy)
    layout = WeightLayout.of(shape.tensors(), num_buffers=3)
    publisher = WeightPublisher(Path(os.environ[WEIGHTS_FOLDER]), layout)
    probes = None
    if trainer.group.world_size == trainer.data_size:
        # Rank 0 holds the whole model, so that it can be asked without the others.
        folder.probes.mkdir(exist_ok=True)
        probes = (probe_sequences(shape.vocab_size, shape.max_context), folder.probes)
    options = plan.settings["algorithm"]["options"]
    client = connect(plan, folder, "update", name, {"slots": 1.0})
    UpdateStage(
        plan,
        trainer.group,
        worker,
        factory(plan, "algorithm")(**options),
        publisher,
        client,
        checkpoints=folder.checkpoints,
        probes=probes,
    ).run()
    publisher.close()


def probe_sequences(vocab_size: int, max_context: int) -> tuple[Array, ...]:
    """Return token sequences that any policy of a vocabulary can be asked about; always the same."""
    rng = random.Random(vocab_size)
    length = min(_PROBE_TOKENS, max_context)
    return tuple(Array.of([rng.randrange(vocab_size) for _ in range(length)], "int32") for _ in range(_PROBE_SEQUENCES))


def connect(plan: RunPlan, folder: RunFolder, role: Any, name: str, capacity: dict[str, float]) -> Client:
    """Say hello to the coordinator, once everything slow is done."""
    address = socket_address(folder.path)
    return Client(address, role=role, worker=name, plan_digest=plan.digest, capacity=capacity)


def open_store(plan: RunPlan, folder: RunFolder, writer: str | None) -> Any:
    """Return this process's handle on the blobs of the run."""
    return factory(plan, "store")(folder.blobs, writer, **plan.settings["store"]["options"])


def open_chat(plan: RunPlan, policy: Path) -> ChatFormat:
    """Return the chat format of the run's policy."""
    from assay.runtime.policy.chat import read_chat

    return read_chat(policy, plan.settings["policy"]["chat_format"], plan.factories.get("chat_format"))


def factory(plan: RunPlan, kind: str) -> Any:
    """Return what makes the engine, trainer, algorithm or store of a run."""
    return resolve(plan.factories[kind])


def context_limit(make_engine: Callable[..., Any], plan: RunPlan) -> dict[str, int]:
    """Return the longest sequence as an engine takes it; a server was told its own."""
    takes = "max_context" in inspect.signature(make_engine).parameters
    return {"max_context": plan.settings["policy"]["max_positions"]} if takes else {}


def set_threads(plan: RunPlan) -> None:
    """Keep torch to the threads that the plan gives each process."""
    import torch

    torch.set_num_threads(plan.counts.threads)


_STAGES: dict[str, Callable[[RunPlan, RunFolder, str], int | None]] = {
    "coordinator": run_coordinator,
    "source": run_source,
    "rollout": run_rollout,
    "verify": run_verify,
    "update": run_update,
}

if __name__ == "__main__":
    sys.exit(main())
