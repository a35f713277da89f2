"""One term, gate or guard explained: its formula, what is proved of it, and where each value in it comes from."""

from collections.abc import Mapping

import msgspec

from assay.core.error import ConfigError, PluginError
from assay.core.name import suggestion
from assay.core.registry import Registry
from assay.dsl.expr.function import BUILTIN, Entry
from assay.dsl.expr.infer import infer
from assay.dsl.expr.narrow import Known, narrow
from assay.dsl.expr.node import Call, Expr, Ref, Signal, walk
from assay.dsl.expr.scope import TRACE
from assay.dsl.expr.show import show
from assay.dsl.program import Program, Verify
from assay.dsl.reduce import scope_of

_DIRECTION = {"+": "rises with", "-": "falls with", "?": "depends on"}


class Origin(msgspec.Struct, frozen=True):
    """Where one name in a formula comes from.

    Attributes:
        name: As it stands in the formula.
        what: `signal`, `trace`, `field`, `param`, `function` or `success`.
        kind: Its type and range.
        unit: Of a signal.
        better: Of a signal.
        direction: How the formula follows it.
        source: The call with the verifier's version and owner, the param's value, or where else it comes from.
        doc: One line.
    """

    name: str
    what: str
    kind: str
    unit: str | None
    better: str
    direction: str
    source: str
    doc: str = ""


class TermExplanation(msgspec.Struct, frozen=True):
    """One formula of a reward.

    Attributes:
        domain: Full identity.
        name: Address in the reward.
        formula: As compiled.
        range: Proved, under the gates before it and its guard.
        under: Conditions that hold where it counts.
        pays: What a closed gate pays.
        origins: In order of first use.
    """

    domain: str
    name: str
    formula: str
    range: str
    under: tuple[str, ...]
    pays: str
    origins: tuple[Origin, ...]


def explain_term(
    program: Program, name: str, registry: Registry, functions: Mapping[str, Entry] = BUILTIN
) -> TermExplanation:
    """Explain a part of the reward.

    Args:
        program: Compiled domain.
        name: `outcome.solved`, `solved`, `gate.applies`, `applies`, `when` or `success`.
        registry: What is installed; says who owns a verifier.
        functions: Functions that expressions may call.

    Raises:
        ConfigError: the reward has no such part, or more than one.
    """
    address = _address(program, name)
    reward = program.reward
    scope = scope_of(program)
    trace = dict(scope.signals["trace"])
    for signal, limit in (("turns", program.episode.max_turns), ("tokens", program.episode.max_tokens)):
        if limit is not None:
            kind = msgspec.structs.replace(TRACE[signal].kind, hi=float(limit))
            trace[signal] = msgspec.structs.replace(TRACE[signal], kind=kind)
    scope = msgspec.structs.replace(scope, signals={**scope.signals, "trace": trace})
    known: Known = {}
    under: list[str] = []
    node: Expr | None = reward.success if address == "success" else None
    pays = ""
    for gate in reward.gates if address != "success" else ():
        if address == f"gate.{gate.name}":
            node, pays = gate.condition, show(gate.otherwise)
            break
        under.append(show(gate.condition))
        known = narrow(gate.condition, known, scope, holds=True) or known
    if address.startswith("efficiency.") and reward.when is not None:
        if address == "efficiency.when":
            node = reward.when
        else:
            under.append(show(reward.when))
            known = narrow(reward.when, known, scope, holds=True) or known
    for section, terms in reward.sections():
        node = next((term.value for term in terms if address == f"{section}.{term.name}"), node)
    assert node is not None
    fact = infer(node, scope, functions, known)
    signs = {key: _DIRECTION[sign] for key, sign in fact.signs.items()}
    is_truth = address == "success" or address.startswith("gate.") or address == "efficiency.when"
    return TermExplanation(
        domain=program.identity,
        name=f"reward.{address}",
        formula=show(node),
        range="bool" if is_truth else str(fact.interval),
        under=tuple(under),
        pays=pays,
        origins=tuple(_origins(node, program, registry, signs)),
    )


def _address(program: Program, name: str) -> str:
    reward = program.reward
    known = [f"gate.{gate.name}" for gate in reward.gates]
    known += [f"{section}.{term.name}" for section, terms in reward.sections() for term in terms]
    known += ["efficiency.when"] if reward.when is not None else []
    known.append("success")
    wanted = name.removeprefix("reward.")
    found = [one for one in known if wanted in (one, one.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        todo = f"Write {' or '.join(found)}"
        raise ConfigError("a term must be named by one address", got=name, at=program.identity, todo=todo)
    todo = (
        suggestion(wanted, [*known, *(one.partition(".")[2] for one in known if "." in one)])
        or f"There are {', '.join(known)}"
    )
    raise ConfigError("a term must be one of the reward's", got=name, at=program.identity, todo=todo)


def _origins(node: Expr, program: Program, registry: Registry, signs: Mapping[str, str]) -> list[Origin]:
    found: dict[str, Origin] = {}
    for part in walk(node):
        match part:
            case Signal():
                key = f"{part.owner}.{part.name}"
                found.setdefault(key, _signal(part, program, registry, signs.get(key, "not proved to follow")))
            case Ref(name="success"):
                text = f"success: {show(program.reward.success)}"
                found.setdefault("success", Origin("success", "success", "bool", None, "", "", text))
                for origin in _origins(program.reward.success, program, registry, {}):
                    found.setdefault(origin.name, origin)
            case Ref() if part.name in program.params:
                value = str(program.params[part.name])
                found.setdefault(part.name, Origin(part.name, "param", "number", None, "", "", f"= {value}"))
            case Ref():
                kind = str(program.fields[part.name])
                direction = signs.get(part.name, "")
                found.setdefault(part.name, Origin(part.name, "field", kind, None, "", direction, "field of the task"))
            case Call():
                found.setdefault(f"{part.function}()", _function(part.function, registry))
            case _:
                pass
    return list(found.values())


def _signal(node: Signal, program: Program, registry: Registry, direction: str) -> Origin:
    key = f"{node.owner}.{node.name}"
    if node.owner == "trace":
        spec = TRACE[node.name]
        source = "counted by the runtime"
    else:
        verify = program.verify[node.owner]
        spec = verify.signals[node.name]
        source = _verifier(verify, program, registry)
    what = "trace" if node.owner == "trace" else "signal"
    return Origin(key, what, str(spec.kind), spec.unit, spec.better, direction, source, spec.doc)


def _verifier(verify: Verify, program: Program, registry: Registry) -> str:
    parts = []
    for argument in verify.use.arguments:
        text = show(argument.value)
        if isinstance(argument.value, Ref) and text in program.params:
            text = f"{text} = {program.params[text]}"
        parts.append(f"{argument.name}={text}")
    try:
        offer = registry.find("verifier", verify.use.leaf)
        owner = f"{offer.dist} {offer.version}"
        if offer.value.version != verify.use.version:
            owner += f", which has v{offer.value.version} now"
    except PluginError:
        owner = "a package that is not installed here"
    determinism = "deterministic" if verify.is_deterministic else "not deterministic"
    call = f"{verify.use.leaf}({', '.join(parts)})"
    return f"{call} v{verify.use.version} of {owner}; {verify.tier}, {determinism}"


def _function(name: str, registry: Registry) -> Origin:
    if name in BUILTIN:
        return Origin(f"{name}()", "function", "", None, "", "", "of the language")
    try:
        offer = registry.find("function", name)
        source = f"v{offer.value.version} of {offer.dist} {offer.version}"
    except PluginError:
        source = "of a package that is not installed here"
    return Origin(f"{name}()", "function", "", None, "", "", source)
