"""The stub policy is an engine like any other."""

from hypothesis import given
from hypothesis import strategies as st

from assay.core.array import Array
from assay.core.engine import GenerateRequest, Sampling
from assay.runtime.launch.stub import StubChat, StubEngine

TEXT = st.text(st.characters(min_codepoint=1, exclude_categories=("Cs",)))


@given(TEXT)
def test_stub_says_what_it_was_told(text: str) -> None:
    engine, chat = StubEngine(text), StubChat()
    engine.submit(GenerateRequest(1, Array.of([5], "int32"), Sampling(max_tokens=10_000)))
    (completion,) = engine.poll()
    assert text == chat.decode(completion.sampled_ids)
    assert "stop" == completion.finish_reason
    assert 0 == engine.num_active


def test_stub_is_cut_like_any_policy() -> None:
    engine = StubEngine("a long answer")
    engine.submit(GenerateRequest(1, Array.of([5], "int32"), Sampling(max_tokens=4)))
    (completion,) = engine.poll()
    assert "length" == completion.finish_reason
    assert "a lo" == StubChat().decode(completion.sampled_ids)
