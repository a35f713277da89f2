"""Overrides of keys that exist but that this run does not read, because something else decides instead."""

from collections.abc import Sequence

from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping
from assay.runtime.config.override import Override
from assay.runtime.config.setting import Settings

# Keys of the trainer that stand in for a stage's own.
_STAGE_DEFAULTS = ("lr", "batch")
_NEW_POLICY = frozenset(
    {"hidden", "layers", "heads", "kv_heads", "ffn", "rope_theta", "init_std", "embedding_std", "tie_embeddings",
     "words", "characters"}
)  # fmt: skip


def idle(
    settings: Settings, curriculum: Mapping | None, declared: Sequence[Override], plain: Sequence[Override]
) -> list[Finding]:
    """Return CF001 for each override that cannot matter.

    Args:
        settings: As composed.
        curriculum: The chosen file, without overrides.
        declared: Overrides of curriculum and domains.
        plain: All others.
    """
    found = []
    stages = _stages(curriculum, declared)
    for override in plain:
        group, _, key = override.key.partition(".")
        if group == "trainer" and key in _STAGE_DEFAULTS and stages and all(key in keys for keys in stages.values()):
            name = next(iter(stages))
            message = f"`{override.key}` must be read by a stage, but every stage states its own `{key}`"
            found.append(finding("CF001", override.key_span, message, f"override `curriculum.stages.{name}.{key}`"))
        elif group == "trainer" and key == "lr_floor" and not any("decay" in keys for keys in stages.values()):
            message = "`trainer.lr_floor` must be read by a stage, but none states `decay`"
            found.append(finding("CF001", override.key_span, message, "override `curriculum.stages.<stage>.decay`"))
        elif group == "policy" and key in _NEW_POLICY and settings.policy.path is not None:
            message = f"`{override.key}` shapes a new policy, but `policy.path` takes an existing one"
            found.append(finding("CF001", override.key_span, message, "drop one of the two"))
    return found


def _stages(curriculum: Mapping | None, declared: Sequence[Override]) -> dict[str, set[str]]:
    """Return the keys that each stage states, in file or overrides."""
    node = curriculum.get("stages") if curriculum is not None else None
    stages = {
        entry.key.text: set(entry.value.keys())
        for entry in (node if isinstance(node, Mapping) else ())
        if isinstance(entry.value, Mapping)
    }
    for override in declared:
        match override.key.split("."):
            case ["curriculum", "stages", name]:
                if override.sign == "~":
                    stages.pop(name, None)
            case ["curriculum", "stages", name, key]:
                keys = stages.setdefault(name, set())
                keys.discard(key) if override.sign == "~" else keys.add(key)
    return stages
