"""Difficulty: the attributes and levels that reasoning-gym's own curricula name, and what a level means as options.

An attribute is one option (scalar) or a pair of lower and upper bound (range). A value of a range sets both bounds to
it. Where the generator wants an interval, the bounds are the value and the next level, at the top the level before and
the value: reasoning-gym's mode `upper_bound`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import assay

# Options that the source sets itself.
_OWN = {"seed", "size"}


@dataclass(frozen=True)
class Attribute:
    """One attribute of difficulty.

    Attributes:
        name: As in the curriculum of reasoning-gym.
        levels: Its values, from easy to hard.
        options: Of the generator; one, or the lower and the upper bound.
        is_interval: The bounds must differ.
    """

    name: str
    levels: tuple[Any, ...]
    options: tuple[str, ...]
    is_interval: bool = False

    def value_to_options(self, value: Any) -> dict[str, Any]:
        """Return the options of one value, which need not be a level; a list of two is the bounds themselves."""
        if len(self.options) == 1:
            return {self.options[0]: value}
        lower = upper = value
        if isinstance(value, list | tuple):
            lower, upper = min(value), max(value)
        elif self.is_interval:
            lower = max((level for level in self.levels if level < value), default=value)
            above = min((level for level in self.levels if level > value), default=None)
            lower, upper = (lower, value) if above is None else (value, above)
        return dict(zip(self.options, (lower, upper), strict=True))


def attributes(generator: str) -> dict[str, Attribute]:
    """Return the attributes of a generator by name; none where reasoning-gym has no curriculum for it.

    Raises:
        AssayError: reasoning-gym has no such generator.
    """
    from reasoning_gym.factory import create_curriculum, has_curriculum

    _config_class(generator)
    if not has_curriculum(generator):
        return {}
    found = {}
    for name, attribute in create_curriculum(generator).attributes.items():
        is_range = hasattr(attribute, "lower_field_name")
        keys = ("lower_field_name", "upper_field_name") if is_range else ("field_name",)
        options = tuple(str(getattr(attribute, key)) for key in keys)
        is_interval = bool(getattr(attribute, "ensure_interval", False))
        found[name] = Attribute(name, tuple(attribute.levels), options, is_interval)
    return found


def levels(generator: str) -> dict[str, tuple[Any, ...]]:
    """Return the levels of each attribute of a generator, from easy to hard.

    Raises:
        AssayError: reasoning-gym has no such generator.
    """
    return {name: attribute.levels for name, attribute in attributes(generator).items()}


def resolve(generator: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the generator's options for a mixture of options and attributes; an attribute wins over its options.

    Raises:
        AssayError: a name is neither.
    """
    options = {field.name for field in fields(_config_class(generator))} - _OWN
    known = attributes(generator)
    unknown = sorted(set(config) - options - set(known))
    if unknown:
        raise assay.AssayError(
            f"an option of `{generator}` must be an attribute ({', '.join(known) or 'it has none'}) or a key of its"
            f" configuration ({', '.join(sorted(options)) or 'it has none'})",
            got=", ".join(unknown),
            at=f"data of {generator}",
            code="DA001",
        )
    resolved = {name: value for name, value in config.items() if name in options}
    for name, value in config.items():
        if name in known:
            resolved |= known[name].value_to_options(value)
    return resolved


def _config_class(generator: str) -> Any:
    from reasoning_gym.factory import DATASETS

    if generator not in DATASETS:
        raise assay.AssayError(
            "a generator must be one of reasoning-gym's", got=repr(generator), at="reasoning_gym", code="DA001"
        )
    return DATASETS[generator][1]
