"""Every kind of finding: what is reported, under which part of the text, and what near it is left alone."""

from collections.abc import Callable

import pytest
from tests.dsl.conftest import codes, domain

from assay.dsl.compile import Compiled

Compile = Callable[[str], Compiled]


def underlined(compiled: Compiled) -> list[tuple[str, str]]:
    """Return code and underlined text of every finding."""
    return [(f.code, f.span.source[f.span.column - 1 : f.span.end_column - 1]) for f in compiled.findings]


OUTCOME = "outcome:\n  solved: 1.0*m.good\n"

# Rewards that say something doubtful: what is reported, and where.
REWARDS = [
    # RX001
    ("outcome:\n  a: 1.0*m.god", [("RX001", "m.god")]),
    ("outcome:\n  a: 1.0*n.good", [("RX001", "n.good")]),
    ("outcome:\n  a: bonsu*m.good", [("RX001", "bonsu")]),
    ("outcome:\n  a: 1.0*trace.turn", [("RX001", "trace.turn")]),
    ("outcome:\n  a: 1.0*q.good", [("RX001", "q.good")]),
    ("outcome:\n  a: m.god + m.goood", [("RX001", "m.god"), ("RX001", "m.goood")]),
    # RX002
    ("outcome:\n  a: m.good**2", [("RX002", "m.good**2")]),
    ("outcome:\n  a: m.flags[0]*1.0", [("RX002", "m.flags[0]")]),
    ("outcome:\n  a: m.x.y", [("RX002", "m.x.y")]),
    ("outcome:\n  a: 1.0*m._good", [("RX002", "m._good")]),
    ("outcome:\n  a: 1.0*m.good +", [("RX002", "+")]),
    ("outcome:\n  a: 1.0*(lambda:1)", [("RX002", "lambda:1")]),
    # RX003
    ("outcome:\n  a: 1.0*m", [("RX003", "m")]),
    ("outcome:\n  a: 1.0*(m.mode > 3)", [("RX003", "m.mode > 3")]),
    ("outcome:\n  a: 1.0*m.mode", [("RX003", "m.mode")]),
    ("outcome:\n  a: m.mode", [("RX003", "m.mode")]),
    ("outcome:\n  a: 1.0 if m.rate else 0.0", [("RX003", "m.rate")]),
    ("outcome:\n  a: 1.0*(m.rate and m.good)", [("RX003", "m.rate")]),
    ("outcome:\n  a: 1.0*(not m.rate)", [("RX003", "m.rate")]),
    ("outcome:\n  a: 1.0*m.flags", [("RX003", "m.flags")]),
    ("outcome:\n  a: 1.0*count(m.scores)", [("RX003", "m.scores")]),
    ("outcome:\n  a: 1.0*len(m.rate)", [("RX003", "m.rate")]),
    ("success: m.rate\noutcome:\n  a: 1.0*m.good", [("RX003", "m.rate")]),
    ("outcome:\n  a: 1.0*m.good\nefficiency:\n  when: m.rate\n  b: -0.1*m.bad", [("RX003", "m.rate")]),
    ("gate:\n  - if: m.rate\n    else: -1\noutcome:\n  a: 1.0*m.good", [("RX003", "m.rate")]),
    ("outcome:\n  a: 1.0*(m.mode == 3)", [("RX003", "m.mode == 3")]),
    # RX004
    ("outcome:\n  a: m.rate\nprocess:\n  b: -0.1*min(m.failed + m.seconds, 3)", [("RX004", "m.failed + m.seconds")]),
    ("outcome:\n  a: m.rate\nprocess:\n  b: -m.failed", [("RX004", "-m.failed")]),
    # RX005
    ("outcome:\n  a: m.rate/(0.2*m.failed)", [("RX005", "m.rate/(0.2*m.failed)")]),
    ("outcome:\n  a: 1.0*m.good/(m.rate - 0.5)", [("RX005", "1.0*m.good/(m.rate - 0.5)")]),
    ("outcome:\n  a: sqrt(m.delta)", [("RX005", "sqrt(m.delta)")]),
    ("outcome:\n  a: log1p(m.delta)", [("RX005", "log1p(m.delta)")]),
    ("outcome:\n  a: budget(m.rate, m.rate)", [("RX005", "budget(m.rate, m.rate)")]),
    ("outcome:\n  a: 0.0 if m.failed > 0 else m.rate/(2*m.failed)", [("RX005", "m.rate/(2*m.failed)")]),
    ("outcome:\n  a: 1.0*(m.rate > 0 or 1/m.rate > 2)", [("RX005", "1/m.rate")]),
    # RX006
    ("outcome:\n  a: clamp(m.rate, 0, 1)", [("RX006", "clamp(m.rate, 0, 1)")]),
    ("outcome:\n  a: min(m.rate)", [("RX006", "min(m.rate)")]),
    ("outcome:\n  a: clip(m.rate, 0)", [("RX006", "clip(m.rate, 0)")]),
    ("outcome:\n  a: clip(m.rate, 0, 1, 2)", [("RX006", "clip(m.rate, 0, 1, 2)")]),
    ("outcome:\n  a: clip(m.rate, 0, top=1)", [("RX006", "clip(m.rate, 0, top=1)")]),
    # RX007
    ("gate:\n  - if: m.rate >= 0\n    else: -1\n" + OUTCOME, [("RX007", "m.rate >= 0")]),
    ("gate:\n  - if: m.rate > 1\n    else: -1\n" + OUTCOME, [("RX007", "m.rate > 1")]),
    ("gate:\n  - if: m.good\n    else: -1\n  - if: m.good\n    else: -1\noutcome:\n  a: m.rate", [("RX007", "m.good")]),
    ("gate:\n  - if: m.failed > 3\n    else: -9\n  - if: m.failed > 2\n    else: -9\noutcome:\n  a: m.rate",
     [("RW004", "m.failed > 3"), ("RX007", "m.failed > 2")]),
    ("gate:\n  - if: 1 < 2\n    else: -1\n" + OUTCOME, [("RX007", "1 < 2")]),
    # RW001
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.1*m.loss", [("RW001", "-0.1*m.loss")]),
    ("outcome:\n  a: 0.1*trace.turns", [("RW001", "0.1*trace.turns")]),
    ("outcome:\n  a: 1e999*m.good", [("RW001", "1e999*m.good")]),
    ("outcome:\n  a: exp(m.failed*20)*m.good", [("RW001", "exp(m.failed*20)*m.good")]),
    ("outcome:\n  a: 1/m.rate if m.rate > 0 else 0", [("RW001", "1/m.rate if m.rate > 0 else 0")]),
    # RW003
    ("outcome:\n  a: m.good\nprocess:\n  b: 0.2*min(trace.turns, 5)", [("RW003", "0.2*min(trace.turns, 5)")]),
    ("outcome:\n  a: 1.0*m.good - 1.0", [("RW003", "1.0*m.good - 1.0")]),
    ("outcome:\n  a: m.good\nprocess:\n  b: 0.1 - 0.2*m.bad", [("RW003", "0.1 - 0.2*m.bad")]),
    ("outcome:\n  a: m.good\nefficiency:\n  when: success\n  b: 0.1*m.bad", [("RW003", "0.1*m.bad")]),
    ("outcome:\n  a: m.good\n  b: -0.5*m.bad", [("RW003", "-0.5*m.bad")]),
    # RW004
    ("outcome:\n  a: 1.0 - m.good", [("RW004", "1.0 - m.good")]),
    ("outcome:\n  a: 1.0*m.bad", [("RW004", "1.0*m.bad")]),
    ("outcome:\n  a: 1.0*(m.rate < 0.5)", [("RW004", "1.0*(m.rate < 0.5)")]),
    ("outcome:\n  a: 1.0 if not m.good else 0.0", [("RW004", "1.0 if not m.good else 0.0")]),
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.1*m.rate", [("RW004", "-0.1*m.rate")]),
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.1*(not m.bad)", [("RW004", "-0.1*(not m.bad)")]),
    ("outcome:\n  a: 1/(1 + min(m.passed, 9))", [("RW004", "1/(1 + min(m.passed, 9))")]),
    ("gate:\n  - if: m.bad\n    else: -1\n" + OUTCOME, [("RW004", "m.bad")]),
    ("gate:\n  - if: not m.good\n    else: -1\noutcome:\n  a: m.rate", [("RW004", "not m.good")]),
    ("outcome:\n  a: halve(-m.rate) + 0.5", [("RW004", "halve(-m.rate) + 0.5")]),
    # RW010
    ("outcome:\n  a: m.good\n  b: 1.0", [("RW010", "1.0")]),
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.1*(m.rate > 2)", [("RW010", "-0.1*(m.rate > 2)")]),
    # RW020
    ("outcome:\n  a: 0.3*m.good\nprocess:\n  b: -0.2*min(trace.invalid_calls, 5)", [("RW020", "0.3*m.good")]),
    # RW021
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.01*min(trace.turns, 40)", [("RW021", "-0.01*min(trace.turns, 40)")]),
    ("outcome:\n  a: m.good\nefficiency:\n  b: -0.01*min(trace.turns, 40)", [("RW021", "-0.01*min(trace.turns, 40)")]),
    ("outcome:\n  a: m.good\nefficiency:\n  when: m.rate > 0.5\n  b: -0.2*budget(trace.tokens, 9)",
     [("RW021", "-0.2*budget(trace.tokens, 9)")]),
    # RW022
    ("outcome:\n  a: m.good + (not m.good)", [("RW022", "m.good + (not m.good)")]),
    # RW023
    ("outcome:\n  a: m.good\nprocess:\n  b: -0.1*(not m.good)", [("RW023", "-0.1*(not m.good)")]),
    ("outcome:\n  a: 0.5*m.rate + 0.1\n  b: 2*m.rate", [("RW023", "2*m.rate")]),
    # RW024
    ("gate:\n  - if: m.good\n    else: -0.1\noutcome:\n  a: m.rate\nprocess:\n  b: -0.3*min(trace.invalid_calls, 3)",
     [("RW024", "-0.1")]),
    ("gate:\n  - if: m.good\n    else: 0.5\noutcome:\n  a: m.rate", [("RW024", "0.5")]),
    ("gate:\n  - if: m.good\n    else: 0\noutcome:\n  a: m.rate\nefficiency:\n  when: m.rate > 0.5\n  b: -0.6*m.bad",
     [("RW024", "0")]),
]  # fmt: skip


@pytest.mark.parametrize(("reward", "expected"), REWARDS, ids=[f"{e[0][0]}-{i}" for i, (_, e) in enumerate(REWARDS)])
def test_doubtful_reward_is_reported_where_it_stands(
    compile_text: Compile, reward: str, expected: list[tuple[str, str]]
) -> None:
    compiled = compile_text(domain(reward))
    uses_verifier = "m." in reward
    found = [item for item in underlined(compiled) if uses_verifier or item[0] != "RW010" or item[1] != "m"]
    assert expected == [item for item in found if item != ("RW010", "m")]


SILENT = [
    "outcome:\n  a: 1.0*m.good",
    "outcome:\n  a: 2.0*m.good - 1.0",
    "outcome:\n  a: m.rate\nprocess:\n  b: -0.1*(not m.good)",
    "outcome:\n  a: m.good\nefficiency:\n  when: success\n  b: -0.1*budget(trace.tokens, 4096)",
    "success: m.good\noutcome:\n  a: m.good + 0.2*m.rate\nefficiency:\n  when: success\n  b: -0.1*m.bad",
    "outcome:\n  a: m.rate/(2*m.failed) if m.failed > 0 else 0.0",
    "outcome:\n  a: m.rate/(2*m.failed) if m.failed != 0 else 0.0",
    "outcome:\n  a: m.rate/(2*m.failed) if m.failed >= 1 and m.good else 0.0",
    "outcome:\n  a: 0.0 if m.failed == 0 else m.rate/(2*m.failed)",
    "outcome:\n  a: 0.0 if not m.failed > 0 else m.rate/(2*m.failed)",
    "outcome:\n  a: m.rate/abs(9*m.offset) if m.offset != 0 else 0.0",
    "outcome:\n  a: 0.5*m.good + (m.rate/(2*m.failed) if 0 < m.failed < 9 else 0)",
    "gate:\n  - if: m.failed > 0\n    else: -1\noutcome:\n  a: m.rate/(2*m.failed)",
    "outcome:\n  a: 1.0*(m.rate > 0 and 1/m.rate > 0.5)",
    "outcome:\n  a: m.good\nprocess:\n  b: -0.001*abs(m.offset - 2)",
    "outcome:\n  a: 1.0*(m.mode == \"fast\")",
    "outcome:\n  a: m.good if m.mode == \"fast\" else 0.5*m.good",
    "outcome:\n  a: mean(m.scores, 0)",
    "outcome:\n  a: 0.1*min(count(m.flags), 3)",
    "outcome:\n  a: 1.0*all(m.flags)",
    "outcome:\n  a: wave(m.rate)",
    "outcome:\n  a: halve(m.rate)",
    "gate:\n  - if: m.good\n    else: -1.5\n  - if: not m.bad\n    else: -1.5\noutcome:\n  a: m.rate",
    "outcome:\n  a: m.rate == 1",
    "outcome:\n  a: log1p(min(m.passed, 9))",
    "outcome:\n  a: sqrt(m.rate)",
    "outcome:\n  a: clip(m.delta, lo=-1, hi=1)",
    "outcome:\n  a: m.rate\nprocess:\n  b: -0.01*trace.turns*m.rate if trace.turns < 9 else -0.09*m.rate",
]  # fmt: skip


@pytest.mark.parametrize("reward", SILENT)
def test_meant_reward_is_left_alone(compile_text: Compile, reward: str) -> None:
    compiled = compile_text(domain(reward))
    known = {("RW010", "m")} if "m." not in reward else set()
    gate_opens_on_failure = {("RW004", "m.failed > 0")} if "- if: m.failed > 0" in reward else set()
    last = {("RW004", "-0.01*trace.turns*m.rate if trace.turns < 9 else -0.09*m.rate")}
    assert set(underlined(compiled)) - known - gate_opens_on_failure - last == set()


def test_several_findings_come_in_one_pass(compile_text: Compile) -> None:
    text = domain("outcome:\n  a: 1.0*m.god\nprocess:\n  b: 0.1*m.bad\nefficency:\n  c: 1\n")
    assert [("RX001", "m.god"), ("RW003", "0.1*m.bad"), ("YM002", "efficency")] == underlined(compile_text(text))


def test_an_expression_with_a_type_finding_gets_no_reward_finding(compile_text: Compile) -> None:
    assert ["RX001"] == codes(compile_text(domain("outcome:\n  a: m.good\nprocess:\n  b: m.god*0.1")))


def test_a_faulty_verifier_makes_its_signals_no_further_findings(compile_text: Compile) -> None:
    compiled = compile_text(domain("outcome:\n  a: m.good", verify="m: test.measured()"))
    assert [("RX006", "test.measured")] == underlined(compiled)


def test_payments_are_not_compared_while_a_term_is_faulty(compile_text: Compile) -> None:
    reward = "gate:\n  - if: m.good\n    else: 5\noutcome:\n  a: m.rate\nprocess:\n  b: 0.1*m.bad"
    assert ["RW003"] == codes(compile_text(domain(reward)))


@pytest.mark.parametrize(
    ("verify", "expected"),
    [
        ("m: test.measure(q)", [("RX006", "test.measure(q)")]),
        ("m: test.measure(expected=q)", [("RX006", "test.measure(expected=q)")]),
        ("m: test.boxed(q)", [("RX003", "q")]),
        ("m: test.boxed()", [("RX006", "test.boxed()")]),
        ("m: test.boxed(names, 3)", [("RX003", "3")]),
        ("m: test.boxed(nams)", [("RX001", "nams")]),
        ("m: test.boxed(names + names)", [("RX002", "names + names")]),
        ("m: test.measure", [("RX002", "test.measure")]),
        ("m: 3", [("RX002", "3")]),
        ("m: test.lenient(limit=\"x\")", [("RX003", '"x"')]),
        ("m: test.lenient(1.5)", [("RX003", "1.5")]),
        ("m: tset.measure()", [("RX006", "tset.measure")]),
    ],
)  # fmt: skip
def test_calls_of_verifiers_are_bound_like_python_calls(
    compile_text: Compile, verify: str, expected: list[tuple[str, str]]
) -> None:
    more = "sandbox: {image: python-3.11}\n"
    text = domain("outcome:\n  a: 1.0*m.score", fields="q: str\nnames: list[str]", verify=verify, more=more)
    found = [item for item in underlined(compile_text(text)) if item[0] not in ("RW010", "RX001")]
    wanted = [item for item in expected if item[0] != "RX001"]
    assert wanted == found
    if wanted != expected:
        assert expected[0] in underlined(compile_text(text))


@pytest.mark.parametrize(
    ("fields", "row", "is_good"),
    [
        ("n: int", "n: 3", True),
        ("n: int", "n: 3.5", False),
        ("n: int", "n: x", False),
        ("n: int[1,5]", "n: 6", False),
        ("n: int[1,5]", "n: 5", True),
        ("n: float[0,2]", "n: 1", True),
        ("n: float[0,2]", "n: -0.1", False),
        ("n: float", "n: 1e3", True),
        ("n: float", "n: .nan", False),
        ("n: bool", "n: true", True),
        ("n: bool", "n: yes", False),
        ("n: bool", "n: True", False),
        ("n: str", "n: no", True),
        ("n: str", "n: 12:30:00", True),
        ("n: str", "n: 1e3", True),
        ("n: str", "n: [1]", False),
        ("n: str", "n: {a: 1}", False),
        ("n: str", "n: ", False),
        ("n: str | None", "n: null", True),
        ("n: str | None", "n: x", True),
        ("n: list[str]", "n: [a, b]", True),
        ("n: list[str]", "n: a", False),
        ("n: list[int]", "n: [1, x]", False),
        ("n: list[list[int]]", "n: [[1], [2, 3]]", True),
        ("n: json", "n: {a: [1, true, null]}", True),
        ("n: path", "n: fixtures/one", True),
        ("n: int", "m: 3", False),
        ("n: int", "n: 3, extra: 1", False),
    ],
)
def test_a_row_fits_its_fields_or_is_da001(compile_text: Compile, fields: str, row: str, is_good: bool) -> None:
    text = domain("outcome:\n  a: 1.0*m.good", fields=f"q: str\n{fields}").replace(
        domain("outcome:\n  a: 1.0*m.good", fields=f"q: str\n{fields}").split("  train:\n")[1].split("prompt:")[0],
        f"    - {{q: hi, {row}}}\n",
    )
    found = [item for item in compile_text(text).findings if item.code != "RW010"]
    assert ([] if is_good else ["DA001"]) == sorted({item.code for item in found})
    assert all(item.span.source.strip().startswith("- {q: hi") for item in found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("version: 1\n", "version: 0\n", ("YM003", "0")),
        ("version: 1\n", "version: one\n", ("YM003", "one")),
        ("version: 1\n", "", ("YM002", "a")),
        ("assay: 1\n", "assay: 2\n", ("YM005", "2")),
        ("domain: test.case\n", "domain: -x\n", ("YM003", "-x")),
        ("prompt: 'Say {q}'\n", "prompt: 'Say {p}{q}'\n", ("RX001", "p")),
        ("prompt: 'Say {q}'\n", "prompt: 'Say { {q}'\n", ("RX002", "{")),
        ("prompt: 'Say {q}'\n", "prompt: 'Say {q.x} {q}'\n", ("RX002", "{q.x}")),
        ("prompt: 'Say {q}'\n", "prompt: '{{literal}} {q}'\n", None),
        ("  q: str\n", "  q: string\n", ("YM003", "string")),
        ("  m: test", "  q: test.measure()\n  m: test", ("YM001", "q")),
        ("  m: test", "  trace: test.measure()\n  m: test", ("YM001", "trace")),
        ("reward:\n", "group: {size: 2, min_scored: 3}\nreward:\n", ("YM003", "3")),
        ("reward:\n", "group: {sise: 2}\nreward:\n", ("YM002", "sise")),
        ("reward:\n", "params: {unused: 1}\nreward:\n", ("RW010", "unused")),
        ("reward:\n", "params: {q: 1}\nreward:\n", ("YM001", "q")),
        ("reward:\n", "episode: {tools: [shell]}\nreward:\n", ("RX006", "shell")),
        ("reward:\n", "episode: {max_turns: many}\nreward:\n", ("YM003", "many")),
        ("reward:\n", "episode: {max_tokens: 64k}\nreward:\n", None),
        ("reward:\n", "answer: bxed()\nreward:\n", ("RX006", "bxed")),
        ("reward:\n", "sandbox: {image: x, memory: 4GB}\nreward:\n", ("YM003", "4GB")),
        ("reward:\n", "allow:\n  - {code: RW024, at: reward.gate.x, because: so}\nreward:\n", ("RW010", "{code")),
        ("reward:\n", "allow:\n  - {code: RX001, at: x, because: so}\nreward:\n", ("YM003", "RX001")),
        ("reward:\n", "controls:\n  nop: {answer: '{gold}', reward: 1}\nreward:\n", ("RX001", "gold")),
        ("reward:\n", "controls:\n  nop: {answer: x, reward: much}\nreward:\n", ("YM003", "much")),
        ("reward:\n", "examples:\n  - {given: {m.god: true}, reward: 1}\nreward:\n", ("RX001", "m.god")),
        ("reward:\n", "examples:\n  - {given: {m.good: 3}, reward: 1}\nreward:\n", ("RX003", "3")),
        ("  outcome:\n    a: 1.0*m.good\n", "  outcome: {}\n", ("YM003", "{")),
        ("    a: 1.0*m.good\n", "    success: 1.0*m.good\n    b: m.rate\n", ("YM003", "success")),
    ],
)
def test_faults_of_the_other_keys(compile_text: Compile, old: str, new: str, expected: tuple[str, str] | None) -> None:
    text = domain("outcome:\n  a: 1.0*m.good")
    assert old in text
    found = underlined(compile_text(text.replace(old, new)))
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1
        assert expected[0] == found[0][0]
        assert found[0][1].startswith(expected[1])
