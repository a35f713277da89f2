"""Choices: which file of each group a run takes, and where it lies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.name import suggestion
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Node, Scalar, Span
from assay.runtime.config.folder import Folder, find, is_path, options
from assay.runtime.config.override import Override, quote_for_hydra


class Choice(msgspec.Struct, frozen=True):
    """One chosen file.

    Attributes:
        group: Such as `engine`.
        name: Such as `embedded`; of a path the file's stem.
        path: Of the file.
        shown: The file as messages show it.
        tree: Its content with positions; None where it cannot be read.
        override: What chose it; None for the default.
    """

    group: str
    name: str
    path: Path
    shown: str
    tree: Mapping | None
    override: Override | None

    @property
    def for_hydra(self) -> str:
        """The override under which Hydra makes the same choice."""
        name = quote_for_hydra(self.name) if self.group == "curriculum" else self.name
        return f"{self.group}={name}"


def select(overrides: Sequence[Override], places: list[Folder]) -> tuple[dict[str, Choice], list[Finding]]:
    """Return the chosen file of each group, read by our own loader, and what is wrong with choices and files.

    Of two choices in one group the last one holds. Where a choice fails, the default stands in for it, so that the rest
    can be checked too.
    """
    findings: list[Finding] = []
    wanted: dict[str, Override] = {}
    for override in overrides:
        if override.target != "choice":
            continue
        if override.sign:
            hint = f"write `{override.key}=NAME`"
            message = f"a group must be chosen without `{override.sign}`, got {override.text!r}"
            findings.append(finding("CF001", override.key_span, message, hint))
        else:
            wanted[override.key] = override
    choices: dict[str, Choice] = {}
    for group, name in _defaults(places[0]).items():
        by = wanted.get(group)
        chosen, found = _choose(group, by.plain_value if by else name, by, places)
        findings += found
        if chosen is None or (found and group != "curriculum"):
            chosen, _ = _choose(group, name, None, places)
        if chosen is not None:
            choices[group] = chosen
    return choices, findings


def _choose(
    group: str, name: str, override: Override | None, places: list[Folder]
) -> tuple[Choice | None, list[Finding]]:
    span = Span(f"{group}={name}", 1, 1, 1) if override is None else override.value_span
    if group == "curriculum" and is_path(name):
        path: Path | None = Path(name)
        stem, shown = Path(name).stem, name
    else:
        path = find(group, name, places)
        stem, shown = name, f"{group}/{name}.yaml"
    if path is None:
        what = "a path to a file, or " if group == "curriculum" else ""
        hint = suggestion(name, options(group, places))
        message = f"`{group}` must be {what}a file of its group, got {name!r}"
        return None, [finding("CF001", span, message, hint)]
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"a file must be readable, got {error.strerror or type(error).__name__} for {shown}"
        return None, [finding("YM005", span, message)]
    if group == "curriculum":
        # People open this file: they are shown a path that they can follow from where they are.
        shown = shown if is_path(name) else _relative(path)
    loaded = load(data, shown)
    return Choice(group, stem, path, shown, loaded.tree, override), list(loaded.findings)


def _defaults(own: Folder) -> dict[str, str]:
    """Return group -> choice of the root configuration."""
    tree = load((own.path / "config.yaml").read_bytes(), "config.yaml").tree
    entries: Any = tree.get("defaults") if tree is not None else None
    return {
        entry.key.text: entry.value.text
        for item in entries.items
        if isinstance(item, Mapping)
        for entry in item
        if isinstance(entry.value, Scalar)
    }


def lines(node: Node, prefix: str = "") -> dict[str, Span]:
    """Return the place of every scalar below a node, by dotted key; list items by index from 0."""
    if isinstance(node, Scalar):
        return {prefix: node.span}
    if isinstance(node, Mapping):
        children = [(entry.key.text, entry.value) for entry in node]
    else:
        children = [(str(index), item) for index, item in enumerate(node.items)]
    places: dict[str, Span] = {} if children else {prefix: node.span}
    for key, child in children:
        places |= lines(child, f"{prefix}.{key}" if prefix else key)
    return places


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
