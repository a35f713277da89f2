"""Signals: what a verifier measured.

A verifier returns a subclass of `Signals`. Each attribute is one signal with a kind, a range, a unit and a direction;
the compiler reads them at registration and the worker checks every value against them before it is stored.
"""

import math
import typing
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from assay.core.error import PluginError, VerifierFault
from assay.core.kind import Kind, annotation_to_kind, misfit

Better = Literal["up", "down", "neither"]
SignalValue = bool | int | float | str | list[Any] | None


class SignalInfo(msgspec.Struct, frozen=True):
    """What `assay.signal(...)` declares about one attribute."""

    ge: float | None = None
    le: float | None = None
    unit: str | None = None
    better: Better = "neither"
    doc: str = ""


def signal(
    *,
    ge: float | None = None,
    le: float | None = None,
    unit: str | None = None,
    better: Better = "neither",
    doc: str = "",
) -> SignalInfo:
    """Declare range, unit and direction of one signal, inside `Annotated[...]`.

    Args:
        ge: Smallest possible value; None for no lower end.
        le: Largest possible value; None for no upper end.
        unit: Any identifier, such as `tests` or `s`; None for a pure number.
        better: Whether a higher value is better, worse or neither.
        doc: One line for people.

    Raises:
        ValueError: an end is not finite, the range is empty, the unit is no identifier or the direction unknown.
    """
    for end in (ge, le):
        if end is not None and not math.isfinite(end):
            raise ValueError(f"an end of a signal's range must be finite or left out, got {end}")
    if ge is not None and le is not None and ge > le:
        raise ValueError(f"a signal's range must have ge <= le, got {ge} and {le}")
    if unit is not None and not unit.isidentifier():
        raise ValueError(f"a unit must be an identifier, got {unit!r}")
    if better not in typing.get_args(Better):
        raise ValueError(f"better must be one of up, down, neither, got {better!r}")
    return SignalInfo(ge, le, unit, better, doc)


class Signals(msgspec.Struct, frozen=True):
    """Base of what verifiers return."""

    __test__: ClassVar[bool] = False  # a subclass named Tests is no test class


class SignalSpec(msgspec.Struct, frozen=True, array_like=True):
    """One signal as the compiler sees it."""

    name: str
    kind: Kind
    unit: str | None = None
    better: Better = "neither"
    doc: str = ""


def read_signals(signals: type[Signals]) -> dict[str, SignalSpec]:
    """Return the declared signals of a class, in order.

    Raises:
        PluginError: an attribute has no kind the language knows, a range on a kind that has none, or a bad name.
    """
    specs: dict[str, SignalSpec] = {}
    for name, annotation in typing.get_type_hints(signals, include_extras=True).items():
        if typing.get_origin(annotation) is ClassVar or name.startswith("__"):
            continue
        specs[name] = _read_signal(signals, name, annotation)
    if not specs:
        raise PluginError("a signals class must declare at least one signal", got=signals.__qualname__)
    return specs


def check_signals(specs: dict[str, SignalSpec], value: object, verifier: str) -> dict[str, SignalValue]:
    """Return the checked values of one verification, by name.

    Args:
        specs: What the verifier declared.
        value: What it returned.
        verifier: Name, distribution and version, for the message.

    Raises:
        VerifierFault: wrong class, wrong type, NaN, infinite, or outside the declared range.
    """
    if not isinstance(value, Signals):
        raise VerifierFault("a verifier must return its declared Signals", got=type(value).__name__, at=verifier)
    values: dict[str, SignalValue] = {}
    for name, spec in specs.items():
        item = getattr(value, name, None)
        if spec.kind.name == "float" and type(item) is int:
            item = float(item)
        reason = misfit(spec.kind, item)
        if reason is not None:
            raise VerifierFault(f"signal `{name}` {reason}", at=verifier)
        values[name] = item
    return values


def _read_signal(owner: type[Signals], name: str, annotation: Any) -> SignalSpec:
    where = f"{owner.__module__}.{owner.__qualname__}.{name}"
    info, base = SignalInfo(), annotation
    if typing.get_origin(annotation) is Annotated:
        base, *extras = typing.get_args(annotation)
        infos = [extra for extra in extras if isinstance(extra, SignalInfo)]
        if len(infos) > 1:
            raise PluginError("a signal must be declared once", at=where)
        info = infos[0] if infos else info
    if name.startswith("_"):
        raise PluginError("a signal's name must not begin with an underscore", at=where)
    try:
        kind = annotation_to_kind(base)
    except TypeError as error:
        raise PluginError(f"the kind of a signal {error}", at=where) from None
    target = kind.item if kind.name == "list" and kind.item is not None else kind
    if info.ge is not None or info.le is not None:
        if target.name not in ("int", "float"):
            raise PluginError("only int and float signals have a range", got=str(kind), at=where)
        ranged = Kind(target.name, _float(info.ge), _float(info.le))
        kind = Kind("list", item=ranged) if kind.name == "list" else ranged
    if target.name not in ("bool", "int", "float", "str", "literal"):
        raise PluginError("a signal must be a bool, number, text or a list of them", got=str(kind), at=where)
    return SignalSpec(name, kind, info.unit, info.better, info.doc)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
