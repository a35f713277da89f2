"""One stored episode under an edit: exactly what it misses, and nothing else, is measured again."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from assay.core.verdict import Measurement, Payout, Scored, Unscored, Verdict
from assay.dsl.compile import Compiled
from assay.dsl.program import Program
from assay.dsl.recall import Recall, StoredEpisode, classify_episode

DOMAIN = """\
assay: 1
domain: test.recall
version: 1
fields: {q: str, weight: "float[0,2]"}
data: {train: [{q: a, weight: 1.0}], eval: [{q: b, weight: 1.0}]}
prompt: "{q}"
verify:
  m: test.measure()
  l: test.lenient()
reward:
  gate:
    - {if: m.good, else: -1.0}
  outcome:
    solved: weight*m.rate + 0.5*l.score
"""
TRACE = {"turns": 1, "tokens": 5, "parsed": True, "truncated": False}
MEASURED = {
    "m": Measurement("d:1:m:measure", 1, {"good": True, "rate": 0.5, "failed": 0}),
    "l": Measurement("d:1:m:lenient", 1, {"score": 0.5}),
}
CLOSED = {"m": Measurement("d:1:m:measure", 1, {"good": False, "rate": 0.5, "failed": 0})}


@pytest.fixture
def program(compile_text: Callable[[str], Compiled]) -> Callable[..., Program]:
    def run(*replaced: tuple[str, str]) -> Program:
        text = DOMAIN
        for old, new in replaced:
            assert 1 == text.count(old)
            text = text.replace(old, new)
        return compile_text(text).require()

    return run


def stored(measurements: dict[str, Measurement], split: str = "train", **fields: Any) -> StoredEpisode:
    verdict: Verdict = Scored(measurements, Payout(0.0, False, None, {}), "", "")
    return StoredEpisode(split, {"q": "a", "weight": 1.0, **fields}, TRACE, verdict)


def newer(program: Program, name: str) -> Program:
    verify = program.verify[name]
    return replace(
        program,
        verify={**program.verify, name: replace(verify, use=replace(verify.use, version=verify.use.version + 1))},
    )


def test_raised_version_is_measured_again_only_where_it_was_needed(program: Callable[..., Program]) -> None:
    before = program()
    assert "REGRADE" == classify_episode(before, newer(before, "l"), stored(MEASURED)).effect
    assert "REUSE" == classify_episode(before, newer(before, "l"), stored(CLOSED)).effect
    assert "REGRADE" == classify_episode(before, newer(before, "m"), stored(CLOSED)).effect


def test_measurement_of_another_version_is_none(program: Callable[..., Program]) -> None:
    before = program()
    after = program(("0.5*l.score", "0.4*l.score"))
    old = {**MEASURED, "l": replace(MEASURED["l"], version=7)}
    assert "REGRADE" == classify_episode(before, after, stored(old)).effect
    assert "REDUCE" == classify_episode(before, after, stored(MEASURED)).effect


def test_signal_that_was_not_stored_is_measured_again(program: Callable[..., Program]) -> None:
    after = program(("weight*m.rate", "weight*m.rate - 0.1*min(m.failed, 2)"))
    old = {**MEASURED, "m": replace(MEASURED["m"], signals={"good": True, "rate": 0.5})}
    assert "REGRADE" == classify_episode(program(), after, stored(old)).effect
    assert "REDUCE" == classify_episode(program(), after, stored(MEASURED)).effect


def test_closed_gate_that_still_closes_needs_nothing_below_it(program: Callable[..., Program]) -> None:
    before = program()
    assert "REDUCE" == classify_episode(before, program(("else: -1.0", "else: -2.0")), stored(CLOSED)).effect
    found = classify_episode(before, program(("if: m.good", "if: m.rate > 0.1")), stored(CLOSED))
    assert ("REGRADE", "verify.l") == (found.effect, found.part)
    assert "REDUCE" == classify_episode(before, program(("if: m.good", "if: m.rate > 0.6")), stored(CLOSED)).effect


def test_rows_of_one_split_say_nothing_of_the_other(program: Callable[..., Program]) -> None:
    before, after = program(), program(("{q: b, weight: 1.0}", "{q: c, weight: 1.0}"))
    assert "REUSE" == classify_episode(before, after, stored(MEASURED)).effect
    assert "RERUN" == classify_episode(before, after, stored(MEASURED, "eval", q="b")).effect


def test_unscored_episode_is_reduced_where_it_had_measured_enough(program: Callable[..., Program]) -> None:
    before = program()
    after = program((" + 0.5*l.score", ""), ("  l: test.lenient()\n", ""))
    half = replace(stored({}), verdict=Unscored("verifier_timeout", "no result", "l", {"m": MEASURED["m"]}))
    assert "REGRADE" == classify_episode(before, program(("0.5*l", "0.4*l")), half).effect
    assert "REDUCE" == classify_episode(before, after, half).effect
    assert "REUSE" == classify_episode(before, before, half).effect


def test_what_could_not_be_measured_is_tried_again_where_asked(program: Callable[..., Program]) -> None:
    before = program()
    half = replace(stored({}), verdict=Unscored("judge_error", "nobody answers", "l", {"m": MEASURED["m"]}))
    again = Recall(before, before, should_retry=True)
    found = again.classify(half)
    assert ("REGRADE", "verify.l", "`l` was not measured") == (found.effect, found.part, found.text)
    assert {"m": MEASURED["m"]} == again.measured(half.verdict)
    assert "REUSE" == again.classify(stored(MEASURED)).effect
    assert "REUSE" == Recall(before, before).classify(half).effect


def test_recall_hands_measurements_over_under_their_new_names(program: Callable[..., Program]) -> None:
    after = program(("  l: test.lenient()", "  judge: test.lenient()"), ("0.5*l.score", "0.5*judge.score"))
    recall = Recall(program(), after)
    assert {"m": MEASURED["m"], "judge": MEASURED["l"]} == recall.measured(stored(MEASURED).verdict)
    assert "REDUCE" == recall.classify(stored(MEASURED)).effect


def test_what_another_judge_measured_is_measured_anew_unless_a_gate_spares_it(program: Callable[..., Program]) -> None:
    same = program()
    recall = Recall(same, same, renewed=("test.lenient",))
    assert [("REGRADE", "verify.l", "another judge answers")] == [
        (one.effect, one.part, one.text) for one in recall.change.reasons if one.effect != "REUSE"
    ]
    assert "REGRADE" == recall.classify(stored(MEASURED)).effect
    assert ["m"] == list(recall.measured(stored(MEASURED).verdict))
    assert "REUSE" == recall.classify(stored(CLOSED)).effect
