"""reasoning-gym's own scorers as verifiers, hazards and all: answers reach `eval` and sympy's parser."""

from typing import Annotated

import assay


class Scored(assay.Signals, frozen=True):
    right: Annotated[bool, assay.signal(better="up")]


def grade(generator: str, answer: str) -> Scored:
    """Score an answer to the generator's first task of seed 1; only full credit counts."""
    import reasoning_gym

    data = reasoning_gym.create_dataset(generator, size=1, seed=1)
    return Scored(right=data.score_answer(answer, data[0]) >= 0.999)


@assay.verifier("gym.here", version=1, timeout="60s", on_timeout=Scored(right=False))
def here(answer: str, generator: str) -> Scored:
    """Score in the worker; a hang is a wrong answer."""
    return grade(generator, answer)


@assay.verifier("gym.forked", version=1, timeout="60s", isolation="fork", on_timeout=Scored(right=False))
def forked(answer: str, generator: str) -> Scored:
    """Score in a child; a hang is a wrong answer."""
    return grade(generator, answer)


@assay.verifier("gym.unscored", version=1, timeout="60s", isolation="fork")
def unscored(answer: str, generator: str) -> Scored:
    """Score in a child; a hang is unscored."""
    return grade(generator, answer)
