"""Reads examples and controls: what a declaration says its own reward must give."""

from typing import Any

from assay.core.name import suggestion
from assay.dsl.expr.node import Ref, Signal
from assay.dsl.expr.scope import Scope
from assay.dsl.program import Control, Example
from assay.dsl.rows import plain_value, read_value
from assay.dsl.schema import read_number
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence, Span


class TrialReader:
    """Reads `examples:` and `controls:` of one domain; `findings` holds what is wrong with them."""

    def __init__(self, tree: Mapping, scope: Scope) -> None:
        self.tree = tree
        self.scope = scope
        self.findings: list[Finding] = []

    def examples(self) -> list[Example]:
        """Read the examples."""
        found = []
        node = self.tree.get("examples")
        for index, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            if not isinstance(item, Mapping):
                continue
            given = {}
            entries = item.get("given")
            for entry in entries if isinstance(entries, Mapping) else ():
                given[entry.key.text] = self.given(entry.key, entry.value, f"examples.{index}")
            bound = self.bound(item, f"examples.{index}")
            success = _text_of(item, "success")
            if bound is not None:
                name = _text_of(item, "name") or f"example {index}"
                found.append(Example(name, given, *bound, {"true": True, "false": False}.get(success)))
        return found

    def given(self, key: Scalar, value: Node, at: str) -> Any:
        owner, _, name = key.text.partition(".")
        node = Signal(owner=owner, name=name) if name else Ref(name=owner)
        kind = self.scope.kind(node) if owner not in self.scope.params else None
        if kind is None:
            if key.text in self.scope.params:
                self.say("RX003", key.span, f"`{key.text}` is a param, which has its value already", "", at)
            elif key.text in self.scope.signals:
                hint = f"name one of its signals: {', '.join(f'{owner}.{n}' for n in self.scope.signals[owner])}"
                self.say("RX003", key.span, f"`{key.text}` is a verifier, not a value", hint, at)
            elif owner not in self.scope.faulty:
                self.say("RX001", key.span, f"unknown name `{key.text}`", suggestion(key.text, self.scope.names()), at)
            return plain_value(value)
        read, reason = read_value(value, kind)
        if reason is not None:
            self.say("RX003", value.span, f"`{key.text}` {reason}", "", at)
        return read

    def bound(self, item: Mapping, at: str) -> tuple[str, float] | None:
        node = item.get("reward")
        if not isinstance(node, Scalar):
            return None
        bound = read_bound(node.text)
        if bound is None:
            self.say("YM003", node.span, f"must be a number or a comparison such as `> 1.5`, got {node.text!r}", "", at)
        return bound

    def controls(self) -> list[Control]:
        """Read the controls; their answers are templates for the caller to check."""
        found = []
        node = self.tree.get("controls")
        for entry in node if isinstance(node, Mapping) else ():
            if not isinstance(entry.value, Mapping):
                continue
            at = f"controls.{entry.key.text}"
            answer = entry.value.get("answer")
            bound = self.bound(entry.value, at)
            if isinstance(answer, Scalar) and bound is not None:
                found.append(Control(entry.key.text, answer.text, *bound))
        return found

    def say(self, code: str, span: Span, message: str, hint: str, at: str) -> None:
        self.findings.append(finding(code, span, message, hint, at))


def read_bound(text: str) -> tuple[str, float] | None:
    """Read a number or a comparison with one: `1.5`, `> 1.5`, `<= 0`."""
    text = text.strip()
    for sign in ("<=", ">=", "==", "<", ">"):
        if text.startswith(sign):
            text, found = text[len(sign) :].strip(), sign
            break
    else:
        found = "=="
    try:
        return found, float(read_number(text))
    except ValueError:
        return None


def _text_of(node: Mapping, key: str) -> str:
    child = node.get(key)
    return child.text.strip() if isinstance(child, Scalar) else ""
