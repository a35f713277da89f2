"""`judge.score` and `judge.prefer`: what a model thinks of an answer, by a rubric or against a reference.

An answer that the parser refused is worth nothing, and nobody is asked. A judge that cannot be read is asked again,
then the episode is unscored with `judge_error`.
"""

import asyncio
import itertools
import statistics
from typing import Annotated, Literal

from assay.core.judge import Judge
from assay.core.leaf import verifier
from assay.core.signal import Signals, signal
from assay.runtime.judge.guard import is_suspicious, opinion, write_sheet

_TOP = 10.0
# Opinions that are to differ where the model is unsure.
_SAMPLING_TEMPERATURE = 0.7


class Score(Signals, frozen=True):
    """What a judge says about one answer."""

    score: Annotated[float, signal(ge=0, le=1, better="up", doc="Mean or median of the samples; 1 is the best.")]
    agreement: Annotated[
        float, signal(ge=0, le=1, better="up", doc="1 less the mean difference of two samples; 1 where there is one.")
    ]
    suspicious: Annotated[bool, signal(better="down", doc="The answer seems to talk to its grader: a heuristic.")]


class Preference(Signals, frozen=True):
    """What a judge says about an answer beside a reference."""

    preferred: Annotated[
        float, signal(ge=0, le=1, better="up", doc="Mean over samples: 1 the answer, 0 the reference, 0.5 a tie.")
    ]
    consistent: Annotated[bool, signal(better="up", doc="Both orders gave the same, in every sample.")]
    agreement: Annotated[
        float, signal(ge=0, le=1, better="up", doc="1 less the mean difference of two samples; 1 where there is one.")
    ]
    suspicious: Annotated[bool, signal(better="down", doc="The answer seems to talk to its grader: a heuristic.")]


@verifier("judge.score", version=1, tier="judge", cost="3s", deterministic=False, price="0.002 USD", timeout="30s")
async def judge_score(
    answer: str | None,
    judge: Judge,
    model: str,
    rubric: str,
    question: str = "",
    samples: int = 1,
    aggregate: Literal["mean", "median"] = "mean",
    temperature: float | None = None,
    max_tokens: int = 512,
) -> Score:
    """Ask a model to grade the answer by a rubric, from 0 to 10."""
    _check(samples)
    if answer is None:
        return Score(score=0.0, agreement=1.0, suspicious=False)
    order = f"Grade the text named `answer` by this rubric, from 0 (worst) to {_TOP:g} (best).\n\nRubric:\n{rubric}"

    async def grade(sample: int) -> float:
        sheet = write_sheet(order, _texts(question, answer=answer), "grade", f"a number from 0 to {_TOP:g}", sample)
        heat = _temperature(temperature, samples)
        return await opinion(judge, model, sheet, _grade, sample=sample, temperature=heat, max_tokens=max_tokens)

    grades = await asyncio.gather(*(grade(sample) for sample in range(samples)))
    middle = statistics.fmean(grades) if aggregate == "mean" else statistics.median(grades)
    return Score(score=middle, agreement=agreement(grades), suspicious=is_suspicious(answer))


@verifier("judge.prefer", version=1, tier="judge", cost="6s", deterministic=False, price="0.004 USD", timeout="30s")
async def judge_prefer(
    answer: str | None,
    judge: Judge,
    model: str,
    reference: str,
    criteria: str,
    question: str = "",
    samples: int = 1,
    temperature: float | None = None,
    max_tokens: int = 512,
) -> Preference:
    """Ask a model which of two texts is better, in both orders; what depends on the order is a tie."""
    _check(samples)
    if answer is None:
        return Preference(preferred=0.0, consistent=True, agreement=1.0, suspicious=False)
    order = f"Say which of the texts `A` and `B` is better by these criteria.\n\nCriteria:\n{criteria}"

    async def choose(sample: int, is_swapped: bool) -> float:
        first, second = (reference, answer) if is_swapped else (answer, reference)
        sheet = write_sheet(order, _texts(question, A=first, B=second), "choice", "A, B or tie", sample)
        heat = _temperature(temperature, samples)
        share = await opinion(
            judge, model, sheet, _share_of_first, sample=sample, temperature=heat, max_tokens=max_tokens
        )
        return 1.0 - share if is_swapped else share

    asked = [choose(sample, is_swapped) for sample in range(samples) for is_swapped in (False, True)]
    shares = await asyncio.gather(*asked)
    pairs = list(zip(shares[::2], shares[1::2], strict=True))
    votes = [one if one == other else 0.5 for one, other in pairs]
    return Preference(
        preferred=statistics.fmean(votes),
        consistent=all(one == other for one, other in pairs),
        agreement=agreement(votes),
        suspicious=is_suspicious(answer),
    )


def agreement(values: list[float]) -> float:
    """Return 1 - mean |a - b| over all pairs of samples in [0, 1]; 1 for a single one.

    Example:
        >>> agreement([1.0, 1.0, 0.0]), agreement([0.3])
        (0.33333333333333337, 1.0)
    """
    pairs = [abs(a - b) for a, b in itertools.combinations(values, 2)]
    return 1.0 - statistics.fmean(pairs) if pairs else 1.0


def _texts(question: str, **texts: str) -> tuple[tuple[str, str], ...]:
    return tuple({**({"question": question} if question else {}), **texts}.items())


def _check(samples: int) -> None:
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")


def _temperature(wanted: float | None, samples: int) -> float:
    if wanted is not None:
        return wanted
    return _SAMPLING_TEMPERATURE if samples > 1 else 0.0


def _grade(text: str) -> float:
    grade = float(text.removesuffix(f"/{_TOP:g}"))
    if not 0.0 <= grade <= _TOP:
        raise ValueError(f"a grade must lie in 0..{_TOP:g}, got {text!r}")
    return grade / _TOP


def _share_of_first(text: str) -> float:
    shares = {"a": 1.0, "b": 0.0, "tie": 0.5}
    if text.lower() not in shares:
        raise ValueError(f"a choice must be A, B or tie, got {text!r}")
    return shares[text.lower()]
