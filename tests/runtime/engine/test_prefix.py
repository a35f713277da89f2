"""What is shared is copied, never confused: outputs are those of an engine that shares nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.engine import Completion, GenerateRequest
from assay.runtime.engine import embedded
from assay.runtime.engine.embedded import EmbeddedEngine

Ask = Callable[..., GenerateRequest]
Run = Callable[..., dict[int, Completion]]

SYSTEM = [(3 * i) % 61 for i in range(24)]


def close(actual: Completion, expected: Completion) -> bool:
    return actual.sampled_ids == expected.sampled_ids and actual.logprobs.to_list() == pytest.approx(
        expected.logprobs.to_list(), abs=2e-5
    )


@pytest.mark.slow
def test_siblings_compute_their_prompt_once(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    found = run(engine, [ask_for(i, SYSTEM) for i in range(8)])
    assert (engine.stats.prompt_tokens, engine.stats.shared_tokens) == (8 * 24, 7 * 24)
    for i in range(8):
        assert close(found[i], run(EmbeddedEngine(policy), [ask_for(i, SYSTEM)])[i])


@pytest.mark.slow
@pytest.mark.parametrize("min_shared_tokens", [2, 10_000])
def test_prompts_with_a_common_beginning_answer_as_if_alone(
    policy: Path, run: Run, ask_for: Ask, min_shared_tokens: int
) -> None:
    prompts = [[*SYSTEM, 1, 2, 3], [*SYSTEM, 1, 2, 4], [*SYSTEM, 9], SYSTEM, [8, *SYSTEM], [*SYSTEM, 1, 2, 4], [8]]
    engine = EmbeddedEngine(policy, min_shared_tokens=min_shared_tokens)
    found = run(engine, [ask_for(i, prompt) for i, prompt in enumerate(prompts)])
    for i, prompt in enumerate(prompts):
        assert close(found[i], run(EmbeddedEngine(policy), [ask_for(i, prompt)])[i])
    identical = 27
    # The second and third start from the first, the fourth from its own last token on.
    begun = 26 + 24 + 23 if min_shared_tokens == 2 else 0
    assert engine.stats.shared_tokens == identical + begun


def test_different_prompts_of_one_length_share_nothing(policy: Path, run: Run, ask_for: Ask) -> None:
    prompts = [[i, *SYSTEM[1:]] for i in range(6)]
    engine = EmbeddedEngine(policy, min_shared_tokens=1)
    found = run(engine, [ask_for(5, prompt) for prompt in prompts[:1]])
    found = run(engine, [ask_for(i, prompt) for i, prompt in enumerate(prompts)])
    for i, prompt in enumerate(prompts):
        assert close(found[i], run(EmbeddedEngine(policy), [ask_for(i, prompt)])[i])


def test_next_turn_starts_from_what_the_last_one_left(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy, max_retained=2)
    first = run(engine, [ask_for(0, SYSTEM, 10)])[0]
    turn = [*SYSTEM, *first.sampled_ids.to_list(), 4, 5, 6]
    before = engine.stats.shared_tokens
    second = run(engine, [ask_for(1, turn)])[1]
    # The last sampled token's keys were never computed.
    assert engine.stats.shared_tokens - before == 24 + 9
    assert close(second, run(EmbeddedEngine(policy), [ask_for(1, turn)])[1])


def test_rows_unused_for_longest_are_forgotten_first(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy, max_retained=2)
    prompts = [[i] * 20 for i in range(3)]
    for i in (0, 1, 0, 2):
        run(engine, [ask_for(i, prompts[i], 1)])
    before = engine.stats.shared_tokens
    for i in (0, 2):
        run(engine, [ask_for(i, prompts[i], 1)])
    assert engine.stats.shared_tokens - before == 2 * 19
    run(engine, [ask_for(1, prompts[1], 1)])
    assert engine.stats.shared_tokens - before == 2 * 19


def test_prompt_longer_than_a_poll_takes_joins_alone(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy, max_prefill_tokens=10)
    found = run(engine, [ask_for(i, SYSTEM[i:]) for i in range(3)])
    for i in range(3):
        assert close(found[i], run(EmbeddedEngine(policy), [ask_for(i, SYSTEM[i:])])[i])


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_long_prompts_in_chunks_answer_as_if_whole(
    policy: Path, run: Run, ask_for: Ask, monkeypatch: pytest.MonkeyPatch, is_deterministic: bool
) -> None:
    prompts = [SYSTEM, SYSTEM[:3], [*SYSTEM, *SYSTEM], [9], [7, *SYSTEM[:14]]]
    whole = run(EmbeddedEngine(policy), [ask_for(i, prompt) for i, prompt in enumerate(prompts)])
    monkeypatch.setattr(embedded, "_CHUNK_TOKENS", 5)
    engine = EmbeddedEngine(policy, is_deterministic=is_deterministic)
    found = run(engine, [ask_for(i, prompt) for i, prompt in enumerate(prompts)])
    assert [close(found[i], whole[i]) for i in range(len(prompts))] == [True] * len(prompts)
