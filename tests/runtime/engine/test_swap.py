"""New weights between two tokens: versions tell the truth, requests go on, and a failed update changes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.error import EngineError
from assay.core.trajectory import WeightVersion
from assay.runtime.engine.embedded import EmbeddedEngine
from assay.runtime.policy.architecture import Architecture
from assay.runtime.weight.layout import WeightLayout
from assay.runtime.weight.publisher import WeightPublisher

Ask = Callable[..., GenerateRequest]
Run = Callable[..., dict[int, Completion]]
NewState = Callable[[Path, int], dict[str, torch.Tensor]]

PROMPT = list(range(20))
SEQUENCE = Array.of([7, 8, 9, 10, 11], "int32")
ONE, TWO = WeightVersion(0, 1), WeightVersion(0, 2)


@pytest.fixture
def publisher(policy: Path, tmp_path: Path) -> Iterator[WeightPublisher]:
    publisher = WeightPublisher(tmp_path / "weights", WeightLayout.of(Architecture.read(policy).tensors()))
    yield publisher
    publisher.close()


@pytest.fixture
def engine(policy: Path) -> EmbeddedEngine:
    return EmbeddedEngine(policy)


def reference(policy: Path, state: dict[str, torch.Tensor]) -> EmbeddedEngine:
    """An engine that never had other weights."""
    engine = EmbeddedEngine(policy)
    engine._model.put(state.items(), engine._model.weights)
    return engine


def test_probe_after_an_update_is_that_of_the_new_weights(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState
) -> None:
    for version, seed in ((ONE, 11), (TWO, 12)):
        state = new_state(policy, seed)
        publisher.publish(state.items(), version)
        engine.update_weights(publisher.folder, version)
        assert engine.version == version
        assert engine.logprobs([SEQUENCE]) == reference(policy, state).logprobs([SEQUENCE])


def test_tokens_carry_the_version_that_sampled_them(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState, run: Run, ask_for: Ask
) -> None:
    before = run(engine, [ask_for(0, PROMPT, 6)])[0]
    state = new_state(policy, 11)
    publisher.publish(state.items(), ONE)
    engine.submit(ask_for(0, PROMPT, 6))
    engine.poll()
    engine.poll()
    engine.update_weights(publisher.folder, ONE)
    across = run(engine)[0]
    assert across.versions.to_list() == [0, 0, *[ONE.pack()] * 4]
    assert across.sampled_ids.to_list()[:2] == before.sampled_ids.to_list()[:2]
    assert across.logprobs.to_list()[:2] == pytest.approx(before.logprobs.to_list()[:2], abs=1e-5)
    assert across.logprobs.to_list()[2:] != pytest.approx(before.logprobs.to_list()[2:], abs=1e-3)


def test_no_new_prompt_starts_from_keys_of_old_weights(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState, run: Run, ask_for: Ask
) -> None:
    state = new_state(policy, 11)
    publisher.publish(state.items(), ONE)
    run(engine, [ask_for(0, PROMPT, 6)])
    engine.submit(ask_for(1, PROMPT, 30))
    engine.poll()
    engine.update_weights(publisher.folder, ONE)
    found = run(engine, [ask_for(2, PROMPT, 6)])
    again = run(engine, [ask_for(3, [*PROMPT, *found[1].sampled_ids.to_list()], 6)])
    fresh = run(reference(policy, state), [ask_for(2, PROMPT, 6)])
    fresh |= run(reference(policy, state), [ask_for(3, [*PROMPT, *found[1].sampled_ids.to_list()], 6)])
    assert found[2].logprobs.to_list() == pytest.approx(fresh[2].logprobs.to_list(), abs=2e-5)
    assert again[3].logprobs.to_list() == pytest.approx(fresh[3].logprobs.to_list(), abs=2e-5)


def test_failed_update_leaves_weights_and_requests_alone(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState, run: Run, ask_for: Ask,
    tmp_path: Path,
) -> None:  # fmt: skip
    alone = run(engine, [ask_for(0, PROMPT, 6)])[0]
    expected = engine.logprobs([SEQUENCE])
    engine.submit(ask_for(0, PROMPT, 6))
    engine.poll()
    with pytest.raises(EngineError, match="must have a layout"):
        engine.update_weights(tmp_path / "nowhere", ONE)
    publisher.publish(new_state(policy, 11).items(), ONE)
    with pytest.raises(EngineError, match=r"must hold weights 0\.2"):
        engine.update_weights(publisher.folder, TWO)
    part = WeightPublisher(tmp_path / "part", WeightLayout.of({"model.norm.weight": (32,)}))
    part.publish([("model.norm.weight", torch.zeros(32))], ONE)
    with pytest.raises(EngineError, match="must have all its tensors"):
        engine.update_weights(part.folder, ONE)
    part.close()
    assert engine.version == WeightVersion(0, 0)
    assert engine.logprobs([SEQUENCE]) == expected
    found = run(engine)[0]
    assert found.sampled_ids == alone.sampled_ids
    assert found.versions == alone.versions


def test_damaged_buffer_is_refused(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState
) -> None:
    publisher.publish(new_state(policy, 11).items(), ONE)
    expected = engine.logprobs([SEQUENCE])
    path = publisher.layout.buffer_path(publisher.folder, 0)
    with path.open("r+b") as file:
        file.seek(publisher.layout.offsets[3])
        file.write(b"\xff")
    with pytest.raises(EngineError, match="must fit their checksums"):
        engine.update_weights(publisher.folder, ONE)
    assert engine.logprobs([SEQUENCE]) == expected


def test_update_while_paused_is_taken(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState, run: Run, ask_for: Ask
) -> None:
    engine.submit(ask_for(0, PROMPT, 3))
    engine.poll()
    engine.pause()
    publisher.publish(new_state(policy, 11).items(), ONE)
    engine.update_weights(publisher.folder, ONE)
    engine.resume()
    assert run(engine)[0].versions.to_list() == [0, ONE.pack(), ONE.pack()]


def test_weights_that_are_not_finite_are_refused(
    policy: Path, engine: EmbeddedEngine, publisher: WeightPublisher, new_state: NewState
) -> None:
    expected = engine.logprobs([SEQUENCE])
    state = new_state(policy, 11)
    state["model.norm.weight"][3] = torch.nan
    publisher.publish(state.items(), ONE)
    with pytest.raises(EngineError, match=r"must be finite, got NaN or infinity in model\.norm\.weight"):
        engine.update_weights(publisher.folder, ONE)
    assert engine.version == WeightVersion(0, 0)
    assert engine.logprobs([SEQUENCE]) == expected


def test_scores_that_are_not_finite_are_never_sampled(engine: EmbeddedEngine, ask_for: Ask) -> None:
    engine._model.weights.norm[0] = torch.nan
    engine.submit(ask_for(0, PROMPT, 3))
    with pytest.raises(EngineError, match="scores must be finite"):
        engine.poll()
