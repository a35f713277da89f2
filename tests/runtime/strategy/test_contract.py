"""The built-in strategies keep the contract that plugins are held to."""

from assay.core.strategy import Sample
from assay.runtime.strategy import STRATEGIES
from assay.testing import Picked, StrategyContract

MAJORITY, BEST_OF = STRATEGIES


def sample(answer: str | None, logprob: float = -1.0, quality: float | None = None) -> Sample:
    return Sample(answer, answer or "?", 3, logprob, signals={} if quality is None else {"judge.quality": quality})


TestMajority = StrategyContract.of(
    MAJORITY,
    cases=[
        Picked([sample("4"), sample("5"), sample(" 5 ")], ["5"]),
        Picked([sample(None), sample("4"), sample(None)], ["4"]),
        Picked([sample("4"), sample("5"), sample("6")], ["4", "5", "6"]),
    ],
)
TestBestOf = StrategyContract.of(
    BEST_OF, cases=[Picked([sample("4", -2.0), sample("5", -0.5), sample("6", -3.0)], ["5"])]
)
TestBestOfSignal = StrategyContract.of(
    BEST_OF,
    options={"signal": "judge.quality"},
    cases=[
        Picked([sample("4", 0.0, 0.2), sample("5", -9.0, 0.9), sample("6", 0.0)], ["5"]),
        Picked([sample("4", 0.0, 0.2), sample("5", -9.0, 0.2)], ["4", "5"]),
    ],
)
