"""RX003 on parsed answers, SB001, SB002, DT001: who grades, where, and whether the grade can be trusted."""

import re
from collections.abc import Iterator
from typing import cast

from assay.core.leaf import Verifier
from assay.core.quantity import parse_size
from assay.core.registry import Registry
from assay.dsl.analysis import Analysis
from assay.dsl.declared import Declared
from assay.dsl.expr.interval import TRUE
from assay.dsl.expr.narrow import Known, narrow
from assay.dsl.expr.node import Expr, Signal, Text, walk
from assay.dsl.program import BoxSpec
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Span

# A model name that says which weights: a digest, a revision or a date.
_PINNED = re.compile(r"@(sha256:)?[0-9a-f]{7,64}$|@\S+$|[-:](19|20)\d\d-?\d\d-?\d\d$")


def lint_grading(declared: Declared, analysis: Analysis, registry: Registry) -> Iterator[Finding]:
    """Report verifiers that meet no answer, no box, or a box where the grade can be forged."""
    yield from _parsed_answers(declared, analysis)
    yield from _boxes(declared, registry)
    yield from _forgeable(declared)
    yield from _judges(declared)


def live_verifiers(declared: Declared) -> dict[str, Verifier]:
    """Return the verifiers that the reward uses, by name."""
    used: set[str] = set()
    for formula in declared.formulas():
        if formula.node is not None:
            used |= _owners(formula.node)
    return {name: cast(Verifier, b.offer.value) for name, b in declared.verify.items() if name in used}


def required_capabilities(declared: Declared) -> dict[str, frozenset[str]]:
    """Return what a sandbox backend must declare for each live verifier that needs a box."""
    live = live_verifiers(declared).items()
    return {name: capabilities_of(declared.sandbox, verifier) for name, verifier in live if verifier.needs.sandbox}


def capabilities_of(box: BoxSpec | None, verifier: Verifier) -> frozenset[str]:
    """Return what a sandbox backend must declare for a verifier that needs a box of this kind."""
    words = {"exec", "image"} if box is not None else {"exec"}
    if box is not None:
        words |= {f"net.{box.net}"}
        words |= {
            word for word, value in (("cpu", box.cpu), ("memory", box.memory_bytes), ("time", box.time_s)) if value
        }
        words |= {"history.sever"} if box.history == "sever" else set()
    words |= {"isolation.fresh"} if verifier.isolation == "fresh" else set()
    words |= {"gpu"} if verifier.needs.gpu else set()
    words |= {"net.full"} if verifier.needs.net else set()
    words |= {"memory"} if verifier.needs.memory and parse_size(verifier.needs.memory) else set()
    return frozenset(words)


def unpinned_judges(declared: Declared) -> Iterator[tuple[str, str]]:
    """Yield the live judges, by name under `verify:`, whose model name says not which weights, with that name."""
    for name, verifier in live_verifiers(declared).items():
        for argument in declared.verify[name].use.arguments if verifier.tier == "judge" else ():
            if argument.name == "model" and isinstance(argument.value, Text):
                model = argument.value.value
                if _PINNED.search(model) is None:
                    yield name, model


def _parsed_answers(declared: Declared, analysis: Analysis) -> Iterator[Finding]:
    """A verifier that takes the parsed answer may run only behind a gate on `trace.parsed`."""
    if declared.answer is None:
        return
    wanting = {
        name
        for name, bound in declared.verify.items()
        if any(
            p.name == "answer" and p.is_required and p.kind.name not in ("optional", "any")
            for p in cast(Verifier, bound.offer.value).parameters
        )
    }
    known: Known = {}
    exposed: set[str] = set()
    for item in analysis.gates:
        node = item.gate.condition.node
        if node is None:
            continue
        if known.get("trace.parsed") != TRUE:
            exposed |= _owners(node) & wanting
        known = narrow(node, known, analysis.scope, holds=True) or known
    if known.get("trace.parsed") != TRUE:
        exposed |= set(live_verifiers(declared)) & wanting
    for name in sorted(exposed):
        scalar = declared.verify_scalars[name]
        message = f"`{name}` takes the answer as text, and the answer parser may refuse it"
        hint = "put `- if: trace.parsed` before it in `gate:`, or let it take `answer: str | None`"
        yield finding("RX003", scalar.span, message, hint, f"verify.{name}")


def _boxes(declared: Declared, registry: Registry) -> Iterator[Finding]:
    backends = {offer.name: offer.value.capabilities() for offer in registry.of_kind("sandbox")}
    for name, words in required_capabilities(declared).items():
        at, span = f"verify.{name}", declared.verify_scalars[name].span
        if declared.sandbox is None:
            hint = "add `sandbox: {image: ...}`"
            yield _warning(finding("SB001", span, f"`{name}` needs a sandbox, and the domain declares none", hint, at))
        elif not any(words <= have for have in backends.values()):
            nothing: frozenset[str] = frozenset()
            best = max(backends.values(), key=lambda have: len(words & have), default=nothing)
            missing = ", ".join(sorted(words - best))
            message = f"no installed sandbox declares what `{name}` needs: {missing}"
            hint = f"installed: {', '.join(sorted(backends)) or 'none'}"
            yield _warning(finding("SB001", span, message, hint, at))


def _forgeable(declared: Declared) -> Iterator[Finding]:
    for name, verifier in live_verifiers(declared).items():
        if not verifier.needs.sandbox:
            continue
        at, span = f"verify.{name}", declared.verify_scalars[name].span
        if verifier.isolation == "shared" and verifier.is_isolation_explicit:
            message = f"`{name}` grades in the box the policy worked in, where the grade can be written beforehand"
            yield finding("SB002", span, message, 'use isolation="fresh"', at)
        if verifier.needs.tests == "image":
            message = f"`{name}` runs tests that lie in the image, where the policy can edit them"
            yield finding("SB002", span, message, "pass the tests as a field", at)
    if declared.sandbox is not None and declared.sandbox.history == "keep":
        node = declared.tree.get("sandbox")
        span = _span(node, "history")
        message = "`history: keep` shows the policy later commits, which hold the solution"
        yield finding("SB002", span, message, "leave it out: the default severs", "sandbox.history")


def _judges(declared: Declared) -> Iterator[Finding]:
    """An unpinned judge: a warning here, an error where determinism is required."""
    for name, model in unpinned_judges(declared):
        message = f"the judge of `{name}` must be pinned, got the floating name {model!r}"
        span = declared.verify_scalars[name].span
        yield _warning(finding("DT001", span, message, "name a revision: model@revision", f"verify.{name}"))


def _warning(found: Finding) -> Finding:
    return Finding(found.code, "warning", found.span, found.message, found.hint, found.at)


def _owners(node: Expr) -> set[str]:
    return {part.owner for part in walk(node) if isinstance(part, Signal)}


def _span(node: object, key: str) -> Span:
    assert isinstance(node, Mapping)
    entry = node.entry(key)
    return node.span if entry is None else entry.value.span
