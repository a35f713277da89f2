"""The type of a task field, a signal or a leaf's parameter.

A kind is written `bool, int, float, str, path, json, image, list[T], T | None, int[a,b], float[a,b]`; an upper end
`inf` stands for none. Kinds are values: equal text, equal kind. What a number measures (its unit, its direction)
belongs to a signal, not to its kind.
"""

import math
import re
import types
import typing
from pathlib import PurePath
from typing import Annotated, Any, Literal

import msgspec

from assay.core.stage_rule import Mean

NAMES = ("bool", "int", "float", "str", "path", "json", "image")
# Whole numbers beyond this have no exact float64; a signal or field outside is a fault of whoever made it.
EXACT_INT = 2**53
# Longest text of a kind; reading it takes time in its square.
MAX_TEXT = 200


class Kind(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One type.

    Attributes:
        name: One of `NAMES`, `list`, `optional`, `literal`, `mean` (a signal of a mix entry), `any`, or a name that a
            plugin adds.
        lo: Smallest value of an `int` or `float`; None where there is none.
        hi: Largest value; None where there is none.
        item: Element of a `list`, inner kind of an `optional`.
        choices: Texts that a `literal` may be.
    """

    name: str
    lo: float | None = None
    hi: float | None = None
    item: "Kind | None" = None
    choices: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether values take part in arithmetic (a bool is 0 or 1)."""
        return self.name in ("bool", "int", "float")

    @property
    def is_text(self) -> bool:
        """Whether values are texts."""
        return self.name in ("str", "path", "literal")

    def __str__(self) -> str:
        if self.name == "list" and self.item is not None:
            return f"list[{self.item}]"
        if self.name == "optional" and self.item is not None:
            return f"{self.item} | None"
        if self.name == "literal":
            return " | ".join(repr(choice) for choice in self.choices)
        if self.lo is None and self.hi is None:
            return self.name
        lo = "(-inf" if self.lo is None else f"[{_number(self.lo)}"
        hi = "inf)" if self.hi is None else f"{_number(self.hi)}]"
        return f"{self.name}{lo}, {hi}"


BOOL, INT, FLOAT, STR, ANY = Kind("bool"), Kind("int"), Kind("float"), Kind("str"), Kind("any")


def parse_kind(text: str, extra: typing.Container[str] = ()) -> Kind:
    """Read a kind as written in `fields:`.

    Args:
        text: For example `list[str]`, `float[0,2]`, `str | None`.
        extra: Names that plugins add.

    Raises:
        ValueError: the text is no kind, or a range is empty; the message says what was expected.
    """
    text = text.strip()
    if len(text) > MAX_TEXT:
        raise ValueError(f"must have at most {MAX_TEXT} characters")
    if match := re.fullmatch(r"(.+?)\s*\|\s*None", text, re.S):
        inner = parse_kind(match[1], extra)
        if inner.name == "optional":
            raise ValueError("must say `| None` once")
        return Kind("optional", item=inner)
    if match := re.fullmatch(r"list\s*\[(.*)\]", text, re.S):
        if text.count("[") > 8:
            raise ValueError("must nest lists at most 8 deep")
        return Kind("list", item=parse_kind(match[1], extra))
    if match := re.fullmatch(r"(int|float)\s*([\[(])([^,\[\]()]*),([^,\[\]()]*)([\])])", text):
        lo, hi = _end(match[3], -1, match[1]), _end(match[4], +1, match[1])
        if (match[2] == "(") != (lo is None) or (match[5] == ")") != (hi is None):
            raise ValueError(f"must close finite ends with brackets and open infinite ones, got {text!r}")
        if lo is not None and hi is not None and lo > hi:
            raise ValueError(f"must be a range with lower <= upper end, got {text!r}")
        return Kind(match[1], lo, hi)
    if text in NAMES or text in extra:
        return Kind(text)
    raise ValueError(f"must be one of {', '.join(NAMES)}, list[T], T | None, int[a,b], float[a,b], got {text!r}")


def annotation_to_kind(annotation: Any) -> Kind:
    """Return the kind of a Python annotation.

    Raises:
        TypeError: the annotation has no counterpart in the language.
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return annotation_to_kind(args[0])
    if annotation is bool or annotation is int or annotation is float or annotation is str:
        return Kind(annotation.__name__)
    if annotation is Any or annotation is object:
        return ANY
    if annotation is Mean:
        return Kind("mean")
    if isinstance(annotation, type) and issubclass(annotation, PurePath):
        return Kind("path")
    if origin is Literal and all(isinstance(choice, str) for choice in args):
        return Kind("literal", choices=tuple(args))
    if origin is list or (origin is not None and getattr(origin, "__name__", "") == "Sequence"):
        return Kind("list", item=annotation_to_kind(args[0]) if args else ANY)
    if annotation is list:
        return Kind("list", item=ANY)
    if annotation is dict or origin is dict:
        return Kind("json")
    if origin in (typing.Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) == 1 and len(args) == 2:
            return Kind("optional", item=annotation_to_kind(inner[0]))
    raise TypeError(f"must be bool, int, float, str, Path, Literal, list or T | None, got {annotation!r}")


def misfit(kind: Kind, value: object) -> str | None:
    """Say why a value does not fit a kind; None where it fits.

    A bool is exactly True or False; an int fits a float; texts never turn into numbers.
    """
    match kind.name:
        case "any":
            return None
        case "bool":
            return None if isinstance(value, bool) else f"must be bool, got {_show(value)}"
        case "int" | "float":
            return _number_misfit(kind, value)
        case "str" | "path":
            return None if isinstance(value, str) else f"must be {kind}, got {_show(value)}"
        case "literal":
            return None if value in kind.choices else f"must be one of {kind}, got {_show(value)}"
        case "optional":
            return None if value is None or kind.item is None else misfit(kind.item, value)
        case "list":
            if not isinstance(value, (list, tuple)):
                return f"must be {kind}, got {_show(value)}"
            for index, item in enumerate(value):
                if kind.item is not None and (reason := misfit(kind.item, item)):
                    return f"item {index} {reason}"
            return None
        case "image":
            return None if isinstance(value, (str, dict)) else f"must be an image path or blob, got {_show(value)}"
    return None


def accepts(parameter: Kind, given: Kind) -> bool:
    """Whether every value of kind `given` may be passed where `parameter` is expected."""
    if parameter.name == "any" or given.name == "any":
        return True
    if parameter.name == "optional" and parameter.item is not None:
        inner = given.item if given.name == "optional" and given.item is not None else given
        return given.name == "none" or accepts(parameter.item, inner)
    if parameter.name == "list" and parameter.item is not None:
        return given.name == "list" and (given.item is None or accepts(parameter.item, given.item))
    if parameter.name == "float":
        return given.name in ("float", "int")
    if parameter.name in ("str", "path"):
        return given.is_text
    if parameter.name == "literal":
        return given.name == "literal" and set(given.choices) <= set(parameter.choices)
    if parameter.name == "json":
        return given.name in ("json", "list")
    return parameter.name == given.name


def _number_misfit(kind: Kind, value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind.name == "float" else int):
        return f"must be {kind}, got {_show(value)}"
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > EXACT_INT):
        return f"must be a finite number that float64 holds exactly, got {_show(value)}"
    if (kind.lo is not None and value < kind.lo) or (kind.hi is not None and value > kind.hi):
        return f"must lie in {kind}, got {_show(value)}"
    return None


def _end(text: str, sign: int, name: str) -> float | None:
    text = text.strip()
    if text in ("inf", "+inf", "-inf"):
        if (text == "-inf") != (sign < 0):
            raise ValueError(f"must have -inf below and inf above, got {text!r}")
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"must have numbers as the ends of a range, got {text!r}") from None
    if not math.isfinite(value) or (name == "int" and value != int(value)):
        raise ValueError(f"must have finite {'whole ' if name == 'int' else ''}ends, got {text!r}")
    return value


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _show(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
