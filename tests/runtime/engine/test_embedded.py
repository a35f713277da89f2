"""Requests: what comes out, that it depends on nobody else, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.error import EngineError
from assay.core.trajectory import WeightVersion
from assay.runtime.engine import cache
from assay.runtime.engine.embedded import EmbeddedEngine

Ask = Callable[..., GenerateRequest]
Run = Callable[..., dict[int, Completion]]

PROMPTS = [[5, 9, 11], [5, 9, 11], [7], list(range(4, 40)), [*range(4, 30), 1, 2], [60, 0, 60, 0]]


def test_log_probs_are_those_of_the_policy(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    found = run(engine, [ask_for(i, prompt, 10) for i, prompt in enumerate(PROMPTS)])
    whole = [Array.of([*PROMPTS[i], *found[i].sampled_ids.to_list()], "int32") for i in range(len(PROMPTS))]
    for i, probe in enumerate(engine.logprobs(whole)):
        expected = probe.to_list()[len(PROMPTS[i]) - 1 :]
        assert found[i].logprobs.to_list() == pytest.approx(expected, abs=2e-5)


@pytest.mark.slow
def test_tokens_do_not_depend_on_what_else_runs(policy: Path, run: Run, ask_for: Ask) -> None:
    together = run(EmbeddedEngine(policy), [ask_for(i, prompt, 12) for i, prompt in enumerate(PROMPTS)])
    narrow = EmbeddedEngine(policy, max_active=2, max_retained=1, min_shared_tokens=3)
    queued = run(narrow, [ask_for(i, prompt, 12) for i, prompt in reversed(list(enumerate(PROMPTS)))])
    for i, prompt in enumerate(PROMPTS):
        alone = run(EmbeddedEngine(policy), [ask_for(i, prompt, 12)])[i]
        assert together[i].sampled_ids == alone.sampled_ids
        assert queued[i].sampled_ids == alone.sampled_ids
    assert together[0].sampled_ids != together[1].sampled_ids


def test_requests_join_between_two_tokens(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    alone = {i: run(engine, [ask_for(i, prompt, 9)])[i].sampled_ids for i, prompt in enumerate(PROMPTS)}
    found: dict[int, Completion] = {}
    for i, prompt in enumerate(PROMPTS):
        engine.submit(ask_for(i, prompt, 9))
        found |= {completion.request_id: completion for completion in engine.poll()}
    found |= run(engine)
    assert {i: completion.sampled_ids for i, completion in found.items()} == alone


def test_sample_ends_with_its_stop_token_or_at_its_length(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    free = run(engine, [ask_for(1, [5, 6], 10)])[1]
    assert (len(free.sampled_ids), free.finish_reason) == (10, "length")
    tokens = [int(token) for token in free.sampled_ids.to_list()]
    stop = tokens[4]
    ended = run(engine, [ask_for(1, [5, 6], 10, stop_ids=(*range(61, 75), stop))])[1]
    assert ended.sampled_ids.to_list() == tokens[: tokens.index(stop) + 1]
    assert ended.finish_reason == "stop"


def test_stop_token_as_last_token_is_a_stop(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    first = run(engine, [ask_for(1, [5, 6], 1)])[1].sampled_ids.to_list()
    assert run(engine, [ask_for(1, [5, 6], 1, stop_ids=tuple(first))])[1].finish_reason == "stop"


def test_context_is_never_exceeded(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy, max_context=20)
    found = run(engine, [ask_for(0, range(19), 50), ask_for(1, range(15), 50)])
    assert {i: (len(c.sampled_ids), c.finish_reason) for i, c in found.items()} == {0: (1, "length"), 1: (5, "length")}
    with pytest.raises(EngineError, match="must leave room"):
        engine.submit(ask_for(2, range(20)))


def test_greedy_is_the_best_token_each_time(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    best = run(engine, [ask_for(0, [5, 9, 11], 4, temperature=0.0)])[0]
    again = run(engine, [ask_for(7, [5, 9, 11], 4, temperature=0.0, top_p=0.5)])[7]
    assert best.sampled_ids == again.sampled_ids
    prefix = [5, 9, 11, *best.sampled_ids.to_list()[:3]]
    every = engine.logprobs([Array.of([*prefix, token], "int32") for token in range(61)])
    last = [float(values.to_list()[-1]) for values in every]
    assert best.sampled_ids.to_list()[3] == int(np.argmax(last))
    assert best.logprobs.to_list()[3] == pytest.approx(max(last), abs=2e-5)


@pytest.mark.parametrize(
    ("prompt", "sampling", "must"),
    [
        ([], {}, "a prompt must have at least one token"),
        ([61], {}, "tokens must be below 61"),
        ([-1], {}, "tokens must be below 61"),
        ([1], {"max_tokens": 0}, "max_tokens must be at least 1"),
        ([1], {"temperature": -0.1}, "temperature must be finite and at least 0"),
        ([1], {"temperature": float("nan")}, "temperature must be finite and at least 0"),
        ([1], {"top_p": 0.0}, "top_p must be in (0, 1]"),
    ],
)
def test_impossible_request_is_refused_and_nothing_is_queued(
    policy: Path, ask_for: Ask, prompt: list[int], sampling: dict[str, float], must: str
) -> None:
    engine = EmbeddedEngine(policy)
    with pytest.raises(EngineError) as caught:
        engine.submit(ask_for(3, prompt, **sampling))
    assert caught.value.must == must
    assert engine.num_active == 0
    assert engine.poll() == []


def test_prompt_of_another_type_or_id_in_use_is_refused(policy: Path, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    request = ask_for(3, [1])
    with pytest.raises(EngineError, match="must be int32"):
        engine.submit(GenerateRequest(3, Array.of([1.0], "float32"), request.sampling))
    engine.submit(request)
    with pytest.raises(EngineError, match="an id of its own"):
        engine.submit(request)


def test_abort_returns_what_there_is(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy, max_active=2)
    alone = {i: run(engine, [ask_for(i, [5, 6, i], 9)])[i].sampled_ids.to_list() for i in range(4)}
    for i in range(4):
        engine.submit(ask_for(i, [5, 6, i], 9))
    engine.poll()
    engine.poll()
    engine.abort(0)
    engine.abort(3)
    engine.abort(99)
    assert engine.num_active == 4
    aborted = {completion.request_id: completion for completion in engine.poll()}
    assert {i: (c.sampled_ids.to_list(), c.finish_reason) for i, c in aborted.items()} == {
        0: (alone[0][:2], "aborted"),
        3: ([], "aborted"),
    }
    found = run(engine)
    assert {i: c.sampled_ids.to_list() for i, c in found.items()} == {1: alone[1], 2: alone[2]}


def test_paused_engine_keeps_every_request_where_it_is(policy: Path, run: Run, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    alone = run(engine, [ask_for(0, [5, 6], 6)])[0]
    engine.submit(ask_for(0, [5, 6], 6))
    engine.poll()
    engine.pause()
    polls = engine.stats.polls
    engine.submit(ask_for(1, [7], 6))
    assert engine.poll() == []
    assert (engine.num_active, engine.stats.polls) == (2, polls)
    engine.abort(1)
    assert [completion.finish_reason for completion in engine.poll()] == ["aborted"]
    engine.resume()
    assert run(engine)[0] == alone


def test_probe_scores_sequences_of_any_length(policy: Path) -> None:
    engine = EmbeddedEngine(policy, max_prefill_tokens=64)
    sequences = [Array.of([(i * 7) % 61 for i in range(n)], "int32") for n in (1, 30, 2, 96, 31, 5)]
    together = engine.logprobs(sequences)
    assert [values.shape for values in together] == [(0,), (29,), (1,), (95,), (30,), (4,)]
    for sequence, values in zip(sequences, together, strict=True):
        assert values.to_list() == pytest.approx(engine.logprobs([sequence])[0].to_list(), abs=1e-5)
    assert engine.logprobs([]) == []
    with pytest.raises(EngineError, match="at most 96 tokens"):
        engine.logprobs([Array.of([1] * 97, "int32")])


def test_rows_read_in_bands_answer_as_if_alone(
    policy: Path, run: Run, ask_for: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [ask_for(i, [(i + k) % 61 for k in range(60 if i == 4 else 3 + i)], 6) for i in range(7)]
    whole = run(EmbeddedEngine(policy), requests)
    monkeypatch.setattr(cache, "_BAND_ROWS", 3)
    monkeypatch.setattr(cache, "_BAND_REACH", 8)
    engine = EmbeddedEngine(policy)
    assert engine._cache._bands(np.array([4, 5, 6, 7, 60, 8, 9])) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert engine._cache._bands(np.array([60, 60, 60, 60])) == [slice(0, 4)]
    found = run(engine, requests)
    for i in range(7):
        assert found[i].sampled_ids == whole[i].sampled_ids
        assert found[i].logprobs.to_list() == pytest.approx(whole[i].logprobs.to_list(), abs=2e-5)


def test_cache_that_does_not_fit_says_what_to_lower(policy: Path) -> None:
    with pytest.raises(EngineError, match=r"must fit into memory, got \d+\.\d GB .* Lower engine\.max_active"):
        EmbeddedEngine(policy, max_active=10**9, max_retained=0)


def test_half_precision_on_a_cpu_is_refused(policy: Path) -> None:
    with pytest.raises(EngineError, match="must be float32"):
        EmbeddedEngine(policy, dtype="bfloat16")
    with pytest.raises(EngineError, match="dtype must be"):
        EmbeddedEngine(policy, dtype="int4")


def test_engine_without_rows_is_refused(policy: Path) -> None:
    with pytest.raises(EngineError, match="max_active must be at least 1"):
        EmbeddedEngine(policy, max_active=0)


def test_every_token_carries_the_first_version(policy: Path, run: Run, ask_for: Ask) -> None:
    version = WeightVersion(2, 30)
    engine = EmbeddedEngine(policy, version=version)
    assert engine.version == version
    assert run(engine, [ask_for(0, [5], 4)])[0].versions.to_list() == [version.pack()] * 4


def test_closed_engine_holds_no_request(policy: Path, ask_for: Ask) -> None:
    engine = EmbeddedEngine(policy)
    engine.submit(ask_for(0, [5]))
    engine.close()
    assert engine.num_active == 0
