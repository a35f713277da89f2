"""The verifiers that the error pages talk about."""

from typing import Annotated

import assay


class Rate(assay.Signals, frozen=True):
    rate: Annotated[float, assay.signal(ge=0, le=1, better="up")]


class Opinion(assay.Signals, frozen=True):
    score: Annotated[float, assay.signal(ge=0, le=1, better="up")]


@assay.verifier("tests.pytest", version=1, cost="8s", needs=assay.Needs(sandbox=True))
async def pytest_suite(answer: str, box: assay.Sandbox, expected: str) -> Rate:
    """Run tests in a fresh box."""
    raise AssertionError(answer, box, expected)


@assay.verifier("judge.rubric", version=1, tier="judge", cost="2s", deterministic=False, price="0.01 USD")
def rubric(answer: str, model: str) -> Opinion:
    """Ask a model."""
    raise AssertionError(answer, model)


@assay.verifier("essay.match", version=1, cost="1ms")
def match(answer: str | None, expected: str) -> Rate:
    """Compare; two packages offer it under this name."""
    return Rate(rate=float(answer == expected))


@assay.hookimpl
def assay_verifiers() -> list[object]:
    return [pytest_suite, rubric]


class Box:
    name = "declared"

    def capabilities(self) -> frozenset[str]:
        return frozenset({"exec", "image", "net.none", "history.sever", "isolation.fresh"})


@assay.hookimpl
def assay_sandboxes() -> list[object]:
    return [Box()]
