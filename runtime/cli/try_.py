"""`assay try`: one episode of one domain, step by step, in one process."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from assay.core.array import Array
from assay.core.blob import BlobRef
from assay.core.chat import ChatFormat
from assay.core.engine import Engine
from assay.core.error import ConfigError
from assay.core.registry import Registry, installed, resolve
from assay.core.store import Store
from assay.core.trajectory import Trajectory
from assay.core.verdict import Scored, Verdict
from assay.core.wire import Split
from assay.dsl.compile import Compiled
from assay.dsl.index import DomainIndex, read_domain_file
from assay.dsl.program import Program, Rows
from assay.dsl.template import fill
from assay.runtime.cli.judge import HELP as JUDGE
from assay.runtime.cli.judge import part_words, read_judge
from assay.runtime.cli.terminal import Terminal
from assay.runtime.judge.open import attach_judge
from assay.runtime.launch.inline import Inline, inline_folder
from assay.runtime.launch.stub import StubChat, StubEngine
from assay.runtime.observe.reading import Reading
from assay.runtime.run.build import build_entry
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import EntryPlan, RunPlan, read_plan, write_plan
from assay.runtime.run.prepare import find_run
from assay.runtime.sandbox.open import NONE, attach_sandbox, prepare_boxes
from assay.runtime.stage.source import open_source

DESCRIPTION = """\
Play one episode of a domain and show every step: task, prompt, tokens, answer, signals, gates, terms, reward.
Coordinator and stages run in this process, so a breakpoint in any of them works; verifiers keep their locked-down
process."""

EPILOG = """\
the policy:
  --answer TEXT         a stub that says TEXT
  --run RUN             the newest checkpoint of a run
  --replay RUN:EPISODE  what an episode of a run said
  without any of them   a stub that says what the domain's `oracle` control says

examples:
  assay try quickstart.spell
  assay try quickstart.sort --answer 123 --index 7
  assay try quickstart.spell --run latest
  assay try essay.yaml --answer "Dear Ann" judge=openai judge.base_url=http://localhost:8000/v1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("domain", metavar="DOMAIN|FILE", help="id of an installed domain, or a domain file")
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help=JUDGE)
    parser.add_argument("--split", choices=("train", "eval"), default="eval", help="default: eval, where there is one")
    parser.add_argument("--index", type=int, help="row of the split; default 0, of a replay its own")
    parser.add_argument("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")
    parser.add_argument("--sandbox", metavar="NAME", help="where verifiers get boxes; default none")
    policy = parser.add_mutually_exclusive_group()
    policy.add_argument("--answer", help="what a stub says")
    policy.add_argument("--run", metavar="RUN", help="take the newest checkpoint of a run")
    policy.add_argument("--replay", metavar="RUN:EPISODE", help="say what an episode of a run said")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Play and print; the exit status is 1 where the episode is unscored."""
    registry = installed()
    others, words = part_words(arguments.overrides)
    if others:
        raise ConfigError("an override of `assay try` must choose a judge", got=others[0], todo=f"Write {JUDGE}")
    judge = read_judge(words, registry)
    compiled = compile_domain(arguments.domain, registry)
    split, index = chosen_row(arguments, compiled)
    entry = one_row(compiled, split, index, registry)
    engine, chat, policy, said_by = make_policy(arguments, entry)
    with tempfile.TemporaryDirectory(prefix="assay-try-") as scratch:
        folder = inline_folder(Path(scratch))
        plan = attach_judge(try_plan(entry, policy, registry), judge, registry)
        plan = attach_sandbox(plan, {"name": arguments.sandbox or NONE}, registry, option="--sandbox ")
        prepare_boxes(plan)
        write_plan(folder.path, plan)
        terminal.print(f"{terminal.paint(entry.program.identity, 'strong')}  {split}[{index}]")
        terminal.print(f"policy      {said_by}")
        finish = Inline(plan, folder, engine, chat, should_validate=True).run()
        if finish.code:
            raise ConfigError("an episode must come to its end", got=finish.reason)
        return show(plan, folder, terminal)


def chosen_row(arguments: argparse.Namespace, compiled: Compiled) -> tuple[str, int]:
    """Return split and row: those asked for, or those of the episode that is replayed.

    Raises:
        ConfigError: the run has no such episode, or it is one of another domain, whose rows have the same numbers.
    """
    if arguments.replay is not None and arguments.index is None:
        folder, trajectory = _replayed(arguments)
        task = trajectory.task
        played = [
            entry.program.id
            for entry in read_plan(folder.path).entries
            if task.source in {split.digest for split in entry.splits.values()}
        ]
        if (domain := compiled.require().id) not in played:
            got = " or ".join(played)
            raise ConfigError(
                f"an episode must be one of {domain}", got=got, at=arguments.replay, todo="Or add --index"
            )
        return task.split, task.index
    return arguments.split, arguments.index or 0


def compile_domain(name: str, registry: Registry) -> Compiled:
    """Return a compiled domain by id or file.

    Raises:
        SourceError: it has findings.
        PluginError: nobody offers it.
        ConfigError: the file cannot be read.
    """
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        try:
            found = read_domain_file(Path(name))
        except OSError as error:
            raise ConfigError("a domain file must be readable", got=error.strerror, at=name) from None
    else:
        found = DomainIndex(registry).find(name)
    compiled = found.compile(registry)
    compiled.require()
    return compiled


def one_row(compiled: Compiled, split: str, index: int, registry: Registry) -> EntryPlan:
    """Return an entry whose held-out tasks are one row.

    Raises:
        ConfigError: there is no such row.
    """
    entry = build_entry("try", 1.0, compiled, registry)
    wanted: Split = "eval" if split == "eval" and "eval" in entry.splits else "train"
    if not 0 <= index < entry.splits[wanted].size:
        raise ConfigError(f"a row must lie in 0..{entry.splits[wanted].size - 1}", got=index, at=f"data.{wanted}")
    row = open_source(entry.program, wanted, entry.splits[wanted]).read(index)
    fields = {name: row[name] for name in entry.program.fields if name in row}
    program = msgspec.structs.replace(entry.program, data={**entry.program.data, "eval": Rows((fields,))})
    held_out = msgspec.structs.replace(entry.splits[wanted], size=1, ref="")
    splits = {split: rows for split, rows in entry.splits.items() if split != "canary"}
    return msgspec.structs.replace(entry, program=program, splits={**splits, "eval": held_out})


def make_policy(arguments: argparse.Namespace, entry: EntryPlan) -> tuple[Engine, ChatFormat, str, str]:
    """Return engine, chat format, folder and a line about the policy asked for."""
    if arguments.run is not None:
        return _real(arguments.run, Path(arguments.runs))
    if arguments.replay is not None:
        return StubEngine(_replayed(arguments)[1].final_text), StubChat(), "stub", f"episode {arguments.replay}"
    if arguments.answer is not None:
        if arguments.answer.encode(errors="replace").decode() != arguments.answer:  # bytes that Python could not decode
            raise ConfigError("an answer must be text in the terminal's encoding", got=ascii(arguments.answer))
        return StubEngine(arguments.answer), StubChat(), "stub", "a stub"
    answer = _oracle(entry.program)
    if answer is None:
        raise ConfigError(
            "a domain without an `oracle` control must be given an answer", todo="Add --answer TEXT or --run RUN"
        )
    return StubEngine(answer), StubChat(), "stub", "a stub that says what the `oracle` control says"


def try_plan(entry: EntryPlan, policy: str, registry: Registry, tasks: int = 1) -> RunPlan:
    """Return the plan of an evaluation of so many tasks of one entry, without a trainer."""
    settings: dict[str, dict[str, Any]] = {
        "algorithm": {"shuffle_rewards": False},
        "engine": {},
        "eval": {"tasks": tasks, "every": 0, "temperature": 0.0},
        "launcher": {"heartbeat_s": 1.0, "watchdog_s": 120.0, "drain_s": 5.0},
        "scheduler": {"max_inflight": 8, "max_staleness": 0, "options": {}},
        "store": {"options": {}},
        "trainer": {"checkpoint_every": 1},
    }
    factories = {"store": registry.find("store", "local").ref, "scheduler": registry.find("scheduler", "fifo").ref}
    return RunPlan("try", 0, (entry,), (), policy, settings, factories)


def read_trajectory(folder: RunFolder, episode: str) -> Trajectory:
    """Return a stored trajectory.

    Raises:
        ConfigError: the run has no such episode.
    """
    with Reading(folder.ledger) as reading:
        packed = reading.trajectory(episode)
    if packed is None:
        raise ConfigError("an episode must be one the run has played", got=episode, at=folder.path)
    plan = read_plan(folder.path)
    store: Store = resolve(plan.factories["store"])(folder.blobs, None, **plan.settings["store"]["options"])
    try:
        return msgspec.msgpack.decode(store.get(msgspec.msgpack.decode(packed, type=BlobRef)), type=Trajectory)
    finally:
        store.close()


def show(plan: RunPlan, folder: RunFolder, terminal: Terminal) -> int:
    """Print every step of the episode; returns the exit status."""
    program = plan.entries[0].program
    with Reading(folder.ledger) as reading:
        number, text = reading.first_verdict()
        failures = reading.failed_rows()
    if failures:
        terminal.complain(f"{terminal.paint('the row cannot be read', 'error', err=True)}: {failures[0][4]}")
        return 1
    trajectory = read_trajectory(folder, str(number))
    verdict: Verdict = msgspec.json.decode(text, type=Verdict)
    for name, value in _fields(program).items():
        terminal.print(f"field       {name} = {value!r}")
    for message in trajectory.turns[0].prompt:
        terminal.print(f"{message.role:<11} {message.text}")
    segment = trajectory.segments[0]
    terminal.print(f"prompt ids  {_ids(segment.prompt_ids)}")
    terminal.print(f"sampled ids {_ids(segment.sampled_ids)}  ({segment.finish_reason})")
    logprobs = " ".join(f"{float(value):.3f}" for value in segment.behavior_logprobs.to_list())
    terminal.print(f"log-probs   {logprobs}")
    terminal.print(f"completion  {trajectory.final_text!r}")
    terminal.print(f"answer      {trajectory.answer!r}")
    measurements = verdict.measurements
    for name, measurement in measurements.items():
        signals = ", ".join(f"{key}={value!r}" for key, value in measurement.signals.items())
        terminal.print(f"verify      {name}: {signals}  ({measurement.wall_s * 1e3:.2f} ms)")
    if not isinstance(verdict, Scored):
        terminal.complain(f"{terminal.paint('unscored', 'error', err=True)} {verdict.cause}: {verdict.detail}")
        return 1
    payout = verdict.payout
    if payout.gate is not None:
        gate = program.reward.gates[payout.gate]
        terminal.print(f"gate        {gate.name or payout.gate} is closed")
    for name, value in payout.terms.items():
        terminal.print(f"term        {name} = {value:g}")
    style = "good" if payout.success else "warning"
    terminal.print(f"reward      {terminal.paint(f'{payout.reward:g}', style)}  success {payout.success}")
    return 0


def _replayed(arguments: argparse.Namespace) -> tuple[RunFolder, Trajectory]:
    name, _, number = arguments.replay.rpartition(":")
    if not name or not number.isdecimal():
        raise ConfigError("--replay must name a run and an episode", got=arguments.replay, todo="Such as latest:4711")
    folder = find_run(name, Path(arguments.runs))
    return folder, read_trajectory(folder, number)


def _real(name: str, parent: Path) -> tuple[Engine, ChatFormat, str, str]:
    from assay.runtime.cli.evaluate import choose_checkpoint
    from assay.runtime.engine.embedded import EmbeddedEngine
    from assay.runtime.policy.chat import read_chat

    folder = find_run(name, parent)
    with Reading(folder.ledger) as reading:
        version, weights = choose_checkpoint(reading.checkpoints(), None, folder)
    chat = read_chat(weights, ref=read_plan(folder.path).factories.get("chat_format"))
    return EmbeddedEngine(weights), chat, str(weights), f"checkpoint {version} of {folder.path.name}"


def _oracle(program: Program) -> str | None:
    for control in program.controls:
        if control.name == "oracle":
            return fill(control.answer, _fields(program))
    return None


def _fields(program: Program) -> dict[str, Any]:
    data = program.data["eval"]
    assert isinstance(data, Rows)
    return data.rows[0]


def _ids(ids: Array) -> str:
    return json.dumps([int(token) for token in ids.to_list()])
