"""The contract of a tool: the policy chooses its arguments, so it must bear all of them.

Calls are made in a process of their own, with plain processes as the box of a tool that asks for one.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from assay.core.kind import Kind
from assay.core.leaf import Tool
from assay.runtime.testing import child
from assay.runtime.testing.contract import Contract, shown
from assay.runtime.testing.hostile import HOSTILE

# What a policy can write down as an argument.
_WRITABLE = frozenset({"bool", "int", "float", "str", "literal", "list", "optional", "json"})
_NUMBERS = (0, -1, 1, 2**53, -(2**53))


class ToolCase(msgspec.Struct, frozen=True):
    """One call of a tool.

    Attributes:
        arguments: By name.
        gives: The text that must come back; left out: any.
    """

    arguments: Mapping[str, Any]
    gives: Any = msgspec.UNSET


class ToolContract(Contract):
    """What holds of a tool.

    Attributes:
        tool: The tool.
        cases: Calls with the texts they must give; the first gives the arguments that hostile calls keep.
        hostile: Texts for each text argument in turn, by what is odd about them.
        task: Fields of the task, for a tool that asks for it.
        longest_s: Seconds that all hostile calls together may take.
    """

    kind = "tool"
    tool: ClassVar[Tool]
    cases: ClassVar[Sequence[ToolCase]] = ()
    hostile: ClassVar[Mapping[str, str]] = HOSTILE
    task: ClassVar[Mapping[str, Any]] = {}
    longest_s: ClassVar[float] = 60.0

    def test_its_declaration_tells_a_policy_how_to_call_it(self) -> None:
        """Every parameter is annotated with a type that a policy can write, and the tool says that it gives a text."""
        signature = inspect.signature(self.tool.function)
        bare = [name for name, one in signature.parameters.items() if one.annotation is one.empty]
        self.require(not bare, "a tool's parameters must be annotated", got=", ".join(bare))
        odd = [f"{one.name}: {one.kind}" for one in self.tool.bound_parameters if not _is_writable(one.kind)]
        self.require(not odd, f"a policy can write {', '.join(sorted(_WRITABLE))}", got=", ".join(odd))
        self.require(
            signature.return_annotation in (str, "str"),
            "a tool must be annotated to return a text",
            got=signature.return_annotation,
            todo="Render what it found as text; the policy reads nothing else",
        )

    def test_cases_give_the_texts_they_must(self) -> None:
        """Each of the author's cases."""
        for case, done in zip(self.cases, self._run([case.arguments for case in self.cases]), strict=True):
            text = self._text(case.arguments, done)
            if case.gives is not msgspec.UNSET:
                must = f"a call with {dict(case.arguments)!r} must give {case.gives!r}"
                self.require(text == case.gives, must, got=repr(text))

    def test_whatever_the_arguments_are_there_is_a_text(self) -> None:
        """No text, number or list of the hostile stock makes it raise: what it cannot do, it says."""
        calls = list(self._hostile_calls())
        for arguments, done in zip(calls, self._run(calls), strict=True):
            self._text(arguments, done)

    def _hostile_calls(self) -> Iterator[Mapping[str, Any]]:
        self.require(self.cases, "a contract must have cases", todo="Add `cases = [ToolCase({...}, 'text')]`")
        usual = self.cases[0].arguments
        for parameter in self.tool.bound_parameters:
            kind = parameter.kind.item if parameter.kind.name == "optional" and parameter.kind.item else parameter.kind
            for value in self._odd_values(kind):
                yield {**usual, parameter.name: value}

    def _odd_values(self, kind: Kind) -> Sequence[Any]:
        match kind.name:
            case "str":
                return list(self.hostile.values())
            case "int":
                return _NUMBERS
            case "float":
                return (*_NUMBERS, 1e308, -1e-308)
            case "bool":
                return (False, True)
            case "list":
                item = kind.item or Kind("str")
                return ([], *([value] for value in self._odd_values(item)))
            case "json" | "any":
                return ({}, [], None, {"": {"": []}}, *self.hostile.values())
        return ()

    def _run(self, calls: Sequence[Mapping[str, Any]]) -> Sequence[child.Done]:
        __tracebackhide__ = True
        self.require(calls, "a contract must have cases", todo="Add `cases = [ToolCase({...}, 'text')]`")
        errand = child.Errand("tool", self.offer.ref, calls=tuple(map(dict, calls)), task=dict(self.task))
        ran = child.send(errand, longest_s=self.longest_s)
        if ran.error:
            at = f" at {_shown(calls[len(ran.done)])}" if len(ran.done) < len(calls) else ""
            self.broken("a tool must return whatever its arguments are, in time", got=f"{ran.error}{at}")
        return ran.done

    def _text(self, arguments: Mapping[str, Any], done: child.Done) -> str:
        __tracebackhide__ = True
        must = "a tool must return a text whatever its arguments are"
        todo = f"Say in the text what is wrong; it came with {_shown(arguments)}"
        self.require(not done.error, must, got=done.error, todo=todo)
        self.require(isinstance(done.value, str), must, got=done.value, todo=todo)
        return str(done.value)


def _is_writable(kind: Kind) -> bool:
    return kind.name in _WRITABLE and (kind.item is None or kind.item.name == "any" or _is_writable(kind.item))


def _shown(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(ascii(value))}" for name, value in arguments.items())
