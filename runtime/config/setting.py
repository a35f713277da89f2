"""The keys that the runtime reads of a composed configuration, with their types.

One struct per group. Keys of a group with a registered `name` that are not listed here are `options`: arguments of
what the name stands for, and refused where it takes no such argument. What a key means stands beside it in `conf/`.
"""

import math
from typing import Annotated, Any

import msgspec

from assay.core.error import ConfigError
from assay.runtime.audit.threshold import Thresholds

Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Rate = Annotated[float, msgspec.Meta(ge=0)]
Above0 = Annotated[float, msgspec.Meta(gt=0)]
Part = Annotated[float, msgspec.Meta(ge=0, le=1)]
Mass = Annotated[float, msgspec.Meta(gt=0, le=1)]


class PolicySettings(msgspec.Struct, frozen=True):
    """The weights that act. A new policy needs all keys, one from a folder only these three."""

    path: str | None
    max_positions: Positive
    chat_format: str | None
    hidden: Positive | None = None
    layers: Positive | None = None
    heads: Positive | None = None
    kv_heads: Positive | None = None
    ffn: Positive | None = None
    rope_theta: Above0 | None = None
    init_std: Rate | None = None
    embedding_std: Rate | None = None
    tie_embeddings: bool | None = None
    words: tuple[str, ...] | None = None
    characters: str | None = None


class EngineSettings(msgspec.Struct, frozen=True):
    """What samples."""

    name: str
    temperature: Rate
    top_p: Mass
    options: dict[str, Any] = {}


class TrainerSettings(msgspec.Struct, frozen=True):
    """What updates."""

    name: str
    lr: Rate
    weight_decay: Rate
    max_grad_norm: Above0
    lr_floor: Part
    batch: Positive
    micro_tokens: Positive
    checkpoint_every: Positive
    options: dict[str, Any] = {}


class AlgorithmSettings(msgspec.Struct, frozen=True):
    """From rewards to advantages and a loss."""

    name: str
    shuffle_rewards: bool
    options: dict[str, Any] = {}


class SchedulerSettings(msgspec.Struct, frozen=True):
    """Which waiting episode goes where."""

    name: str
    max_staleness: Count
    max_inflight: Positive
    options: dict[str, Any] = {}


class SandboxSettings(msgspec.Struct, frozen=True):
    """Where programs run that nobody trusts. `none` needs no other key."""

    name: str
    boxes: Positive = 4
    acquire_s: Above0 = 60.0
    patience_s: Rate = 60.0
    options: dict[str, Any] = {}


class JudgeSettings(msgspec.Struct, frozen=True):
    """Whom verifiers of the tier `judge` ask. `none` needs no other key."""

    name: str
    concurrency: Positive = 8
    timeout_s: Above0 = 60.0
    retries: Count = 3
    patience_s: Rate = 600.0
    cache: bool = True
    options: dict[str, Any] = {}


class LauncherSettings(msgspec.Struct, frozen=True):
    """How many processes there are, and where."""

    name: str
    sources: Positive
    rollouts: Positive
    verifiers: Positive
    trainers: Positive
    threads: Positive
    heartbeat_s: Above0
    watchdog_s: Above0
    drain_s: Rate
    options: dict[str, Any] = {}


class StoreSettings(msgspec.Struct, frozen=True):
    """Where blobs lie."""

    name: str
    options: dict[str, Any] = {}


class TrackerSettings(msgspec.Struct, frozen=True):
    """Who is told of the run beside its folder: one by `name`, further ones in `also` with their options."""

    name: str
    also: dict[str, dict[str, Any]] = {}
    options: dict[str, Any] = {}


class EvalSettings(msgspec.Struct, frozen=True):
    """How held-out tasks are played."""

    tasks: Positive
    every: Count
    temperature: Rate
    samples: Positive = 1
    strategy: str = "none"
    options: dict[str, Any] = {}


class RunSettings(msgspec.Struct, frozen=True):
    """One run."""

    name: str | None
    folder: str
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    resume: str | None


class Settings(msgspec.Struct, frozen=True):
    """Everything but curriculum and domains."""

    policy: PolicySettings
    engine: EngineSettings
    trainer: TrainerSettings
    algorithm: AlgorithmSettings
    scheduler: SchedulerSettings
    sandbox: SandboxSettings
    judge: JudgeSettings
    launcher: LauncherSettings
    store: StoreSettings
    tracker: TrackerSettings
    eval: EvalSettings
    audit: Thresholds
    run: RunSettings


class Misfit(msgspec.Struct, frozen=True):
    """One key that is unknown, missing or of the wrong type.

    Attributes:
        key: Dotted.
        code: CF001 for a key that nothing reads or that is missing, YM003 for a value of the wrong type.
        reason: What must hold and what came.
        known: Names the key may have meant.
    """

    key: str
    code: str
    reason: str
    known: tuple[str, ...] = ()


def read_settings(config: dict[str, Any]) -> tuple[Settings | None, list[Misfit]]:
    """Return the settings of a composed configuration, or everything that is wrong with it."""
    misfits: list[Misfit] = []
    types = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    for key in sorted(set(config) - set(types)):
        misfits.append(Misfit(key, "CF001", f"nothing reads the key `{key}`", tuple(types)))
    groups: dict[str, Any] = {}
    for name, kind in types.items():
        value = config.get(name)
        if isinstance(value, dict):
            groups[name] = _read_group(name, kind, value, misfits)
        elif name in config:
            misfits.append(Misfit(name, "YM003", f"`{name}` must be a mapping, got {value!r}"))
        else:
            misfits.append(Misfit(name, "CF001", f"a run must have the group `{name}`"))
    return (None if misfits else Settings(**groups)), misfits


def _read_group(name: str, kind: type[msgspec.Struct], value: dict[str, Any], misfits: list[Misfit]) -> Any:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    chooser = "strategy" if "strategy" in fields else "name"
    has_options = "options" in fields and value.get(chooser) != "none"  # nothing has no options
    read: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for key, item in value.items():
        if not _is_finite(item):
            misfits.append(Misfit(f"{name}.{key}", "YM003", f"`{name}.{key}` must be finite, got {item!r}"))
        elif key in fields and key != "options":
            read[key] = _read_value(f"{name}.{key}", fields[key].type, item, misfits)
        elif has_options:
            options[key] = item
        else:
            misfits.append(Misfit(f"{name}.{key}", "CF001", f"nothing reads the key `{name}.{key}`", tuple(fields)))
    for key, field in fields.items():
        if field.required and key not in value:
            misfits.append(Misfit(f"{name}.{key}", "CF001", f"a run must have the key `{name}.{key}`"))
    if "options" in fields:
        read["options"] = options
    try:
        return None if misfits else kind(**read)
    except ConfigError as error:
        misfits.append(Misfit(error.at or name, "YM003", f"{error.must}, got {error.got}"))
        return None


def _is_finite(item: Any) -> bool:
    if isinstance(item, dict | list):
        return all(map(_is_finite, item.values() if isinstance(item, dict) else item))
    return not isinstance(item, float) or math.isfinite(item)


def _read_value(key: str, kind: Any, item: Any, misfits: list[Misfit]) -> Any:
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        # msgspec: "Expected `int`, got `str`" or "Expected `int` >= 1", without the value.
        reason = str(error).partition(", got")[0].partition(" - at")[0]
        reason = reason.replace("Expected ", "must be ").replace("`", "")
        misfits.append(Misfit(key, "YM003", f"`{key}` {reason}, got {item!r}"))
        return None
