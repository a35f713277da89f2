"""A verdict is scored or unscored with a cause, and only what a gate needs is run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.core.episode import Episode
from assay.core.error import VerifierFault
from assay.core.kind import BOOL, FLOAT, INT, STR
from assay.core.signal import SignalSpec
from assay.core.trajectory import Trace
from assay.core.verdict import Scored, Unscored, Verdict
from assay.dsl.expr.node import Expr, strip
from assay.dsl.expr.parse import parse_expression
from assay.dsl.program import Argument, EpisodeSpec, Gate, GroupSpec, Program, Reward, Term, Use, Verify
from assay.runtime.verify.grade import GradeDesk, Rubric
from assay.runtime.verify.host import VerifierHost

JUDGED = {"right": SignalSpec("right", BOOL), "score": SignalSpec("score", FLOAT)}
LEAVES = {
    f"hazard.{name}": f"assay-hazard:1.0.0:assay_hazard:{name}"
    for name in ("length", "run", "run_forked", "broken", "fatal", "report", "after_hash", "hang")
}


def expression(text: str) -> Expr:
    node, faults = parse_expression(text)
    assert node is not None and not faults
    return strip(node)


def program(verify: dict[str, Use], outcome: str, *gates: tuple[str, str], answer: Use | None = None) -> Program:
    return Program(
        edition=1,
        dist="local",
        id="t.t",
        version=1,
        fields={"wanted": INT, "word": STR},
        data={},
        system=None,
        prompt="",
        params={"fee": -1.5},
        answer=answer,
        episode=EpisodeSpec(),
        sandbox=None,
        verify={name: Verify(use, JUDGED, "auto", True) for name, use in verify.items()},
        reward=Reward(
            expression(f"({outcome}) >= 1.0"),
            False,
            tuple(Gate(f"g{n}", expression(text), expression(pay)) for n, (text, pay) in enumerate(gates)),
            (Term("solved", expression(outcome)),),
        ),
        group=GroupSpec(),
    )


LENGTH = Use("hazard.length", 1, (Argument("wanted", expression("wanted")),))
RUN, BROKEN, FATAL = Use("hazard.run", 3), Use("hazard.broken", 7), Use("hazard.fatal", 1)
AFTER_HASH = Use("hazard.after_hash", 1)

Grade = Callable[..., Verdict]


@pytest.fixture
def grade(plugin_folder: str, tmp_path: Path) -> Iterator[Grade]:
    """Grade one text against one program on a fresh desk."""
    with VerifierHost(paths=[plugin_folder], folder=tmp_path) as host:

        def grade(domain: Program, text: str, **trace: Any) -> Verdict:
            desk = GradeDesk(host, {"entry": Rubric(domain, LEAVES)})
            desk.submit(5, "entry", episode(text, **trace))
            (found,) = desk.poll(30.0)
            assert (5, 0) == (found[0], desk.num_open)
            return found[1]

        yield grade


def episode(text: str, **trace: Any) -> Episode:
    counted = replace(Trace(1, 3, 5), **trace)
    return Episode(5, "local/t.t@1", {"wanted": 3, "word": "x"}, (), text, None, counted)


def test_scored_verdict_keeps_signals_terms_and_digests(grade: Grade) -> None:
    domain = program({"len": LENGTH}, "1.0*len.score")
    verdict = grade(domain, "abc")
    assert isinstance(verdict, Scored)
    assert (1.0, True, None, {"outcome.solved": 1.0}) == tuple(
        getattr(verdict.payout, name) for name in ("reward", "success", "gate", "terms")
    )
    assert {"right": True, "score": 1.0} == verdict.measurements["len"].signals
    assert (domain.digest, domain.digests["reward"]) == (verdict.domain_digest, verdict.reward_digest)


def test_closed_gate_pays_and_what_lies_below_never_runs(grade: Grade) -> None:
    domain = program({"len": LENGTH, "bad": BROKEN}, "1.0*bad.score", ("len.right", "fee"))
    verdict = grade(domain, "nan!")
    assert isinstance(verdict, Scored)
    assert (-1.5, 0, ["len"]) == (verdict.payout.reward, verdict.payout.gate, list(verdict.measurements))


def test_open_gate_leads_to_the_next_verification(grade: Grade) -> None:
    verdict = grade(program({"len": LENGTH, "bad": BROKEN}, "1.0*bad.score", ("len.right", "fee")), "nan")
    assert isinstance(verdict, Unscored)
    assert ("verifier_fault", "bad", ["len"]) == (verdict.cause, verdict.verifier, list(verdict.measurements))


def test_answer_that_does_not_parse_is_scored(grade: Grade) -> None:
    domain = program({"len": LENGTH}, "1.0*len.score", ("trace.parsed", "fee"), answer=AFTER_HASH)
    refused, parsed = grade(domain, "abc"), grade(domain, "so ####abc")
    assert isinstance(refused, Scored) and isinstance(parsed, Scored)
    assert (-1.5, 1.0) == (refused.payout.reward, parsed.payout.reward)


@pytest.mark.slow
def test_parser_that_hangs_on_the_policys_text_refuses_it(grade: Grade) -> None:
    verdict = grade(program({"len": LENGTH}, "1.0*len.score", ("trace.parsed", "fee"), answer=AFTER_HASH), "hang")
    assert isinstance(verdict, Scored)
    assert -1.5 == verdict.payout.reward


@pytest.mark.slow
def test_timeout_that_earns_signals_is_scored(grade: Grade) -> None:
    verdict = grade(program({"hang": Use("hazard.hang", 1)}, "1.0*hang.right"), "x")
    assert isinstance(verdict, Scored)
    assert (0.0, False) == (verdict.payout.reward, verdict.payout.success)


def test_truncated_episode_is_scored(grade: Grade) -> None:
    verdict = grade(program({"len": LENGTH}, "len.score - 0.25*trace.truncated"), "abc", truncated=True)
    assert isinstance(verdict, Scored)
    assert 0.75 == verdict.payout.reward


def test_reward_that_is_not_finite_is_unscored(grade: Grade) -> None:
    verdict = grade(program({"len": LENGTH}, "1/len.score"), "abcd")
    assert isinstance(verdict, Unscored)
    assert "verifier_fault" == verdict.cause


def test_unscored_carries_no_reward(grade: Grade) -> None:
    verdict = grade(program({"bad": BROKEN}, "1.0*bad.score"), "nan")
    assert isinstance(verdict, Unscored)
    assert not hasattr(verdict, "payout")


def test_failure_declared_fatal_ends_the_desk_naming_the_distribution(grade: Grade) -> None:
    with pytest.raises(VerifierFault, match=r"hazard\.fatal v1 of assay-hazard 1\.0\.0"):
        grade(program({"bad": FATAL}, "1.0*bad.score"), "x")


def test_many_episodes_have_one_verdict_each(plugin_folder: str, tmp_path: Path) -> None:
    domain = program({"len": LENGTH, "run": RUN}, "len.score*run.right", ("len.right", "fee"))
    with VerifierHost(paths=[plugin_folder], folder=tmp_path) as host:
        desk = GradeDesk(host, {"entry": Rubric(domain, LEAVES)})
        for key in range(20):
            desk.submit(key, "entry", episode("a" * (key % 5)))
        desk.cancel(7)
        found: dict[int, Verdict] = {}
        while desk.num_open:
            found.update(desk.poll(10.0))
        assert sorted(set(range(20)) - {7}) == sorted(found)
        # `aaa` is no program that gives 42: the name is unknown, and that is the verifier's exception.
        assert {3, 8, 13, 18} == {key for key, verdict in found.items() if isinstance(verdict, Unscored)}
