"""Calls of registered leaves: from `tests.pytest(f2p, p2p)` to a `Use`, or RX001, RX002, RX003, RX006.

An argument is a literal, a list of literals, or the bare name of a field or param.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.error import AssayError, PluginError
from assay.core.kind import Kind, accepts
from assay.core.leaf import Factory, Leaf, Parameter
from assay.core.name import suggestion
from assay.core.registry import Offer, Registry
from assay.core.stage_rule import Mean
from assay.dsl.expr.check import check_expression
from assay.dsl.expr.fault import Fault, place, place_syntax
from assay.dsl.expr.node import Call, Expr, Items, Num, Ref, Signal, Text, Truth, Unary, strip, walk
from assay.dsl.expr.parse import parse_call
from assay.dsl.expr.scope import Scope, meant
from assay.dsl.program import Argument, Use
from assay.dsl.source.diagnostic import Finding
from assay.dsl.source.mark import Scalar


class Bound(msgspec.Struct, frozen=True):
    """A call that holds.

    Attributes:
        offer: What is called.
        use: The IR.
        names: Fields and params that the arguments use.
        call: As it was written, with places.
    """

    offer: Offer
    use: Use
    names: frozenset[str]
    call: Call


def bind_call(
    scalar: Scalar, kind: str, registry: Registry, scope: Scope, at: str, *, fields: bool = True
) -> tuple[Bound | None, list[Finding], frozenset[str]]:
    """Bind one call.

    Args:
        scalar: Its text.
        kind: What it names: `verifier`, `source`, `parser`, `sampler` or `stage_rule`.
        registry: What is installed.
        scope: Fields and params.
        at: Path of the declaration.
        fields: Whether arguments may be fields.

    Returns:
        The bound call or None, the findings, and the names it mentions in either case.
    """
    call, syntax = parse_call(scalar.text)
    if call is None:
        mentioned = frozenset(name for name in (*scope.fields, *scope.params) if name in scalar.text)
        return None, [place_syntax(fault, scalar, at) for fault in syntax], mentioned
    return bind_parsed(call, scalar, kind, registry, scope, at, fields=fields)


def bind_parsed(
    call: Call, scalar: Scalar, kind: str, registry: Registry, scope: Scope, at: str, *, fields: bool = True
) -> tuple[Bound | None, list[Finding], frozenset[str]]:
    """Bind a call that is parsed already; see `bind_call`."""
    mentioned = frozenset(name for part in walk(call) if isinstance(part, Ref) for name in meant(part.name, scope))
    faults: list[Fault] = []
    given = _mean_kind if kind == "stage_rule" else _argument_kind
    kinds = [given(arg, scope, faults, fields=fields) for arg in _values(call)]
    offer = _find(kind, call, registry, faults)
    use = None
    if offer is not None and all(given is not None for given in kinds):
        use = _bind(call, offer, [given for given in kinds if given is not None], faults)
    findings = [place(fault, scalar, at) for fault in faults]
    bound = None if use is None or offer is None or faults else Bound(offer, use, mentioned, call)
    if bound is None and offer is not None:
        # A call that lacks an argument would use the field of that name.
        mentioned |= {p.name for p in _parameters(offer) if p.name in scope.fields}
    return bound, findings, mentioned


def make_refusal(bound: Bound) -> str:
    """Return why a factory refuses the arguments of a call; empty where it takes them.

    A target that is named as text is not made, since importing it may be heavy; whoever makes it finds out.
    """
    factory: Factory = bound.offer.value
    if isinstance(factory.target, str):
        return ""
    positional, named = spelled_arguments(bound.call)
    try:
        factory.target(*positional, **named)
    except AssayError as error:
        return error.must if error.got is None else f"{error.must}, got {error.got}"
    except Exception as error:
        return f"`{bound.use.leaf}` refuses its arguments: {type(error).__name__}: {error}"
    return ""


def literal_value(node: Expr, values: Mapping[str, Any]) -> Any:
    """Return the Python value of an argument; `values` holds fields and params."""
    match node:
        case Signal():
            return Mean(node.owner, node.name)
        case Num():
            return int(node.text) if node.is_int else node.value
        case Text() | Truth():
            return node.value
        case Unary():
            value = literal_value(node.item, values)
            return -value if node.sign == "-" else value
        case Items():
            return [literal_value(item, values) for item in node.items]
        case Ref():
            return values[node.name]
    raise AssertionError(f"no argument: {node}")


def call_arguments(use: Use, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call for one task: positional ones of a variadic parameter, and keywords.

    Args:
        use: The call.
        values: Fields and params by name.
    """
    args = [literal_value(argument.value, values) for argument in use.arguments if "." in argument.name]
    named = {a.name: literal_value(a.value, values) for a in use.arguments if "." not in a.name}
    return args, named


def spelled_arguments(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call without fields and params as Python passes them: positional ones and keywords."""
    positional = [literal_value(node, {}) for node in call.args]
    return positional, {keyword.name: literal_value(keyword.value, {}) for keyword in call.keywords}


def _values(call: Call) -> list[Expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _find(kind: str, call: Call, registry: Registry, faults: list[Fault]) -> Offer | None:
    try:
        return registry.find(kind, call.function)
    except PluginError as error:
        # The name alone is faulty, not its arguments.
        name = Ref(name=call.function, start=call.start, end=call.start + len(call.function))
        message = error.must if error.got is None else f"{error.must}, got {error.got}"
        faults.append(Fault(error.error_code, name, message, error.todo or ""))
        return None


def _argument_kind(node: Expr, scope: Scope, faults: list[Fault], *, fields: bool) -> Kind | None:
    match node:
        case Num():
            return Kind("int" if node.is_int else "float")
        case Truth():
            return Kind("bool")
        case Text():
            return Kind("literal", choices=(node.value,))
        case Unary(sign="-" | "+") if isinstance(node.item, Num):
            return Kind("int" if node.item.is_int else "float")
        case Items():
            kinds = [_argument_kind(item, scope, faults, fields=False) for item in node.items]
            if any(kind is None for kind in kinds):
                return None
            names = {"str" if kind.name == "literal" else kind.name for kind in kinds if kind is not None}
            if names == {"int", "float"}:
                names = {"float"}
            return Kind("list", item=Kind(names.pop()) if len(names) == 1 else Kind("any") if names else None)
        case Ref():
            return _name_kind(node, scope, faults, fields=fields)
    faults.append(Fault("RX002", node, "an argument must be a literal, a field or a param"))
    return None


def _mean_kind(node: Expr, scope: Scope, faults: list[Fault], *, fields: bool) -> Kind | None:
    """Return the kind of an argument of a stage rule: a literal, or a signal of an entry."""
    if not isinstance(node, Signal):
        return _argument_kind(node, scope, faults, fields=fields)
    typed, unknown = check_expression(node, scope, {}, "any")
    faults += unknown
    return None if typed is None else Kind("mean")


def _name_kind(node: Ref, scope: Scope, faults: list[Fault], *, fields: bool) -> Kind | None:
    if node.name in scope.faulty:
        return None
    if node.name in scope.params:
        return Kind("int" if isinstance(scope.params[node.name], int) else "float")
    if fields and node.name in scope.fields:
        return scope.fields[node.name]
    known = (*scope.fields, *scope.params) if fields else tuple(scope.params)
    what = "field or param" if fields else "param"
    faults.append(Fault("RX001", node, f"unknown {what} `{node.name}`", suggestion(node.name, known)))
    return None


def _bind(call: Call, offer: Offer, kinds: list[Kind], faults: list[Fault]) -> Use | None:
    leaf: Leaf | Factory = offer.value
    parameters = _parameters(offer)
    before = len(faults)
    chosen: dict[str, tuple[Expr, Kind, Kind]] = {}
    positional = [parameter for parameter in parameters if not parameter.is_keyword_only]
    for index, (node, kind) in enumerate(zip(call.args, kinds, strict=False)):
        parameter = _positional(positional, index)
        if parameter is None:
            message = f"`{call.function}` takes {_count(positional)}, got {len(call.args)}"
            faults.append(Fault("RX006", call, message, _signature(call.function, parameters)))
            return None
        name = f"{parameter.name}.{index}" if parameter.is_variadic else parameter.name
        chosen[name] = (node, kind, parameter.kind)
    for keyword, kind in zip(call.keywords, kinds[len(call.args) :], strict=True):
        known = next((p for p in parameters if p.name == keyword.name and not p.is_variadic), None)
        open_ended = next((p for p in parameters if p.is_variadic and p.is_keyword_only), None)
        parameter = known or open_ended
        if parameter is None or keyword.name in chosen:
            what = "twice" if parameter is not None else ", which it does not take"
            message = f"`{call.function}` got `{keyword.name}`{' ' if parameter else ''}{what}"
            faults.append(Fault("RX006", call, message, _signature(call.function, parameters)))
            continue
        chosen[keyword.name] = (keyword.value, kind, parameter.kind)
    missing = [p.name for p in parameters if p.is_required and p.name not in chosen]
    if missing and len(faults) == before:
        message = f"`{call.function}` needs `{'`, `'.join(missing)}`"
        faults.append(Fault("RX006", call, message, _signature(call.function, parameters)))
    for name, (node, given, wanted) in chosen.items():
        if not accepts(wanted, given):
            shown = "str" if given.name == "literal" else str(given)
            faults.append(Fault("RX003", node, f"`{call.function}` takes {name}: {wanted}, got {shown}"))
    if len(faults) > before:
        return None
    order = {parameter.name: index for index, parameter in enumerate(parameters)}
    names = sorted(chosen, key=lambda name: (order.get(name.partition(".")[0], len(order)), name))
    arguments = tuple(Argument(name, strip(chosen[name][0])) for name in names)
    return Use(call.function, getattr(leaf, "version", 1), arguments)


def _parameters(offer: Offer) -> tuple[Parameter, ...]:
    leaf: Leaf | Factory = offer.value
    return leaf.bound_parameters if isinstance(leaf, Leaf) else leaf.parameters()


def _positional(parameters: list[Parameter], index: int) -> Parameter | None:
    if index < len(parameters):
        return parameters[index]
    return parameters[-1] if parameters and parameters[-1].is_variadic else None


def _count(parameters: list[Parameter]) -> str:
    least = sum(parameter.is_required for parameter in parameters)
    most = len(parameters)
    text = f"{most}" if least == most else f"{least} to {most}"
    return f"{text} argument{'' if text == '1' else 's'}"


def _signature(name: str, parameters: tuple[Parameter, ...]) -> str:
    shown = [f"{p.name}: {p.kind}{'' if p.is_required else ' = ...'}" for p in parameters]
    return f"{name}({', '.join(shown)})"
