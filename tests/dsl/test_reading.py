"""Texts near the edge of the language: each gets the one finding it earns, and none is an exception."""

from collections.abc import Callable

import pytest
from tests.dsl.conftest import codes, domain
from tests.dsl.test_kinds import underlined

from assay.dsl.compile import Compiled
from assay.dsl.program import parse_program, print_program
from assay.dsl.reduce import Grader

Compile = Callable[[str], Compiled]
GOOD = "outcome:\n  a: 1.0*m.good"


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        # A comment would hide the rest of a folded expression.
        ("outcome:\n  a: >\n    1.0*m.good  # main\n    + 0.2*m.rate", [("RX002", "# main")]),
        ("outcome:\n  a: \"1.0*m.good # + 0.2*m.rate\"", [("RX002", "# + 0.2*m.rate")]),
        # By default `success` says what the outcome is, so the outcome cannot ask it.
        ("outcome:\n  a: m.good + (0.5 if success else 0)", [("RX001", "success")]),
        ("outcome:\n  a: m.good + clip(success, 0, 1)", [("RX001", "success")]),
        ("success: success\noutcome:\n  a: m.good", [("RX001", "success")]),
        # A number that float64 does not hold is infinite, however long.
        (f"outcome:\n  a: m.good*{'9' * 400}", [("RW001", f"m.good*{'9' * 400}")]),
        (f"outcome:\n  a: m.good*{'9' * 5000}", [("RW001", f"m.good*{'9' * 5000}")]),
        # The second of two names is the fault, and a gate without `else` makes no further ones.
        ("gate:\n  - {name: g, if: m.good, else: -1}\n  - {name: g, if: not m.bad, else: -1}\noutcome:\n  a: m.rate",
         [("YM001", "g")]),
        ("gate:\n  - if: m.good\n  - if: not m.bad\n    else: -1\noutcome:\n  a: m.rate", [("YM002", "gate")]),
        ("outcome:\n  a:", [("YM003", "")]),
        ("outcome:\n  a: [1]", [("YM003", "[1]")]),
    ],
)  # fmt: skip
def test_a_doubtful_text_gets_one_finding(compile_text: Compile, reward: str, expected: list[tuple[str, str]]) -> None:
    found = [item for item in underlined(compile_text(domain(reward))) if item != ("RW010", "m")]
    assert expected == found


@pytest.mark.parametrize(
    "reward",
    [
        "outcome:\n  a: 1/m.good if m.good == True else 0.0",
        "success: m.good\noutcome:\n  a: 1.0*success + 0.1*m.rate",
        "outcome:\n  a: '1.0*(m.mode == \"a # b\")'",
        "outcome:\n  a: m.good*mean([0.5, 1], 0)",
        "outcome:\n  a: m.good\nprocess:\n  b: -0.1*(not success)*m.bad",
        # The policy does not choose the weight of a task: at 0 the floor would be the top.
        "success: m.good\noutcome:\n  a: w*m.good\nefficiency:\n  when: success\n  b: -0.01*min(trace.turns, 9)",
        "outcome:\n  a: m.good*m.rate\nefficiency:\n  when: m.good*m.rate > 0.5\n  b: -0.01*min(trace.turns, 9)",
    ],
)  # fmt: skip
def test_a_meant_text_is_left_alone(compile_text: Compile, reward: str) -> None:
    fields = "q: str\nw: float[0,2]" if "w*" in reward else "q: str"
    assert [] == codes(compile_text(domain(reward, fields=fields)))


@pytest.mark.parametrize(
    "more",
    [
        f"episode: {{max_turns: {'9' * 320}}}",
        f"sandbox: {{image: x, memory: {'9' * 320}GiB}}",
        f"sandbox: {{image: x, time: {'9' * 320}h}}",
    ],
)
def test_a_quantity_too_large_is_a_finding(compile_text: Compile, more: str) -> None:
    assert ["YM003"] == codes(compile_text(domain(GOOD, more=more)))


@pytest.mark.parametrize("kind", [f"str{' | None' * 3000}", f"'a{' ' * 50_000}b'", "str | None | None"])
def test_a_type_is_read_in_bounded_time(compile_text: Compile, kind: str) -> None:
    text = domain(GOOD).replace("  q: str\n", f"  q: str\n  x: {kind}\n")
    assert ["YM003"] == [code for code in codes(compile_text(text)) if code != "RW010"]


@pytest.mark.parametrize("kind", ["list[str]", "float[0,2]"])
def test_a_type_that_breaks_at_the_comma_is_to_be_quoted(compile_text: Compile, kind: str) -> None:
    text = domain(GOOD).replace("fields:\n  q: str\n", f"fields: {{q: str, x: {kind}}}\n")
    found = compile_text(text).findings
    assert ("YM004", f'quote it: "{kind}"') == (found[0].code, found[0].hint)


def test_a_list_of_literals_has_one_value_in_both_back_ends(compile_text: Compile) -> None:
    program = compile_text(domain("outcome:\n  a: m.good*mean([0.5, 1], 0)*min(len(['x', 'y']), 3)/4")).require()
    grader = Grader(program)
    assert 0.375 == grader.reward({"m": {"good": True}}, {})
    assert [0.375, 0.0] == grader.columns({"m.good": [True, False]}, 2).tolist()


def test_a_written_default_has_the_digest_of_none(compile_text: Compile) -> None:
    written, silent = (
        compile_text(domain(GOOD, more=f"sandbox: {{image: x{more}}}")).require()
        for more in (", history: sever, net: none", "")
    )
    assert written.digest == silent.digest
    assert written.digest == parse_program(print_program(written)).digest


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{q}", "{qu}", [("RX001", "qu")]),
        ("reward:\n", "params: {bonus: 1}\nreward:\n  success: m.rate > bonsu\n", [("RX001", "bonsu")]),
        ("reward:\n", "params: {pay: -1}\nreward:\n  gate:\n    - {if: m.rate > 0, else: pya}\n", [("RX001", "pya")]),
        ("m: test.measure()", "m: test.measure()\n  k: test.measure()", [("RW010", "k")]),
        ("m.good", "n.good", [("RX001", "n.good"), ("RW010", "m")]),
        ("m.good", "mm.good", [("RX001", "mm.good")]),
    ],
)
def test_a_misspelled_name_is_one_finding(
    compile_text: Compile, old: str, new: str, expected: list[tuple[str, str]]
) -> None:
    assert sorted(expected) == sorted(underlined(compile_text(domain(GOOD).replace(old, new))))


@pytest.mark.parametrize("call", ["test.boxed(nmes)", "test.boxed()"])
def test_a_call_that_lacks_a_field_does_not_leave_it_unused(compile_text: Compile, call: str) -> None:
    fields, more = "q: str\nnames: list[str]", "sandbox: {image: x}\n"
    text = domain("outcome:\n  a: 1.0*m.score", fields=fields, verify=f"m: {call}", more=more)
    assert 1 == len(compile_text(text).findings)


def test_rows_keep_their_numbers_beside_one_that_is_none(compile_text: Compile) -> None:
    text = domain(GOOD).replace("    -\n      q: text\n", "    - 3\n    - {q: a}\n    - {p: a, q: b}\n    - [1]\n")
    compiled = compile_text(text)
    assert [("DA001", "3"), ("DA001", "p"), ("DA001", "[1]")] == underlined(compiled)
    assert ["row 0", "row 2", "row 3"] == [item.message[:5] for item in compiled.findings]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("params: {k: 1}\nexamples: [{given: {k: 1}, reward: 1}]", ("RX003", "k")),
        ("examples: [{given: {m: 1}, reward: 1}]", ("RX003", "m")),
        ("examples: [{given: {n: 1}, reward: 1}]", ("RX001", "n")),
        ("sandbox: {image: x, time: 0s}", ("YM003", "0s")),
        ("sandbox: {image: x, memory: 0GiB}", ("YM003", "0GiB")),
    ],
)
def test_faults_beside_the_reward(compile_text: Compile, more: str, expected: tuple[str, str]) -> None:
    found = underlined(compile_text(domain(GOOD, more=more)))
    assert [expected] == [item for item in found if item != ("RW010", "k")]


@pytest.mark.parametrize("at", ["reward", "reward.outcome"])
def test_a_finding_about_the_whole_reward_is_allowed_at_its_outcome(compile_text: Compile, at: str) -> None:
    text = domain("outcome:\n  a: 0.1*m.rate\nprocess:\n  b: -1*m.bad")
    assert ["RW020"] == codes(compile_text(text))
    assert [] == codes(compile_text(f"{text}allow: [{{code: RW020, at: {at}, because: so}}]\n"))


def test_a_wrong_argument_hides_no_fault_of_the_reward(compile_text: Compile) -> None:
    text = domain("outcome:\n  a: 1.0*m.scroe", fields="q: str\nnames: list[str]", verify="m: test.boxed(q)")
    found = [item for item in underlined(compile_text(text)) if item[0] != "RW010"]
    assert [("RX003", "q"), ("RX001", "m.scroe")] == found


@pytest.mark.parametrize(
    ("reward", "verify", "expected"),
    [
        ("outcome:\n  a: 1.0*trace.good", "trace: test.measure()", [("YM001", "trace")]),
        ("outcome:\n  a: 1.0*success.good", "success: test.measure()", [("YM001", "success")]),
        ("outcome:\n  if: 1.0*m.good\n  a: 0.1*trace.truncated", "m: test.measure()",
         [("YM003", "if"), ("RW004", "0.1*trace.truncated")]),
        ("outcome:\n  a: m.good\nefficiency:\n  when: m.rate > 1\n  b: -0.1*m.bad", "m: test.measure()",
         [("RW010", "m.rate > 1")]),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_is_one_finding(
    compile_text: Compile, reward: str, verify: str, expected: list[tuple[str, str]]
) -> None:
    assert expected == underlined(compile_text(domain(reward, verify=verify)))


@pytest.mark.parametrize(("count", "expected"), [(256, ["RW023"]), (257, ["YM003"])])
def test_terms_are_bounded_and_sums_of_them_nest_little(compile_text: Compile, count: int, expected: list[str]) -> None:
    compiled = compile_text(domain("outcome:\n" + "".join(f"  t{i}: 0.01*m.good\n" for i in range(count))))
    assert expected == sorted(set(codes(compiled)))
    if compiled.program is not None:
        assert 2.56 == pytest.approx(Grader(compiled.program).payout({"m": {"good": True}}, {}).reward)


def test_a_function_that_cannot_take_the_ends_of_its_argument_has_no_known_range(compile_text: Compile) -> None:
    assert [("RW001", "look(m.loss)")] == underlined(compile_text(domain("outcome:\n  a: look(m.loss)")))
    assert [] == codes(compile_text(domain("outcome:\n  a: look(m.rate)")))
    assert [("RW001", "lost(m.rate)")] == underlined(compile_text(domain("outcome:\n  a: lost(m.rate)")))


def test_a_truth_of_yaml_is_told_how_python_writes_it(compile_text: Compile) -> None:
    found = compile_text(domain("outcome:\n  a: 1.0*(m.good == true)")).findings
    assert [("RX001", "write True")] == [(item.code, item.hint) for item in found]


@pytest.mark.parametrize("cost", ["0.3", "0.1234567", "0.1", "1.23456149", "1e-8"])
def test_a_gate_that_pays_what_the_hint_says_is_accepted(compile_text: Compile, cost: str) -> None:
    reward = "gate:\n  - if: m.good\n    else: 9\noutcome:\n  a: 9*m.rate\nprocess:\n"
    reward += f"  b: -{cost}*min(trace.invalid_calls, 3)"
    (found,) = compile_text(domain(reward)).findings
    assert "RW024" == found.code
    assert [] == codes(compile_text(domain(reward.replace("else: 9", f"else: {found.hint.split()[-1]}"))))


def test_a_gate_that_asks_the_default_success_asks_the_outcome_before_later_gates(compile_text: Compile) -> None:
    gate = "gate:\n  - if: m.rate > 0\n    else: -9\n  - if: {}\n    else: -9\n  - if: m.failed > 0\n    else: -9\n"
    early = domain(gate.format("success") + "outcome:\n  a: min(m.delta/(0.1*m.failed), 1) + 0.1/m.rate")
    late = early.replace("success", "not m.bad")
    assert ("RX005", "m.delta/(0.1*m.failed)") in underlined(compile_text(early))
    assert "RX005" not in codes(compile_text(late))


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("success: m.rate/m.failed > 0.1\ngate:\n  - if: m.passed > 0\n    else: -9\n", [("RX005", "m.rate/m.failed")]),
        ("success: m.rate/m.passed > 0.1\ngate:\n  - if: m.passed > 0\n    else: -9\n", []),
        ("success: m.rate/m.passed > 0.1\ngate:\n  - {if: success, else: -9}\n  - {if: m.passed > 0, else: -9}\n",
         [("RX005", "m.rate/m.passed")]),
    ],
)  # fmt: skip
def test_success_is_proved_where_it_is_asked_for(
    compile_text: Compile, reward: str, expected: list[tuple[str, str]]
) -> None:
    text = f"{reward}outcome:\n  a: 1.0*m.good\nefficiency:\n  when: success\n  b: -0.1*m.bad"
    assert expected == underlined(compile_text(domain(text)))
