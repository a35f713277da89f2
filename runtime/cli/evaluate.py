"""`assay eval`: the same graph without its trainer, on one checkpoint of a run."""

import argparse
import contextlib
import math
import time
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import ConfigError
from assay.core.name import nearest, suggestion
from assay.core.registry import installed
from assay.core.trajectory import WeightVersion
from assay.runtime.cli.terminal import Terminal, columns
from assay.runtime.cli.train import watch
from assay.runtime.config.option import parameters, refused
from assay.runtime.observe.audit_section import audit_line
from assay.runtime.observe.reading import Reading
from assay.runtime.run.coordination import AFTER
from assay.runtime.run.folder import RunFolder, make_folder
from assay.runtime.run.plan import RunPlan, read_plan, write_plan
from assay.runtime.run.prepare import find_run
from assay.runtime.sandbox.open import prepare_boxes
from assay.runtime.strategy.sight import make_strategy
from assay.runtime.strategy.table import sample_table

DESCRIPTION = """\
Score a checkpoint of a run on its held-out tasks: the same sources, prompts, engine, verifiers and rewards, and no
update. The result is a run folder of its own; `runs/latest` stays with the run."""

EPILOG = """\
overrides:
  checkpoint=LINEAGE.STEP  which one; default the newest
  eval.tasks=N             held-out tasks per domain
  eval.temperature=T       0 is greedy
  eval.samples=N           answers per task; more than 1 need a temperature above 0
  eval.strategy=NAME       picks the answer that counts: majority, best_of, or one that a package brings; none
  eval.OPTION=VALUE        an option of the strategy, such as eval.signal=judge.quality of best_of
  run.folder=FOLDER        where runs are, and where this one goes
  run.name=NAME            default eval-<name of the run>

examples:
  assay eval
  assay eval runs/latest checkpoint=0.800 eval.tasks=64
  assay eval eval.strategy=majority eval.samples=8 eval.temperature=1.0
"""

_KEYS: dict[str, type] = {
    "checkpoint": str,
    "eval.tasks": int,
    "eval.temperature": float,
    "eval.samples": int,
    "eval.strategy": str,
    "run.folder": str,
    "run.name": str,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("words", nargs="*", metavar="RUN|OVERRIDE", help="the run; default latest")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluate and print the accuracy of each domain."""
    started_s = time.monotonic()
    names = [word for word in arguments.words if "=" not in word]
    if len(names) > 1:
        raise ConfigError("one run must be named", got=" ".join(names))
    given = read_words([word for word in arguments.words if "=" in word])
    parent = Path(given.get("run.folder", "runs"))
    source = find_run(names[0] if names else "latest", parent)
    plan, version = evaluation_plan(source, given)
    prepare_boxes(plan)
    folder = make_folder(parent, plan.name, is_latest=False)
    write_plan(folder.path, plan)
    terminal.print(f"run {folder.path}: weights {version} of {source.path.name}")
    outcome = watch(plan, folder, terminal, started_s)
    for row in columns(accuracy_table(outcome.summary)):
        terminal.print(row)
    if line := audit_line(outcome.summary.get("audit", {})):
        terminal.print(line)
    if outcome.status:
        terminal.complain(f"{terminal.paint('ended', 'error', err=True)}: {outcome.reason}")
    return outcome.status


def accuracy_table(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the accuracy of each domain: a head, then one row per domain."""
    if "samples" in summary:
        return sample_table(summary["samples"], AFTER)
    rows: list[tuple[str, ...]] = [("domain", "accuracy", "held out")]
    for name, domain in summary["domains"].items():
        share = domain["after"]
        rows.append((name, "-" if share is None else f"{share:.3f}", str(domain["held_out"])))
    return rows


def read_words(words: list[str]) -> dict[str, Any]:
    """Return the values of overrides.

    Raises:
        ConfigError: an unknown key, or a value of another type.
    """
    given: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in _KEYS and _may_be_option(key):
            # Of the strategy; whether it takes it is known where the strategy is.
            given.setdefault("options", {})[key.removeprefix("eval.")] = _read_option(text)
            continue
        if key not in _KEYS:
            raise ConfigError(f"nothing reads the key `{key}`", todo=suggestion(key, _KEYS) or None, at=word)
        try:
            given[key] = msgspec.convert(text, _KEYS[key], strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"`{key}` must have a value of its type", got=str(error), at=word) from None
    is_hot = 0.0 <= given.get("eval.temperature", 0.0) < math.inf
    if given.get("eval.tasks", 1) < 1 or given.get("eval.samples", 1) < 1 or not is_hot:
        raise ConfigError(
            "eval.tasks and eval.samples must be at least 1, and eval.temperature at least 0 and finite",
            got=" ".join(words),
        )
    return given


def _may_be_option(key: str) -> bool:
    """Whether a key may be an option of a strategy: not where it looks like a known key and no strategy takes it."""
    group, _, option = key.partition(".")
    if group != "eval" or option in ("", "every"):
        return False
    taken = [parameters(offer.value) for offer in installed().of_kind("strategy")]
    if any(known is not None and option in known for known in taken):
        return True
    return not nearest(option, [one.removeprefix("eval.") for one in _KEYS if one.startswith("eval.")])


def _read_option(text: str) -> Any:
    for kind in (int, float, bool):
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(text, kind, strict=False)
    return text


def evaluation_settings(before: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return how held-out tasks are played: as the run did, unless told otherwise.

    Raises:
        ConfigError: an option that the strategy does not take, or a value it refuses.
        PluginError: nobody offers the strategy.
    """
    keys = ("tasks", "temperature", "samples", "strategy")
    told = {key: given[f"eval.{key}"] for key in keys if f"eval.{key}" in given}
    after = {"samples": 1, "strategy": "none", "options": {}, **before, "every": 0, **told}
    if after["strategy"] != before.get("strategy", "none"):
        after["options"] = {}
    after["options"] = {**after["options"], **given.get("options", {})}
    offer = None if after["strategy"] == "none" else installed().find("strategy", after["strategy"])
    known = () if offer is None else parameters(offer.value)
    for key, value in given.get("options", {}).items():
        if known is not None and key not in known:
            todo = suggestion(f"eval.{key}", [*_KEYS, *(f"eval.{one}" for one in known)]) or None
            raise ConfigError(f"nothing reads the key `eval.{key}`", todo=todo, at=f"eval.{key}={value}")
    if offer is not None and (refusals := refused(offer, after["options"], "eval", "strategy")):
        raise ConfigError(refusals[0].reason, at=refusals[0].key)
    return after


def evaluation_plan(source: RunFolder, given: dict[str, Any]) -> tuple[RunPlan, WeightVersion]:
    """Return the plan of an evaluation, and the version it evaluates.

    Raises:
        ConfigError: the run has no such checkpoint, or its answers cannot be picked from in this way.
        PluginError: nobody offers the strategy.
        StoreError: its ledger cannot be read.
    """
    plan = read_plan(source.path)
    with Reading(source.ledger) as reading:
        checkpoints = reading.checkpoints()
    version, weights = choose_checkpoint(checkpoints, given.get("checkpoint"), source)
    evaluation = evaluation_settings(plan.settings["eval"], given)
    factories = {kind: ref for kind, ref in plan.factories.items() if kind != "strategy"}
    if evaluation["strategy"] != "none":
        factories["strategy"] = installed().find("strategy", evaluation["strategy"]).ref
    settings = {**plan.settings, "eval": evaluation, "policy": {**plan.settings["policy"], "path": str(weights)}}
    changed = msgspec.structs.replace(
        plan,
        name=given.get("run.name", f"eval-{plan.name}"),
        stages=(),
        policy=str(weights),
        settings=settings,
        factories=factories,
        counts=msgspec.structs.replace(plan.counts, update=0),
        trackers={},
    )
    make_strategy(changed)  # what it refuses is refused here, not after the evaluation
    return changed, version


def choose_checkpoint(
    checkpoints: dict[WeightVersion, Path], wanted: str | None, source: RunFolder
) -> tuple[WeightVersion, Path]:
    """Return a checkpoint by name, or the newest one.

    Raises:
        ConfigError: there is no such checkpoint, or none at all.
    """
    present = {version: folder for version, folder in checkpoints.items() if folder.is_dir()}
    if not present:
        raise ConfigError("a run must have a checkpoint to be evaluated", got="none", at=source.path)
    if wanted is None:
        version = max(present)
        return version, present[version]
    for version, folder in present.items():
        if str(version) == wanted:
            return version, folder
    known = ", ".join(map(str, list(present)[-5:]))
    raise ConfigError("a checkpoint must be one of the run's", got=wanted, at=source.path, todo=f"There are {known}")
