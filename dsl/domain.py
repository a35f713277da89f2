"""From a checked tree to a declared domain: names, calls, rows and templates, with findings for each.

What this module accepts is well formed and well typed; whether the reward says what was meant is for `lint`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from assay.core.error import AssayError, PluginError
from assay.core.kind import Kind, parse_kind
from assay.core.leaf import Parser, SourceLeaf, Verifier
from assay.core.name import nearest, suggestion
from assay.core.quantity import parse_count, parse_duration, parse_size
from assay.core.registry import Registry
from assay.core.signal import SignalSpec
from assay.dsl.calibration import CalibrationReader
from assay.dsl.declared import Declared
from assay.dsl.edition import EDITION
from assay.dsl.expr.function import Entry
from assay.dsl.expr.node import Truth
from assay.dsl.expr.parse import parse_call
from assay.dsl.expr.scope import TRACE, Scope
from assay.dsl.formula import FormulaReader
from assay.dsl.leaf import Bound, bind_call, call_arguments
from assay.dsl.program import Allowance, BoxSpec, EpisodeSpec, GroupSpec, Rows, Use
from assay.dsl.rows import check_row, read_row, row_key, split_fields
from assay.dsl.schema import Checked, read_number
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence, Span
from assay.dsl.template import check_template
from assay.dsl.trial import TrialReader

# Rows of a local source that `check` reads; more is for preflight and first read.
MAX_CHECKED_ROWS = 10_000


def read_domain(
    checked: Checked, registry: Registry, functions: dict[str, Entry], base: Path
) -> tuple[Declared, list[Finding]]:
    """Read a domain declaration.

    Args:
        checked: Its tree after the shape check.
        registry: What is installed.
        functions: Functions of expressions.
        base: Folder that relative paths of sources start from.
    """
    reader = _Reader(checked, registry, functions, base)
    return reader.read(), reader.findings


class _Reader:
    def __init__(self, checked: Checked, registry: Registry, functions: dict[str, Entry], base: Path) -> None:
        self.tree = checked.tree
        self.shape_faults = checked.faulty
        self.is_whole = not checked.findings
        self.registry = registry
        self.functions = functions
        self.base = base
        self.findings: list[Finding] = []
        self.used: set[str] = set()
        self.clashes: set[str] = set()

    def read(self) -> Declared:
        self.edition()
        fields = {e.key.text: parse_kind(_text(e.value)) for e in self.entries("fields")}
        params = {e.key.text: read_number(_text(e.value)) for e in self.entries("params")}
        faulty = {path.split(".")[1] for path in self.shape_faults if path.count(".") == 1}
        self.scope = Scope(fields, params, {}, {}, None, frozenset(faulty))
        self.unique_names()
        answer = self.answer()
        episode = self.episode()
        verify = self.verify()
        signals = self.signals(verify)
        faulty |= self.clashes | ({e.key.text for e in self.entries("verify")} - set(signals))
        self.scope = Scope(fields, params, {**signals, "trace": _trace(episode)}, {}, None, frozenset(faulty))
        formulas = FormulaReader(self.tree.get("reward"), self.scope, self.functions, self.shape_faults)
        success = formulas.formula("success", "bool")
        if success is not None:
            node = success.node if success.node is not None else Truth(value=True)
            names = self.scope.faulty | ({"success"} if success.node is None else set())
            self.scope = msgspec.structs.replace(self.scope, success=node, faulty=frozenset(names))
        else:
            # Default: outcome at its upper end. What it stands for is known once the outcome's range is.
            self.scope = msgspec.structs.replace(self.scope, success=Truth(value=True))
        formulas.scope = self.scope
        gates = formulas.gates()
        sections = {}
        for name in ("outcome", "process", "efficiency"):
            # The default says what the outcome is, so the outcome cannot ask it.
            is_circular = success is None and name == "outcome"
            formulas.scope = msgspec.structs.replace(self.scope, success=None) if is_circular else self.scope
            sections[name] = formulas.section(name)
        when = formulas.formula("efficiency.when", "bool")
        trials = TrialReader(self.tree, self.scope)
        examples, controls = trials.examples(), trials.controls()
        self.control_answers()
        verifiers = {name: cast(Verifier, bound.offer.value) for name, bound in verify.items()}
        marks = CalibrationReader(self.tree, self.registry, self.scope, verifiers, self.open_rows)
        calibration = marks.read()
        self.findings += marks.findings
        self.used |= marks.used
        self.findings += [*formulas.findings, *trials.findings]
        self.used |= formulas.used
        data = self.data(fields)
        return Declared(
            id=_text_of(self.tree, "domain"),
            version=int(_text_of(self.tree, "version") or 1),
            summary=_text_of(self.tree, "summary"),
            scope=self.scope,
            is_whole=self.is_whole and formulas.is_whole,
            is_reward_whole=not any(path.split(".")[0] == "reward" for path in self.shape_faults),
            tree=self.tree,
            fields=fields,
            params=params,
            data=data,
            system=self.template("system"),
            prompt=self.template("prompt") or "",
            answer=answer,
            episode=episode,
            sandbox=self.sandbox(),
            verify=verify,
            verify_scalars={e.key.text: e.value for e in self.entries("verify") if isinstance(e.value, Scalar)},
            success=success,
            gates=gates,
            sections=sections,
            when=when,
            group=self.group(),
            allow=self.allow(),
            examples=examples,
            controls=controls,
            calibration=calibration,
            used=self.used,
        )

    # Names

    def edition(self) -> None:
        node = self.tree.get("assay")
        if isinstance(node, Scalar) and node.text.strip() != str(EDITION):
            hint = f"write `assay: {EDITION}`"
            self.say("YM005", node.span, f"unknown language edition, got {node.text.strip()}", hint, "assay")

    def unique_names(self) -> None:
        """One name means one thing in an expression."""
        owners: dict[str, str] = {"trace": "the built-in `trace`", "success": "the built-in `success`"}
        for section in ("fields", "params", "verify"):
            for entry in self.entries(section):
                name = entry.key.text
                if name in owners:
                    message = f"`{name}` is already the name of {owners[name]}"
                    self.say("YM001", entry.key.span, message, "", f"{section}.{name}")
                    self.clashes |= {name} if section == "verify" else set()
                    self.is_whole = False
                owners.setdefault(name, {"fields": "a field", "params": "a param", "verify": "a verification"}[section])

    # Calls

    def answer(self) -> Bound | None:
        node = self.tree.get("answer")
        if not isinstance(node, Scalar):
            return None
        bound, findings, mentioned = bind_call(node, "parser", self.registry, self.scope, "answer")
        self.findings += findings
        self.used |= mentioned
        return bound if bound is not None and isinstance(bound.offer.value, Parser) else None

    def verify(self) -> dict[str, Bound]:
        calls: dict[str, Bound] = {}
        for entry in self.entries("verify"):
            if not isinstance(entry.value, Scalar):
                continue
            at = f"verify.{entry.key.text}"
            bound, findings, mentioned = bind_call(entry.value, "verifier", self.registry, self.scope, at)
            self.findings += findings
            self.used |= mentioned
            if bound is not None:
                calls[entry.key.text] = bound
        return calls

    def signals(self, verify: dict[str, Bound]) -> dict[str, dict[str, SignalSpec]]:
        """Return the signals by verification: wrong arguments do not change what a known verifier returns."""
        signals = {name: cast(Verifier, bound.offer.value).signals for name, bound in verify.items()}
        for entry in self.entries("verify"):
            name = entry.key.text
            call, _ = parse_call(_text(entry.value))
            if name in signals or call is None:
                continue
            try:
                signals[name] = cast(Verifier, self.registry.find("verifier", call.function).value).signals
            except PluginError:
                continue
        return signals

    def data(self, fields: dict[str, Kind]) -> dict[str, Use | Rows]:
        splits: dict[str, Use | Rows] = {}
        read: dict[str, Iterable[dict[str, Any]]] = {}
        for entry in self.entries("data"):
            split, at = entry.key.text, f"data.{entry.key.text}"
            wanted = split_fields(fields, split)
            if isinstance(entry.value, Sequence):
                rows = splits[split] = self.rows(entry.value, wanted, at)
                read[split] = rows.rows
            elif isinstance(entry.value, Scalar):
                bound, findings, mentioned = bind_call(
                    entry.value, "source", self.registry, self.scope, at, fields=False
                )
                self.findings += findings
                self.used |= mentioned
                if bound is not None:
                    splits[split] = bound.use
                    read[split] = self.source_rows(bound, entry.value, wanted, split, at)
        self.canaries(read, fields)
        return splits

    def canaries(self, read: dict[str, Iterable[dict[str, Any]]], fields: dict[str, Kind]) -> None:
        """A canary that is also a task to solve would be a false alarm."""
        node = self.find("data.canary")
        if node is None:
            return
        tasks = {row_key(row, fields): split for split in ("eval", "train") for row in read.get(split, ())}
        for number_, row in enumerate(read.get("canary", ())):
            if split := tasks.get(row_key(row, fields)):
                place = node.items[number_] if isinstance(node, Sequence) else node
                message = f"row {number_} must be a task that nobody can solve, and stands in data.{split} too"
                self.say("DA001", place.span, message, "", f"data.canary.{number_}")
                if place is node:
                    return

    def open_rows(self, bound: Bound) -> Any:
        return open_source(cast(SourceLeaf, bound.offer.value), bound.use, self.scope.params, self.base, "eval")

    def rows(self, node: Sequence, fields: dict[str, Kind], at: str) -> Rows:
        if not node.items:
            self.say("DA001", node.span, "must hold at least one row, got an empty list", "", at)
        rows = []
        is_shape_faulty = any(path.split(".")[0] == "fields" for path in self.shape_faults)
        for number_, item in enumerate(node.items):
            values, findings = read_row(item, fields, number_, f"{at}.{number_}")
            self.findings += [] if is_shape_faulty else findings
            rows.append(values)
        return Rows(tuple(rows))

    def source_rows(
        self, bound: Bound, scalar: Scalar, fields: dict[str, Kind], split: str, at: str
    ) -> list[dict[str, Any]]:
        """Return the rows of a local source, read as training would, up to the first that does not fit: report that."""
        leaf, rows = cast(SourceLeaf, bound.offer.value), list[dict[str, Any]]()
        if not leaf.is_local:
            return rows
        try:
            source = open_source(leaf, bound.use, self.scope.params, self.base, split)
            if not len(source):
                self.say("DA001", scalar.span, f"{scalar.text.strip()} must hold at least one row, got none", "", at)
            for index in range(min(len(source), MAX_CHECKED_ROWS)):
                row = source.read(index)
                if (reason := check_row(row, fields)) is not None:
                    self.say("DA001", scalar.span, f"row {index} of {scalar.text.strip()} {reason}", "", at)
                    break
                rows.append(row)
        except (AssayError, OSError, UnicodeError, ValueError) as error:
            self.say("DA001", scalar.span, f"{scalar.text.strip()}: {error}", "", at)
        return rows

    # The rest

    def template(self, key: str) -> str | None:
        node = self.tree.get(key)
        if not isinstance(node, Scalar):
            return None
        self.check_template(node, key)
        return node.text

    def check_template(self, node: Scalar, at: str) -> None:
        faults, used = check_template(node.text, self.scope.fields)
        self.used |= used | {meant for fault in faults for meant in nearest(fault.name, self.scope.fields)}
        for fault in faults:
            if fault.name in self.scope.faulty:
                continue
            hint = suggestion(fault.name, self.scope.fields) if fault.code == "RX001" else "write {{ for a brace"
            self.findings.append(finding(fault.code, node.part(fault.start, fault.end), fault.message, hint, at))

    def episode(self) -> EpisodeSpec:
        node = self.tree.get("episode")
        if not isinstance(node, Mapping):
            return EpisodeSpec()
        tools = node.get("tools")
        names = []
        for item in tools.items if isinstance(tools, Sequence) else ():
            names.append(_text(item))
            self.known("tool", item, "episode.tools")
        turns, tokens = _text_of(node, "max_turns"), _text_of(node, "max_tokens")
        return EpisodeSpec(tuple(names), parse_count(turns) if turns else None, parse_count(tokens) if tokens else None)

    def known(self, kind: str, node: Node, at: str) -> None:
        try:
            self.registry.find(kind, _text(node))
        except PluginError as error:
            message = error.must if error.got is None else f"{error.must}, got {error.got}"
            self.say(error.error_code, node.span, message, error.todo or "", at)

    def sandbox(self) -> BoxSpec | None:
        node = self.tree.get("sandbox")
        if not isinstance(node, Mapping) or node.get("image") is None:
            return None
        cpu, memory, time = (_text_of(node, key) for key in ("cpu", "memory", "time"))
        return BoxSpec(
            image=_text_of(node, "image"),
            net=cast(Literal["none", "full"], _text_of(node, "net") or "none"),
            cpu=float(read_number(cpu)) if cpu else None,
            memory_bytes=parse_size(memory) if memory else None,
            time_s=parse_duration(time) if time else None,
            history=cast(Literal["sever", "keep"], _text_of(node, "history") or "sever"),
        )

    def group(self) -> GroupSpec:
        node = self.tree.get("group")
        size = int(_text_of(node, "size") or 8) if isinstance(node, Mapping) else 8
        least = _text_of(node, "min_scored") if isinstance(node, Mapping) else ""
        min_scored = int(least) if least else min(size, max(2, -(-size // 2)))
        if min_scored > size and isinstance(node, Mapping):
            span = (node.get("min_scored") or node).span
            self.say("YM003", span, f"`group.min_scored` must be at most `size` {size}, got {min_scored}", "", "group")
        return GroupSpec(size, min_scored)

    def allow(self) -> list[tuple[Allowance, Span]]:
        entries = []
        node = self.tree.get("allow")
        for index, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            if not isinstance(item, Mapping):
                continue
            code, at, because = (_text_of(item, key) for key in ("code", "at", "because"))
            if not (code.startswith(("RW", "SB")) and len(code) == 5):
                span = (item.get("code") or item).span
                self.say("YM003", span, f"only RW and SB findings can be allowed, got {code}", "", f"allow.{index}")
                continue
            entries.append((Allowance(code, at, because), item.span))
        return entries

    def control_answers(self) -> None:
        for entry in self.entries("controls"):
            answer = entry.value.get("answer") if isinstance(entry.value, Mapping) else None
            if isinstance(answer, Scalar):
                self.check_template(answer, f"controls.{entry.key.text}")

    # Tools

    def entries(self, path: str) -> Mapping | tuple[()]:
        node = self.find(path)
        return node if isinstance(node, Mapping) else ()

    def find(self, path: str) -> Node | None:
        node: Node | None = self.tree
        for part in path.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        return node

    def say(self, code: str, span: Span, message: str, hint: str, at: str) -> None:
        self.findings.append(finding(code, span, message, hint, at))


def open_source(leaf: SourceLeaf, use: Use, params: dict[str, float], base: Path, split: str) -> Any:
    """Return the source of one call; paths are relative to `base`."""
    args, named = call_arguments(use, params)
    supplied = {"base": base, "split": split}
    named |= {p.name: supplied[p.name] for p in leaf.parameters if p.is_supplied}
    return leaf.function(*args, **named)


def _trace(episode: EpisodeSpec) -> dict[str, SignalSpec]:
    """Return the trace with the upper ends that were written."""
    trace = dict(TRACE)
    for name, limit in (("turns", episode.max_turns), ("tokens", episode.max_tokens)):
        if limit is not None:
            trace[name] = msgspec.structs.replace(trace[name], kind=Kind("int", 0.0, float(limit)))
    return trace


def _text(node: Node) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""


def _text_of(node: Mapping, key: str) -> str:
    child = node.get(key)
    return _text(child) if child is not None else ""
