"""With `is_deterministic` a completion is the same bits in whatever company."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.runtime.engine import embedded
from assay.runtime.engine.embedded import EmbeddedEngine

Ask = Callable[..., GenerateRequest]
Run = Callable[..., dict[int, Completion]]

PROMPTS = [[(i * k + k) % 61 for i in range(3 + 2 * k)] for k in range(1, 20)]


@pytest.fixture(params=["block", "row"])
def engine(request: pytest.FixtureRequest, policy: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedEngine:
    if request.param == "row":
        monkeypatch.setattr(embedded, "find_block_rows", lambda model: 1)
    return EmbeddedEngine(policy, max_active=24, is_deterministic=True)


@pytest.mark.slow
def test_completions_are_bitwise_equal_across_batches(engine: EmbeddedEngine, run: Run, ask_for: Ask) -> None:
    requests = [ask_for(i, prompt, 9, temperature=0.9, top_p=0.95) for i, prompt in enumerate(PROMPTS)]
    together = run(engine, requests)
    backwards = run(engine, reversed(requests))
    staggered: dict[int, Completion] = {}
    for request in requests:
        engine.submit(request)
        staggered |= {completion.request_id: completion for completion in engine.poll()}
    staggered |= run(engine)
    for request in requests:
        alone = run(engine, [request])[request.request_id]
        assert together[request.request_id] == alone
        assert backwards[request.request_id] == alone
        assert staggered[request.request_id] == alone


def test_common_beginnings_change_no_bit(engine: EmbeddedEngine, run: Run, ask_for: Ask) -> None:
    requests = [ask_for(i, [*PROMPTS[12], *range(i), 60], 4) for i in range(6)]
    together = run(engine, requests)
    assert [together[i] for i in range(6)] == [run(engine, [request])[i] for i, request in enumerate(requests)]


def test_siblings_are_bitwise_equal_to_a_request_alone(engine: EmbeddedEngine, run: Run, ask_for: Ask) -> None:
    requests = [ask_for(i, PROMPTS[7], 6) for i in range(5)]
    together = run(engine, requests)
    assert [together[i] for i in range(5)] == [run(engine, [request])[i] for i, request in enumerate(requests)]


def test_probe_is_bitwise_equal_across_batches(engine: EmbeddedEngine) -> None:
    sequences = [Array.of(prompt, "int32") for prompt in PROMPTS]
    assert engine.logprobs(sequences) == [engine.logprobs([sequence])[0] for sequence in sequences]
