"""What may stand where on the command line, read from the parsers of the verbs and from what is installed."""

import argparse
from collections.abc import Iterable, Mapping

import msgspec

from assay.core.registry import Registry
from assay.dsl.index import DomainIndex
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping as Tree
from assay.runtime.config.folder import folders

# A word of a metavar -> what the shell offers in its place. Other words (NAME, N, TEXT) are the user's own.
_KINDS = {
    "DOMAIN": "domain",
    "FILE": "file",
    "OVERRIDE": "override",
    "RUN": "run",
    "FOLDER": "folder",
    "DIR": "folder",
}


class Slot(msgspec.Struct, frozen=True):
    """A place for a value.

    Attributes:
        kinds: Among `domain`, `file`, `override`, `run`, `folder`.
        choices: Fixed words.
    """

    kinds: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class Flag(msgspec.Struct, frozen=True):
    """An option.

    Attributes:
        names: Such as `-m`, `--multirun`.
        help: One line.
        slot: Of its value; None where it takes none.
    """

    names: tuple[str, ...]
    help: str
    slot: Slot | None


class Verb(msgspec.Struct, frozen=True):
    """A verb with its options and what may stand among its other words."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    slot: Slot


class Vocabulary(msgspec.Struct, frozen=True):
    """Everything that can be completed.

    Attributes:
        verbs: In the order of `assay --help`.
        domains: Ids of installed domains.
        groups: Config group -> its files.
        keys: `group.key` of every config file.
    """

    verbs: tuple[Verb, ...]
    domains: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    keys: tuple[str, ...]


def read_vocabulary(
    parsers: Mapping[str, argparse.ArgumentParser], help_of: Mapping[str, str], registry: Registry
) -> Vocabulary:
    """Return what can be completed.

    Args:
        parsers: By verb.
        help_of: Verb -> one line.
        registry: What is installed.

    Raises:
        PluginError: a package names a config folder that it does not have.
    """
    groups: dict[str, set[str]] = {}
    keys: set[str] = set()
    for place in folders(registry):
        for path in place.path.glob("*/*.yaml"):
            group = path.parent.name
            groups.setdefault(group, set()).add(path.stem)
            # The keys of a curriculum are in files of its own; `curriculum=` names them.
            tree = load(path.read_bytes(), path.name).tree if group != "curriculum" else None
            if isinstance(tree, Tree):
                keys |= {f"{group}.{entry.key.text}" for entry in tree}
    return Vocabulary(
        tuple(_verb(name, help_of[name], parser) for name, parser in parsers.items()),
        tuple(sorted(found.id for found in DomainIndex(registry).all())),
        {group: tuple(sorted(names)) for group, names in sorted(groups.items())},
        tuple(sorted(keys)),
    )


def _verb(name: str, text: str, parser: argparse.ArgumentParser) -> Verb:
    flags, slots = [], []
    for action in parser._actions:
        if action.option_strings:
            takes_value = action.nargs != 0
            slot = _slot(action) if takes_value else None
            flags.append(Flag(tuple(action.option_strings), (action.help or "").replace("%%", "%"), slot))
        else:
            slots.append(_slot(action))
    return Verb(name, text, tuple(flags), _union(slots))


def _slot(action: argparse.Action) -> Slot:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kinds = [_KINDS[word] for word in metavar.replace(":", "|").split("|") if word in _KINDS]
    return Slot(tuple(dict.fromkeys(kinds)), tuple(str(choice) for choice in action.choices or ()))


def _union(slots: Iterable[Slot]) -> Slot:
    slots = list(slots)
    kinds = dict.fromkeys(kind for slot in slots for kind in slot.kinds)
    choices = dict.fromkeys(choice for slot in slots for choice in slot.choices)
    return Slot(tuple(kinds), tuple(choices))
