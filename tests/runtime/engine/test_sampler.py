"""Draws follow the distribution whose log-probs they report, one stream per request."""

import numpy as np
import pytest
import torch

from assay.runtime.engine.sampler import sample, uniforms

LOGITS_V = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])


def draw(count: int, temperature: float = 1.0, top_p: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    draws = uniforms(np.arange(count, dtype=np.uint64), np.full(count, 7))
    logits = LOGITS_V.repeat(count, 1)
    return sample(logits, np.full(count, temperature, np.float32), np.full(count, top_p, np.float32), draws)


def test_numbers_are_uniform_over_seeds_and_over_positions() -> None:
    one_seed = uniforms(np.zeros(20000, np.uint64), np.arange(20000))
    one_place = uniforms(np.arange(20000, dtype=np.uint64), np.zeros(20000, np.int64))
    for values in (one_seed, one_place):
        counts, _ = np.histogram(values, bins=20, range=(0, 1))
        assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees, p = 0.001
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.025


def test_numbers_are_never_zero_or_one() -> None:
    values = uniforms(np.array([0, 2**64 - 1], np.uint64), np.array([0, 2**62]))
    assert ((values > 0) & (values < 1)).all()


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (1.7, 1.0), (1.0, 0.8), (0.7, 0.6)])
def test_frequencies_match_reported_logprobs(temperature: float, top_p: float) -> None:
    count = 40000
    tokens, logprobs = draw(count, temperature, top_p)
    reported = {int(token): float(logprob) for token, logprob in zip(tokens, logprobs, strict=True)}
    for token, logprob in reported.items():
        expected = np.exp(logprob)
        assert abs((tokens == token).mean() - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / count)
    assert sum(np.exp(list(reported.values()))) == pytest.approx(1, abs=1e-3)


def test_temperature_is_inside_the_logprob() -> None:
    tokens, logprobs = draw(50, temperature=0.5)
    expected = torch.log_softmax(LOGITS_V / 0.5, -1)[torch.from_numpy(tokens.astype(np.int64))]
    assert np.abs(logprobs - expected.numpy()).max() < 1e-6


def test_nucleus_keeps_the_fewest_tokens_that_reach_its_mass() -> None:
    probs = torch.softmax(LOGITS_V, -1)
    assert float(probs[:2].sum()) < 0.85 < float(probs[:3].sum())
    tokens, logprobs = draw(2000, top_p=0.85)
    assert set(tokens.tolist()) == {0, 1, 2}
    expected = torch.log(probs[:3] / probs[:3].sum())[torch.from_numpy(tokens.astype(np.int64))]
    assert np.abs(logprobs - expected.numpy()).max() < 1e-6
    assert set(draw(500, top_p=1e-6)[0].tolist()) == {0}


def test_greedy_rows_take_the_best_and_report_temperature_one() -> None:
    draws = np.full(3, 0.999)
    temperatures = np.array([0.0, 1.0, 0.0], np.float32)
    tokens, logprobs = sample(LOGITS_V.repeat(3, 1), temperatures, np.array([1, 1, 0.1], np.float32), draws)
    assert tokens.tolist() == [0, 5, 0]
    assert logprobs[0] == pytest.approx(float(torch.log_softmax(LOGITS_V, -1)[0]))
    assert logprobs[2] == logprobs[0]


def test_tokens_of_no_mass_are_never_drawn() -> None:
    logits = torch.full((1000, 4), -torch.inf)
    logits[:, 1] = 0.0
    draws = uniforms(np.arange(1000, dtype=np.uint64), np.zeros(1000, np.int64))
    tokens, logprobs = sample(logits, np.ones(1000, np.float32), np.ones(1000, np.float32), draws)
    assert set(tokens.tolist()) == {1}
    assert set(logprobs.tolist()) == {0.0}
