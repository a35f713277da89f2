"""What an edit of a domain costs: the class of a change, with the reason for each part that differs.

    REUSE    nothing that a stored verdict rests on has changed
    REDUCE   the reward has changed: arithmetic over stored signals
    REGRADE  a verification has changed, or signals are asked for that a closed gate had skipped
    RERUN    what an episode is has changed: it would have to be played again

Params are compared where they are used: one that a verifier's argument names changes the verification, not the reward.
What is said of a domain is what may be needed; `assay.dsl.recall` says it of one stored episode, exactly.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args

import msgspec

from assay.dsl.expr.node import Expr, Ref, number_text, walk
from assay.dsl.expr.show import show
from assay.dsl.program import Program, Reward, Rows, Use, Verify
from assay.dsl.reduce import reward_verifiers, scope_of, verifiers_of

Effect = Literal["REUSE", "REDUCE", "REGRADE", "RERUN"]
"""From the cheapest to the dearest."""

_LONGEST = 100


class Reason(msgspec.Struct, frozen=True):
    """Why one part of an edit costs what it costs.

    Attributes:
        effect: What it asks for.
        part: Address of the part, such as `reward.outcome.solved` or `verify.tests`.
        text: Before and after, in one line.
        split: Rows it concerns; None: every episode.
    """

    effect: Effect
    part: str
    text: str
    split: str | None = None


class Change(msgspec.Struct, frozen=True):
    """An edit of one domain.

    Attributes:
        before: Identity of the domain before.
        after: And after.
        reasons: In the order of the file; parts that cost nothing are among them.
        sources: Verification after -> the one before that made the same measurement; None where none did.
        is_same_reward: Equal signals under equal names give equal rewards, terms and successes.
    """

    before: str
    after: str
    reasons: tuple[Reason, ...]
    sources: dict[str, str | None]
    is_same_reward: bool

    @property
    def effect(self) -> Effect:
        """The dearest of the reasons."""
        return dearest(reason.effect for reason in self.reasons)


def dearest(effects: Iterable[Effect]) -> Effect:
    """Return the dearest of several effects; REUSE where there are none."""
    order: tuple[Effect, ...] = get_args(Effect)
    return order[max((order.index(effect) for effect in effects), default=0)]


def classify(before: Program, after: Program, renewed: Collection[str] = ()) -> Change:
    """Compare two programs of one domain.

    Args:
        before: As it graded.
        after: As edited.
        renewed: Registered names of verifiers whose measurements are others now though the call is the same, because
            another judge answers.
    """
    sources = {
        name: None if verify.use.leaf in renewed else _source(name, verify, before, after)
        for name, verify in after.verify.items()
    }
    is_same = _reward_key(before) == _reward_key(after) and all(sources[n] in (None, n) for n in _read(after))
    reasons = [*_labels(before, after), *_rollout(before, after), *_verify(before, after, sources, renewed)]
    if not is_same:
        reasons += _reward(before, after)
    reasons += _skipped(before, after, sources)
    return Change(before.identity, after.identity, tuple(reasons), sources, is_same)


def settle(value: Any, params: Mapping[str, float]) -> Any:
    """Return nodes as plain values, with the value of each param in its place."""
    return _settled(msgspec.to_builtins(value), params)


def _settled(value: Any, params: Mapping[str, float]) -> Any:
    if isinstance(value, dict):
        if value.get("op") == "ref" and value.get("name") in params:
            return {"op": "num", "text": number_text(params[value["name"]])}
        return {key: _settled(item, params) for key, item in value.items()}
    return [_settled(item, params) for item in value] if isinstance(value, (list, tuple)) else value


def _labels(before: Program, after: Program) -> Iterator[Reason]:
    if before.identity != after.identity:
        yield Reason("REUSE", "domain", f"{before.identity} -> {after.identity}: a name, not a measurement")
    if before.group != after.group:
        sizes = f"{before.group.size} -> {after.group.size} siblings, at least {after.group.min_scored} scored"
        yield Reason("REUSE", "group", f"{sizes}: groups to come")
    for name in ("summary", "examples", "controls", "calibration", "allow"):
        if getattr(before, name) != getattr(after, name):
            yield Reason("REUSE", name, "says nothing about training")


def _rollout(before: Program, after: Program) -> Iterator[Reason]:
    for name in ("fields", "system", "prompt", "answer", "episode", "sandbox"):
        old: Any = getattr(before, name)
        new: Any = getattr(after, name)
        if name == "answer":
            is_same = settle(old, before.params) == settle(new, after.params)
            old, new = (None if use is None else _call(use) for use in (old, new))
        else:
            is_same = old == new
        if not is_same:
            yield Reason("RERUN", name, _both(_text(old), _text(new)))
    for split in dict.fromkeys((*before.data, *after.data)):
        rows, changed = before.data.get(split), after.data.get(split)
        if settle(rows, before.params) == settle(changed, after.params):
            continue
        if split == "demos":
            yield Reason("REUSE", "data.demos", "demonstrations are imitated, not played", split)
        elif rows is None:
            yield Reason("REUSE", f"data.{split}", "rows that no stored episode has played", split)
        else:
            yield Reason("RERUN", f"data.{split}", _both(_data(rows), _data(changed)), split)


def _verify(
    before: Program, after: Program, sources: Mapping[str, str | None], renewed: Collection[str]
) -> Iterator[Reason]:
    read = _read(after)
    for name, verify in after.verify.items():
        source, old = sources[name], before.verify.get(name)
        part = f"verify.{name}"
        if source is not None and source != name:
            yield Reason("REUSE", part, f"the verification that was called `{source}`")
        elif source is None:
            text = "new" if old is None else _both(_versioned(old.use, before), _versioned(verify.use, after))
            if old is not None and _call_key(old, before) == _call_key(verify, after):
                is_renewed = verify.use.leaf in renewed
                text = "another judge answers" if is_renewed else "its signals are declared otherwise"
            effect: Effect = "REGRADE" if name in read else "REUSE"
            yield Reason(effect, part, text if name in read else f"{text}; no reward reads it")
    for name in before.verify:
        if name not in after.verify and name not in sources.values():
            yield Reason("REUSE", f"verify.{name}", "gone; what it measured stays stored")


def _reward(before: Program, after: Program) -> Iterator[Reason]:
    old, new = _formulas(before.reward), _formulas(after.reward)
    found = 0
    for part in dict.fromkeys((*old, *new)):
        was, now = old.get(part), new.get(part)
        if was is None or now is None:
            text = f"new: {show(now)}" if now is not None else f"gone: {show(was)}" if was is not None else ""
        elif settle(was, before.params) == settle(now, after.params):
            continue
        else:
            text = _both(show(was), show(now)) if was != now else _params(now, before.params, after.params)
        found += 1
        yield Reason("REDUCE", part, text)
    versions = before.reward.functions, after.reward.functions
    for name in sorted(set(versions[0]) & set(versions[1])):
        if versions[0][name] != versions[1][name]:
            found += 1
            yield Reason("REDUCE", f"reward.{name}()", f"v{versions[0][name]} -> v{versions[1][name]}")
    if not found:
        is_text_same = settle([old], before.params) == settle([new], after.params)
        text = "what its names stand for" if is_text_same and list(old) == list(new) else "the order of gates and terms"
        yield Reason("REDUCE", "reward", text)


def _skipped(before: Program, after: Program, sources: Mapping[str, str | None]) -> Iterator[Reason]:
    """Say which verifications the new reward may ask for that an episode behind a closed gate does not have."""
    scope_before, gates_before = scope_of(before), before.reward.gates
    measured = dict.fromkeys(reward_verifiers(before.reward, scope_before))
    for gate in gates_before:
        measured |= dict.fromkeys(verifiers_of(gate.condition, scope_before))
    wanted = [name for name in _read(after) if sources.get(name) is not None]
    unread = [name for name in wanted if sources[name] not in measured]
    if unread:
        yield Reason("REGRADE", "reward", f"reads {_names(unread)}, which no reward had read and nobody measured")
    for index, gate in enumerate(gates_before):
        stopped = {name for one in gates_before[: index + 1] for name in verifiers_of(one.condition, scope_before)}
        asked = _asked_behind(index, before, after, sources)
        if missing := [name for name in asked if sources.get(name) in measured and sources[name] not in stopped]:
            text = f"where it closed it had skipped {_names(missing)}, which may be needed now"
            yield Reason("REGRADE", f"reward.gate.{gate.name}", text)


def _asked_behind(closed: int, before: Program, after: Program, sources: Mapping[str, str | None]) -> list[str]:
    """Return the verifications that the new reward may ask for where one gate had closed and those before it had not.

    A condition that stands in both rewards comes out as it did.
    """
    scope = scope_of(after)
    outcomes = [
        (settle(gate.condition, before.params), index < closed)
        for index, gate in enumerate(before.reward.gates[: closed + 1])
    ]
    asked: dict[str, None] = {}
    for gate in after.reward.gates:
        owners = verifiers_of(gate.condition, scope)
        condition = settle(gate.condition, after.params)
        if any(sources.get(name) is None for name in owners):
            return list(asked)  # what it reads is measured anew, which has a reason of its own
        was_open = next((is_open for known, is_open in outcomes if known == condition), None)
        if was_open is None or any(sources.get(name) != name for name in owners):
            asked |= dict.fromkeys(owners)
        elif not was_open:
            return list(asked)
    return list(asked | dict.fromkeys(reward_verifiers(after.reward, scope)))


def _source(name: str, verify: Verify, before: Program, after: Program) -> str | None:
    """Return the verification before that measured what this one would, under its own name where it can be."""
    key = (_call_key(verify, after), _kinds(verify, name, after))
    for other in (name, *before.verify):
        old = before.verify.get(other)
        if old is not None and key[0] == _call_key(old, before):
            kinds = _kinds(old, None, before)
            if all(kinds.get(signal) == kind for signal, kind in key[1].items()):
                return other
    return None


def _kinds(verify: Verify, name: str | None, program: Program) -> dict[str, Any]:
    """Return the kinds of a verification's signals; of those that the reward reads where a name is given."""
    read = None if name is None else set(signals_read(program).get(name, ()))
    return {
        signal: msgspec.to_builtins(spec.kind)
        for signal, spec in verify.signals.items()
        if read is None or signal in read
    }


def signals_read(program: Program) -> dict[str, tuple[str, ...]]:
    """Return the signals that the reward reads, by name under `verify:` or `trace`."""
    found: dict[str, dict[str, None]] = {}
    for node in (*_formulas(program.reward).values(), program.reward.success):
        for part in walk(node):
            owner = getattr(part, "owner", None)
            if owner is not None:
                found.setdefault(owner, {})[getattr(part, "name", "")] = None
    return {owner: tuple(names) for owner, names in found.items()}


def fields_read(program: Program) -> tuple[str, ...]:
    """Return the fields that the reward or `success` reads."""
    nodes = (*_formulas(program.reward).values(), program.reward.success)
    parts = (part for node in nodes for part in walk(node))
    return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, Ref) and part.name in program.fields))


def _call_key(verify: Verify, program: Program) -> Any:
    return settle(verify.use, program.params)


def _read(program: Program) -> tuple[str, ...]:
    """Return the verifications that gates, terms or `success` read."""
    scope = scope_of(program)
    names: dict[str, None] = {}
    for gate in program.reward.gates:
        names |= dict.fromkeys(verifiers_of(gate.condition, scope))
    return tuple(names | dict.fromkeys(reward_verifiers(program.reward, scope)))


def _formulas(reward: Reward) -> dict[str, Expr]:
    """Return every written expression by its address."""
    found: dict[str, Expr] = {}
    for gate in reward.gates:
        found[f"reward.gate.{gate.name}"] = gate.condition
        found[f"reward.gate.{gate.name}.else"] = gate.otherwise
    for section, terms in reward.sections():
        found |= {f"reward.{section}.{term.name}": term.value for term in terms}
        if section == "process" and reward.when is not None:
            found["reward.efficiency.when"] = reward.when
    if not reward.is_default_success:
        found["reward.success"] = reward.success
    return found


def _reward_key(program: Program) -> Any:
    reward = program.reward
    gates = [(gate.condition, gate.otherwise) for gate in reward.gates]
    sections = [[(term.name, term.value) for term in terms] for _, terms in reward.sections()]
    return settle([gates, sections, reward.when, reward.success, reward.functions], program.params)


def _params(node: Expr, before: Mapping[str, float], after: Mapping[str, float]) -> str:
    names = dict.fromkeys(part.name for part in walk(node) if isinstance(part, Ref) and part.name in after)
    changed = [name for name in names if before.get(name) != after[name]]
    return ", ".join(f"param {name} {before.get(name, 'absent')} -> {after[name]}" for name in changed)


def _versioned(use: Use, program: Program) -> str:
    return f"{_call(use, program.params)} v{use.version}"


def _call(use: Use, params: Mapping[str, float] | None = None) -> str:
    parts = []
    for argument in use.arguments:
        text = show(argument.value)
        if params and isinstance(argument.value, Ref) and text in params:
            text = f"{text}:{params[text]}"
        parts.append(f"{argument.name}={text}")
    return f"{use.leaf}({', '.join(parts)})"


def _data(data: Use | Rows | None) -> str:
    if data is None:
        return "nothing"
    return f"{len(data.rows)} rows" if isinstance(data, Rows) else f"{_call(data)} v{data.version}"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _both(old: str, new: str) -> str:
    if old == new:
        return f"{_short(new)}, changed inside"
    start = 0
    if max(len(old), len(new)) > _LONGEST:  # show where they part
        start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    mark, start = ("...", start - 10) if start > 10 else ("", 0)
    return f"{mark}{_short(old[start:])} -> {mark}{_short(new[start:])}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value if value.isidentifier() or "(" in value[:40] else repr(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {kind}" for name, kind in value.items())
    plain = msgspec.to_builtins(value)
    return ", ".join(f"{key} {item}" for key, item in plain.items()) or "nothing"
