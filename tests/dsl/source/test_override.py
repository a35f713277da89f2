"""An override is applied, or a finding under its own text says why not; never neither."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dsl.edition import CURRICULUM, DOMAIN
from assay.dsl.schema import Shape
from assay.dsl.source.diagnostic import Finding, render
from assay.dsl.source.loader import load
from assay.dsl.source.mark import Mapping, Node, Scalar, Sequence, Span, to_plain
from assay.dsl.source.override import Override, apply_overrides, parse_override

DOMAIN_TEXT = """\
assay: 1
domain: a.b
version: 1
fields: {q: str}
data:
  train:
    - {q: "1"}
prompt: "{q}"
params: {solve: 1.6}
verify:
  ans: text.equal(q)
reward:
  gate:
    - name: applies
      if: ans.ok
      else: -1
    - if: ans.other
      else: -2
  outcome:
    correct: 1.0*ans.equal
examples:
  - given: {ans.ok: true, q: "2"}
    reward: 1
"""
CURRICULUM_TEXT = """\
assay: 1
curriculum: c
mix:
  math: {domain: a.b, share: 0.3}
stages:
  start: {until: step > 2}
"""


def tree_of(text: str) -> Mapping:
    tree = load(text.encode(), "f.yaml").tree
    assert tree is not None
    return tree


def edit(*texts: str, base: str = DOMAIN_TEXT, shape: Shape = DOMAIN) -> tuple[Mapping, tuple[Finding, ...]]:
    overrides = [parse_override(text, number) for number, text in enumerate(texts, 1)]
    assert all(isinstance(item, Override) for item in overrides), overrides
    return apply_overrides(tree_of(base), [item for item in overrides if isinstance(item, Override)], shape)


def at(node: Node | None, path: str) -> Any:
    for name in path.split("/"):
        if isinstance(node, Sequence):
            node = node.items[int(name)] if int(name) < len(node.items) else None
        else:
            assert isinstance(node, Mapping)
            node = node.get(name)
    return None if node is None else to_plain(node)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("domain.m.params.solve=1.8", "params/solve", ("1.8", False)),
        ("domain.m.reward.outcome.correct=2*ans.equal", "reward/outcome/correct", ("2*ans.equal", False)),
        ("domain.m.reward.outcome.correct='min(ans.equal, 1)'", "reward/outcome/correct", ("min(ans.equal, 1)", True)),
        ('domain.m.reward.outcome.correct="a == \\"b\\""', "reward/outcome/correct", ('a == "b"', True)),
        ("domain.m.reward.outcome.correct='a' == 'b'", "reward/outcome/correct", ("'a' == 'b'", False)),
        ("domain.m.reward.outcome.correct=a: b # c", "reward/outcome/correct", ("a: b # c", False)),
        (
            "domain.m.reward.outcome={other: 1, more: 2}",
            "reward/outcome",
            {"other": ("1", False), "more": ("2", False)},
        ),
        ("domain.m.reward.gate.0.else=-3", "reward/gate/0/else", ("-3", False)),
        ("domain.m.reward.gate.applies.else=-3", "reward/gate/0/else", ("-3", False)),
        ("domain.m.reward.gate.1={if: x.y, else: 0}", "reward/gate/1/if", ("x.y", False)),
        ("domain.m.group={size: 4, min_scored: 2}", "group/size", ("4", False)),
        ("domain.m.group.size=4", "group/size", ("4", False)),
        ("domain.m.episode.tools=[shell, edit]", "episode/tools", [("shell", False), ("edit", False)]),
        ("domain.m.system={q} is it", "system", ("{q} is it", False)),
        ("domain.m.summary=a=b", "summary", ("a=b", False)),
        ("domain.m.data.train=jsonl('a.jsonl')", "data/train", ("jsonl('a.jsonl')", False)),
        ("domain.m.data.train=[{q: 5}]", "data/train/0/q", ("5", False)),
        ("domain.m.data.train.0.q=5", "data/train/0/q", ("5", False)),
        ("domain.m.examples.0.given.ans.ok=false", "examples/0/given/ans.ok", ("false", False)),
        ("domain.m.reward.success=ans.equal == 1", "reward/success", ("ans.equal == 1", False)),
        ("+domain.m.params.keep=0.4", "params/keep", ("0.4", False)),
        ("+domain.m.reward.process.slow=-0.1*trace.turns", "reward/process/slow", ("-0.1*trace.turns", False)),
        ("+domain.m.reward.gate.2={if: x, else: 1}", "reward/gate/2/if", ("x", False)),
        ("+domain.m.group.size=4", "group/size", ("4", False)),
        ("+domain.m.examples.0.given.ans.new=1", "examples/0/given/ans.new", ("1", False)),
        ("++domain.m.params.solve=3", "params/solve", ("3", False)),
        ("++domain.m.params.new=3", "params/new", ("3", False)),
        ("~domain.m.params.solve", "params/solve", None),
        ("~domain.m.reward.gate.applies", "reward/gate/0/if", ("ans.other", False)),
        ("~domain.m.reward.gate.1", "reward/gate/1", None),
        ("~domain.m.prompt", "prompt", None),
    ],
)
def test_what_leads_somewhere_is_applied(text: str, path: str, expected: Any) -> None:
    tree, findings = edit(text)
    assert findings == ()
    assert expected == at(tree, path)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("curriculum.mix.math.share=0.2", "mix/math/share", ("0.2", False)),
        ("curriculum.mix.math.unlock=min(a.b, 1) > 0", "mix/math/unlock", ("min(a.b, 1) > 0", False)),
        ("curriculum.sampler=band(low=0.2)", "sampler", ("band(low=0.2)", False)),
        ("curriculum.require.judge_cost=<= 0.02 USD", "require/judge_cost", ("<= 0.02 USD", False)),
        ("+curriculum.mix.new={domain: x.y}", "mix/new/domain", ("x.y", False)),
        ("~curriculum.stages.start", "stages/start", None),
    ],
)
def test_a_curriculum_is_edited_alike(text: str, path: str, expected: Any) -> None:
    tree, findings = edit(text, base=CURRICULUM_TEXT, shape=CURRICULUM)
    assert findings == ()
    assert expected == at(tree, path)


@pytest.mark.parametrize(
    ("text", "part", "hint"),
    [
        ("domain.m.reward.outcome.corect=1", "corect", "did you mean `correct`? + adds a new name"),
        ("domain.m.reward.outcom.correct=1", "outcom", "did you mean `outcome`?"),
        ("domain.m.params.other=1", "other", "known: solve; + adds a new name"),
        ("domain.m.rewad.outcome.correct=1", "rewad", "did you mean `reward`?"),
        ("+domain.m.rewad=1", "rewad", "did you mean `reward`?"),
        ("+domain.m.params.solve=1", "solve", "leave out the + to replace it"),
        ("~domain.m.params.sovle", "sovle", "did you mean `solve`?"),
        ("domain.m.reward.gate.applis.else=1", "applis", "did you mean `applies`?"),
        ("domain.m.reward.gate.2.else=1", "2", "known: 0, 1, applies"),
        ("domain.m.reward.gate.2={if: x, else: 1}", "2", "known: 0, 1, applies; + adds a new name"),
        ("+domain.m.reward.gate.5={if: x, else: 1}", "5", ""),
        ("domain.m.prompt.x=1", "x", ""),
        ("domain.m.params.solve.x=1", "x", ""),
        ("domain.m.data.train.0.w=1", "w", "known: q; + adds a new name"),
        ("domain.m.data.train.7.q=1", "7", "known: 0"),
        ("~domain.m.group", "group", None),
        ("domain.m.sandbox.memry=1GiB", "memry", "did you mean `memory`?"),
        ("+domain.m.reward.process.a.b=1", "a", None),
    ],
)
def test_what_leads_nowhere_is_cf001_under_the_name(text: str, part: str, hint: str | None) -> None:
    tree, findings = edit(text)
    assert ["CF001"] == [item.code for item in findings]
    span = findings[0].span
    assert "<override 1>" == span.path
    assert part == text[span.column - 1 : span.end_column - 1]
    assert hint is None or hint == findings[0].hint
    assert to_plain(tree_of(DOMAIN_TEXT)) == to_plain(tree)


@pytest.mark.parametrize(
    "text",
    [
        "", "domain", "domain.m", "domain.m=1", "curriculum=x", "other.a.b=1", "domain..a=1", "domain.m.a.=1",
        "domain.m.a", "~domain.m.a=1", "+domain.m.a", "=1", "~", "domain.m.a b=1", "*domain.m.a=1",
    ],
)  # fmt: skip
def test_what_is_no_override_is_cf001(text: str) -> None:
    found = parse_override(text, 3)
    assert isinstance(found, Finding)
    assert ("CF001", "<override 3>", 1) == (found.code, found.span.path, found.span.line)


def test_hostile_characters_are_refused() -> None:
    for text in ("domain.m.summary=\u202ea", "domain.m.summary=\x00", "domain.m.summary=\x1b[0m"):
        found = parse_override(text, 1)
        assert isinstance(found, Finding)
        assert "YM005" == found.code


def test_a_bad_value_gets_its_own_caret() -> None:
    tree, findings = edit("domain.m.reward={outcome: {a: f(x, y), a: 2}}")
    assert [("YM004", 33 + 1), ("YM001", 40)] == [(item.code, item.span.column) for item in findings]
    assert ("f(x, y)", False) == at(tree, "reward/outcome/a")
    _, findings = edit("domain.m.group={size: 4")
    assert [("YM005", 16)] == [(item.code, item.span.column) for item in findings]
    _, findings = edit("domain.m.group={size: !x 4}")
    assert [("YM003", 23)] == [(item.code, item.span.column) for item in findings]


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_an_expression_has_its_places_in_the_override(quote: str) -> None:
    text = f"domain.m.reward.outcome.correct={quote}2*ans.nope{quote}"
    tree, _ = edit(text)
    outcome = tree.get("reward")
    assert isinstance(outcome, Mapping)
    terms = outcome.get("outcome")
    assert isinstance(terms, Mapping)
    scalar = terms.get("correct")
    assert isinstance(scalar, Scalar)
    start = text.index("ans.nope") + 1
    assert Span("<override 1>", 1, start, start + 8, text) == scalar.part(2, 10)


def test_overrides_apply_in_order() -> None:
    tree, findings = edit("+domain.m.params.keep=1", "domain.m.params.keep=2", "~domain.m.params.solve")
    assert findings == ()
    assert {"keep": ("2", False)} == at(tree, "params")


def test_one_bad_override_does_not_hide_another() -> None:
    tree, findings = edit("domain.m.a=1", "domain.m.params.solve=2", "domain.m.b=1")
    assert ["<override 1>", "<override 3>"] == [item.span.path for item in findings]
    assert ("2", False) == at(tree, "params/solve")


def test_the_entry_is_kept_apart_from_the_path() -> None:
    override = parse_override("domain.math.params.solve=1", 1)
    assert isinstance(override, Override)
    assert ("domain", "math", ["params", "solve"], "1") == (
        override.target,
        override.entry,
        [segment.name for segment in override.path],
        override.raw,
    )


def test_a_finding_renders_under_the_override() -> None:
    _, findings = edit("domain.m.params.slove=1")
    expected = """\
error[CF001]: an override must lead to a name that exists, got `params.slove`
  --> <override 1>:1:17
   |
 1 | domain.m.params.slove=1
   |                 ^^^^^ did you mean `solve`? + adds a new name"""
    assert [expected] == [render(item) for item in findings]


NAMES = st.sampled_from(
    ["domain", "m", "params", "solve", "reward", "gate", "0", "applies", "x", "", "outcome", "data", "train"]
)


@pytest.mark.slow
@given(
    sign=st.sampled_from(["", "+", "++", "~"]),
    names=st.lists(NAMES, max_size=5),
    value=st.none() | st.text("ab{}[]:,'\" 1#&*!", max_size=12),
)
def test_an_override_has_an_effect_or_a_finding(sign: str, names: list[str], value: str | None) -> None:
    text = sign + ".".join(["domain", "m", *names]) + ("" if value is None else f"={value}")
    override = parse_override(text, 1)
    if isinstance(override, Finding):
        return
    before = tree_of(DOMAIN_TEXT)
    after, findings = apply_overrides(before, [override], DOMAIN)
    assert findings or after != before
