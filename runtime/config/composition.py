"""One job's configuration: choices, settings, and everything that is wrong with them, in one pass.

Of two overrides of one key the last one holds. An override that changes nothing anybody reads is CF001.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.error import ConfigError
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Span
from assay.runtime.config.composer import Composer, HydraConfig, hydra
from assay.runtime.config.folder import folders
from assay.runtime.config.idle import idle
from assay.runtime.config.option import check_options
from assay.runtime.config.override import GROUPS, Override, quote_for_hydra
from assay.runtime.config.selection import Choice, lines, select
from assay.runtime.config.setting import Misfit, Settings, read_settings


class Composition(msgspec.Struct, frozen=True):
    """What files and overrides give.

    Attributes:
        overrides: Of this job.
        choices: By group; the curriculum's tree is still without overrides.
        settings: Typed; None where something is wrong with them.
        job: All groups as plain values; `curriculum` and `domain` as Hydra keeps them.
        hydra: Hydra's own node.
        origins: Dotted key -> `<override n>`, `group/file.yaml:line` or `default`.
        findings: CF001 of settings and choices, YM of files that are no configuration.
    """

    overrides: tuple[Override, ...]
    choices: dict[str, Choice]
    settings: Settings | None
    job: dict[str, Any]
    hydra: dict[str, Any]
    origins: dict[str, str]
    findings: tuple[Finding, ...]

    @property
    def declared(self) -> tuple[Override, ...]:
        """The overrides of `domain.*` and `curriculum.*`."""
        return tuple(override for override in self.overrides if override.target == "declared")


def compose(overrides: Sequence[Override], registry: Registry) -> Composition:
    """Compose one job.

    Raises:
        PluginError: a package names a config folder that it does not have.
    """
    places = folders(registry)
    choices, findings = select(overrides, places)
    declared = [override for override in overrides if override.target == "declared"]
    plain = [override for override in overrides if override.target == "setting"]
    findings += [_foreign(override) for override in plain if _is_foreign(override)]
    plain = [override for override in plain if not _is_foreign(override)]
    with hydra([place.path for place in places], choices["curriculum"].name) as composer:
        base = [choice.for_hydra for choice in choices.values()]
        # `domain.*` is no key of Hydra's: it means as many as the mix has entries.
        recorded = [one for one in declared if one.sign != "~" and not one.key.startswith("domain.*")]
        quoted = [_quoted(override) for override in recorded]
        config, accepted = _compose(composer, base, plain, quoted, findings)
    settings, misfits = read_settings(
        {key: config.job[key] for key in config.job if key not in ("domain", "curriculum")}
    )
    origins = _origins(config.job, choices, accepted)
    findings += [_missing(key, choices) for key in config.missing]
    missing = set(config.missing)
    findings += [_misfit(found, accepted, choices) for found in misfits if found.key not in missing]
    if settings is not None:
        findings += [_misfit(found, accepted, choices) for found in check_options(settings, registry)]
        findings += idle(settings, choices["curriculum"].tree, declared, accepted)
    # What the user typed, not what Hydra was handed.
    config.hydra["overrides"]["task"] = [override.text for override in overrides]
    return Composition(tuple(overrides), choices, settings, config.job, config.hydra, origins, tuple(findings))


def _compose(
    composer: Composer, base: list[str], plain: list[Override], quoted: list[str], findings: list[Finding]
) -> tuple[HydraConfig, list[Override]]:
    """Compose; where Hydra refuses, find every override that it refuses and go on without them."""

    def attempt(overrides: Sequence[Override], texts: Sequence[str] = ()) -> HydraConfig:
        return composer.compose([*base, *(override.text for override in overrides), *texts])

    try:
        return attempt(plain, quoted), plain
    except ConfigError:
        config = attempt(())
    accepted = []
    for override in plain:
        found = _unfit_key(override, config.job)
        accepted += [override] if found is None else []
        findings += [] if found is None else [found]
    try:
        config = attempt(accepted)
    except ConfigError:
        # Some value is at fault: each override is tried on top of those before it.
        tried, accepted = accepted, []
        for override in tried:
            try:
                config = attempt([*accepted, override])
                accepted.append(override)
            except ConfigError as error:
                findings.append(_refused(override, error))
    # Without `quoted`, which is only Hydra's record of what the marked trees decide.
    return config, accepted


def _quoted(override: Override) -> str:
    # Whether the key exists is decided on the marked tree; Hydra only keeps the text.
    return f"++{override.key}={quote_for_hydra(override.plain_value)}"


def _is_foreign(override: Override) -> bool:
    return override.key.partition(".")[0] in ("hydra", "domain", "curriculum")


def _foreign(override: Override) -> Finding:
    if override.key.startswith("hydra"):
        message, hint = f"nothing reads `{override.key}`", "Assay takes only composition from Hydra"
    else:
        message, hint = f"a key below `{override.key}` is needed", f"such as `{override.key}.<entry>.<key>=...`"
    return finding("CF001", override.key_span, message, hint)


def _unfit_key(override: Override, job: dict[str, Any]) -> Finding | None:
    """Say why an override's key cannot be meant; None where Hydra takes it."""
    unknown = _unknown(override.key, job)
    if unknown is not None and override.sign in ("", "~"):
        known, where = unknown
        hint = suggestion(where.rpartition(".")[2], known)
        return finding("CF001", override.key_span, f"nothing reads the key `{where}`", hint)
    if unknown is None and override.sign == "+":
        message = f"`+` must add a new key, got `{override.key}`, which exists"
        return finding("CF001", override.key_span, message, f"write `{override.key}={override.value}`")
    return None


def _refused(override: Override, error: ConfigError) -> Finding:
    """Say what is wrong with a value that Hydra refuses, in our words where the cause is clear."""
    if error.must.startswith("Ambiguous value"):
        message = f"a value must be one value, got {override.value!r}"
        return finding("CF001", override.value_span, message, "add -m to run one job per value, or quote the value")
    if type(error.__cause__).__name__ == "OverrideParseException":
        message = f"a value must be one that Hydra's grammar reads, got {override.value!r}"
        return finding("CF001", override.value_span, message, "put it in quotes that the shell leaves alone")
    return finding("CF001", override.value_span, f"an override must fit the configuration: {error.must}")


def _unknown(key: str, job: dict[str, Any]) -> tuple[list[str], str] | None:
    """Return the keys known where a dotted key leaves the configuration, and the key up to there; None: it exists."""
    node: Any = job
    done: list[str] = []
    for part in key.split("."):
        done.append(part)
        if not isinstance(node, dict):
            return [], ".".join(done)
        if part not in node:
            known = [*node, *GROUPS] if node is job else list(node)
            return [name for name in known if name != "domain"], ".".join(done)
        node = node[part]
    return None


def _misfit(found: Misfit, accepted: Sequence[Override], choices: dict[str, Choice]) -> Finding:
    hint = suggestion(found.key.rpartition(".")[2], found.known) if found.known else ""
    return finding(found.code, _place(found.key, accepted, choices, found.code == "CF001"), found.reason, hint)


def _missing(key: str, choices: dict[str, Choice]) -> Finding:
    return finding("CF001", _place(key, (), choices), f"`{key}` must be given", f"add `{key}=...`")


def _place(key: str, accepted: Sequence[Override], choices: dict[str, Choice], is_key: bool = False) -> Span:
    """Return where a key got its value: the last override of it or of what is above it, or its line in a file.

    With `is_key` it is the key of the override that is at fault, not its value.
    """
    for override in reversed(accepted):
        if key == override.key or key.startswith(override.key + "."):
            return override.key_span if is_key else override.value_span
        if override.key.startswith(key + "."):
            return override.key_span
    group, _, inside = key.partition(".")
    chosen = choices.get(group)
    if chosen is None or chosen.tree is None:
        return Span("config.yaml", 1, 1, 1)
    return lines(chosen.tree).get(inside, Span(chosen.shown, 1, 1, 1))


def _origins(job: dict[str, Any], choices: dict[str, Choice], accepted: Sequence[Override]) -> dict[str, str]:
    origins: dict[str, str] = {}
    for group, value in job.items():
        if group in ("domain", "curriculum"):
            continue
        chosen = choices.get(group)
        places = lines(chosen.tree) if chosen is not None and chosen.tree is not None else {}
        for key in value if isinstance(value, dict) else ():
            origins[f"{group}.{key}"] = _origin(f"{group}.{key}", places, accepted)
    return origins


def _origin(key: str, places: dict[str, Span], accepted: Sequence[Override]) -> str:
    for override in reversed(accepted):
        if key == override.key or key.startswith(override.key + ".") or override.key.startswith(key + "."):
            return f"<override {override.index}>"
    inside = key.partition(".")[2]
    for place, span in places.items():
        if place == inside or place.startswith(inside + "."):
            return f"{span.path}:{span.line}"
    return "default"
