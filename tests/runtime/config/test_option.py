"""Options of registered things: names, and values that what they are for refuses."""

import pytest
from tests.runtime.config.conftest import Compose

import assay
from assay.core.error import ConfigError
from assay.core.leaf import Factory
from assay.core.registry import Offer
from assay.runtime.config.option import refused


def messages(found: object) -> list[tuple[str, str, str]]:
    return [(one.code, one.span.path, one.message) for one in found.findings]  # type: ignore[attr-defined]


SAMPLED = ("eval.samples=8", "eval.temperature=1.0")


@pytest.mark.parametrize(
    ("texts", "must"),
    [
        (["eval.strategy=majority"], "more than one answer to pick from, got eval.samples=1: Add eval.samples=8"),
        (["eval.samples=8"], "or all are equal, got eval.temperature=0: Add eval.temperature=1.0"),
    ],
)
def test_numbers_of_answers_that_cannot_be_meant_are_found_by_check(
    composed: Compose, texts: list[str], must: str
) -> None:
    (finding,) = composed(*texts).findings
    assert ("CF001", "<override 1>", True) == (finding.code, finding.span.path, must in finding.message)


def test_a_value_that_a_scheduler_refuses_is_a_finding_at_its_key(composed: Compose) -> None:
    must = "tiered must have heavy_s >= 0, max_heavy >= 1 and max_wait_s > 0, got 10.0, 0, 600.0"
    assert [("YM003", "<override 2>", must)] == messages(composed("scheduler=tiered", "scheduler.max_heavy=0"))


def test_a_value_that_a_strategy_refuses_is_a_finding_at_its_key(composed: Compose) -> None:
    found = composed("eval.strategy=best_of", "+eval.signal=quality", *SAMPLED)
    must = "best_of must have the signal mean_logprob or verifier.signal, got quality"
    assert [("YM003", "<override 2>", must)] == messages(found)


def test_a_strategy_nobody_offers_is_found_with_the_nearest(composed: Compose) -> None:
    (finding,) = composed("eval.strategy=majorty", *SAMPLED).findings
    assert ("RX006", True) == (finding.code, "did you mean `majority`?" in finding.message)


def test_an_option_that_no_strategy_takes_is_found(composed: Compose) -> None:
    assert ["CF001"] == [one.code for one in composed("+eval.foo=1").findings]
    assert ["CF001"] == [one.code for one in composed("eval.strategy=majority", "+eval.foo=1", *SAMPLED).findings]


def test_what_is_meant_is_left_alone(composed: Compose) -> None:
    found = composed(
        "eval.strategy=best_of", "+eval.signal=judge.quality", *SAMPLED, "scheduler=tiered", "scheduler.max_heavy=1"
    )
    assert () == found.findings
    assert found.settings is not None
    assert ({"signal": "judge.quality"}, 8) == (found.settings.eval.options, found.settings.eval.samples)


class Span:
    """Takes only a pair that fits, and raises what no error tree knows."""

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        if low > 9:
            raise ValueError("far too low")
        if low > high:
            raise ConfigError("low must be at most high", got=f"{low}, {high}")


def test_values_that_do_not_fit_together_are_one_misfit() -> None:
    offer = Offer("scheduler", "span", Factory("span", Span), "assay-rl", assay.__version__)
    assert [] == refused(offer, {"low": 3.0, "high": 4.0}, "scheduler", "name")
    (found,) = refused(offer, {"low": 0.5, "high": 0.25}, "scheduler", "name")
    assert ("scheduler.name", "low must be at most high, got 0.5, 0.25") == (found.key, found.reason)
    (found,) = refused(offer, {"low": 10.0, "high": 20.0}, "scheduler", "name")
    assert ("scheduler.low", True) == (found.key, found.reason.endswith("ValueError: far too low"))


def test_an_option_of_another_type_is_a_finding_at_its_key(composed: Compose) -> None:
    found = composed("eval.strategy=best_of", "+eval.signal=3", *SAMPLED)
    assert [("YM003", "<override 2>", "`signal` must be str, got 3")] == messages(found)


@pytest.mark.parametrize(
    ("texts", "must"),
    [
        (["audit.min_window=9"], "audit.min_window must be at most audit.window, which is 8, got 9"),
        (["audit.trend=4"], "audit.min_trend must be at most audit.trend, which is 4, got 8"),
        (["audit.noise=inf"], "`audit.noise` must be finite, got inf"),
        (["eval.temperature=inf"], "`eval.temperature` must be finite, got inf"),
        (["+tracker.also.jsonl.every={a: [-inf]}"], "`tracker.also` must be finite"),
    ],
)
def test_a_number_that_cannot_be_meant_is_a_finding(composed: Compose, texts: list[str], must: str) -> None:
    (finding,) = composed(*texts).findings
    assert ("YM003", True) == (finding.code, finding.message.startswith(must)), finding.message
