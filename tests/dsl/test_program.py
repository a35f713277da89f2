"""Programs: digests, the Python door, printing and reading back."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from tests.dsl.conftest import domain

import assay
from assay.core.digest import canonical_json
from assay.core.leaf import Verifier
from assay.core.registry import Registry
from assay.dsl.compile import Compiled, compile_tree, declared_tree
from assay.dsl.program import parse_program, print_program

Compile = Callable[[str], Compiled]

TEXT = domain(
    "success: m.good\ngate:\n  - if: m.offset > -5\n    else: low\noutcome:\n  a: bonus*m.good + weight*0.1*m.rate",
    fields="q: str\nweight: float[0,2]\nnames: list[str]",
    verify="m: test.measure()\nb: test.lenient(limit=2)\nc: test.lenient(cap)",
    more="params: {bonus: 1.5, low: -1, cap: 2}\nallow:\n  - {code: RW010, at: verify.b, because: kept for reports}\n"
    "  - {code: RW010, at: verify.c, because: kept for reports}\n"
    "  - {code: RW010, at: fields.names, because: kept for reports}\n",
)


def door(**changed: object) -> assay.Domain:
    """Declare the same domain in Python."""
    given: dict[str, object] = {
        "domain": "test.case",
        "version": 1,
        "summary": "A case.",
        "fields": {"q": "str", "weight": "float[0,2]", "names": "list[str]"},
        "data": {"train": [{"q": "text", "weight": 1.0, "names": []}]},
        "prompt": "Say {q}",
        "params": {"bonus": 1.5, "low": -1, "cap": 2},
        "verify": {"m": "test.measure()", "b": "test.lenient(limit=2)", "c": "test.lenient(cap)"},
        "reward": {
            "success": "m.good",
            "gate": [{"if": "m.offset > -5", "else": "low"}],
            "outcome": {"a": "bonus*m.good + weight*0.1*m.rate"},
        },
        "allow": [
            {"code": "RW010", "at": "verify.b", "because": "kept for reports"},
            {"code": "RW010", "at": "verify.c", "because": "kept for reports"},
            {"code": "RW010", "at": "fields.names", "because": "kept for reports"},
        ],
    }
    return assay.Domain(**(given | changed))  # type: ignore[arg-type]


def compile_door(declared: assay.Domain, registry: Registry) -> Compiled:
    tree, findings = declared_tree(declared)
    return compile_tree(tree, registry, Path("."), findings=findings)


def test_both_doors_give_one_program_and_one_digest(compile_text: Compile, registry: Registry) -> None:
    written, declared = compile_text(TEXT), compile_door(door(), registry)
    assert written.findings == ()
    assert declared.findings == ()
    assert written.require() == declared.require()
    assert written.require().digest == declared.require().digest


def test_a_program_reads_back_from_its_text_with_the_same_digest(compile_text: Compile) -> None:
    program = compile_text(TEXT).require()
    again = parse_program(print_program(program))
    assert program == again
    assert program.digest == again.digest
    assert print_program(program) == print_program(again)


def test_what_says_nothing_about_training_is_outside_the_digest(compile_text: Compile) -> None:
    program = compile_text(TEXT).require()
    more = "examples:\n  - {given: {m.offset: -5}, reward: -1}\ncontrols:\n  nop: {answer: '', reward: '< 0'}\n"
    changed = compile_text(TEXT.replace("summary: A case.", "summary: Another.") + more).require()
    assert program.digest == changed.digest
    assert program != changed


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("version: 1\n", "version: 2\n", None),
        ("Say {q}", "Tell {q}", "rollout"),
        ("bonus: 1.5", "bonus: 1.6", "reward"),
        ("low: -1", "low: -2", "reward"),
        ("limit=2", "limit=3", "verify.b"),
        ("cap: 2", "cap: 3", "verify.c"),
        ("0.1*m.rate", "0.2*m.rate", "reward"),
        ("m.offset > -5", "m.offset > -4", "reward"),
        ("success: m.good", "success: m.rate > 0.5", "reward"),
        ("weight: 1.0", "weight: 2.0", "rollout"),
        ("reward:\n", "group: {size: 4}\nreward:\n", None),
        ("reward:\n", "episode: {max_tokens: 9}\nreward:\n", "rollout"),
        ("reward:\n", "system: Be brief.\nreward:\n", "rollout"),
    ],
)
def test_an_edit_that_changes_the_meaning_changes_the_digest(
    compile_text: Compile, old: str, new: str, part: str | None
) -> None:
    assert old in TEXT
    before, after = compile_text(TEXT).require(), compile_text(TEXT.replace(old, new)).require()
    assert before.digest != after.digest
    changed = {name for name, value in after.digests.items() if before.digests.get(name) != value}
    assert ({part} if part else set()) == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Say {q}", "Say {q}"),
        ("    a: bonus*m.good + weight*0.1*m.rate", "    a: (bonus * m.good) + ((weight*0.1)*m.rate)  # comment"),
        ("low: -1", "low: -1 "),
        ("{bonus: 1.5, low: -1, cap: 2}", "\n  bonus: 1.5\n  low: -1\n  cap: 2"),
        ("success: m.good", 'success: "m.good"'),
        ("0.1*m.rate", "0.10*m.rate"),
    ],
)
def test_an_edit_of_the_spelling_keeps_the_digest(compile_text: Compile, old: str, new: str) -> None:
    assert old in TEXT
    assert compile_text(TEXT).require().digest == compile_text(TEXT.replace(old, new)).require().digest


def test_a_new_version_of_a_verifier_changes_the_digest(registry: Registry) -> None:
    before = compile_door(door(), registry).require()
    raised = Registry()
    for offer in registry.offers:
        value = offer.value
        if isinstance(value, Verifier) and value.name == "test.lenient":
            value = assay.verifier("test.lenient", version=2)(value.function)
        hooks = {"verifier": "assay_verifiers", "function": "assay_functions", "parser": "assay_parsers"}
        if offer.kind in hooks:
            plugin = SimpleNamespace(**{hooks[offer.kind]: assay.hookimpl(lambda value=value: [value])})
            raised.add(plugin, f"{offer.dist}-{offer.name}", offer.version)
    assert raised.failures == []
    after = compile_door(door(), raised).require()
    assert {"verify.b", "verify.c"} == {name for name in after.digests if after.digests[name] != before.digests[name]}


def test_canonical_json_has_one_form() -> None:
    assert b'{"a":1.0,"b":[1,0.0]}' == canonical_json({"b": [1, -0.0], "a": 1.0})
    with pytest.raises(ValueError, match="finite"):
        canonical_json({"a": float("nan")})


def test_an_unreadable_program_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_program(b'{"edition": 1}')


def test_a_plugin_function_stands_in_the_program_with_its_version(compile_text: Compile) -> None:
    program = compile_text(TEXT.replace("0.1*m.rate", "0.1*halve(m.rate)")).require()
    assert {"halve": 1} == program.reward.functions
    assert {} == compile_text(TEXT).require().reward.functions


def test_a_function_that_clashes_is_fatal_only_where_it_is_called(registry: Registry) -> None:
    clashing = Registry()
    for offer in registry.offers:
        hooks = {"verifier": "assay_verifiers", "function": "assay_functions"}
        for dist in ("dist-a", "dist-b") if offer.name == "halve" else ("dist-a",):
            if offer.kind in hooks:
                hook = assay.hookimpl(lambda value=offer.value: [value])
                clashing.add(SimpleNamespace(**{hooks[offer.kind]: hook}), f"{dist}-{offer.name}", "1")
    tree, _ = declared_tree(door())
    assert compile_tree(tree, clashing, Path(".")).findings == ()
    reward = {"outcome": {"a": "bonus*halve(m.good) + low*0 + weight*0.1*m.rate"}, "success": "m.good"}
    tree, _ = declared_tree(door(reward=reward))
    findings = compile_tree(tree, clashing, Path(".")).findings
    assert ["PL001"] == [item.code for item in findings]
    assert "dist-a-halve 1 and dist-b-halve 1" in findings[0].message
