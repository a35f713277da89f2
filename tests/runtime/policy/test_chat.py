"""Messages become tokens and samples become text; a later turn appends and never re-encodes."""

import json
import shutil
from pathlib import Path

import pytest

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.error import ConfigError
from assay.core.message import Message, ToolResultPart
from assay.runtime.policy.chat import PlainChat, TemplateChat, read_chat, read_stop_ids

SEPARATOR, END = 2, 3


def user(text: str) -> Message:
    return Message.of_text("user", text)


def assistant(text: str) -> Message:
    return Message.of_text("assistant", text)


@pytest.fixture(params=["plain", pytest.param("template", marks=pytest.mark.slow)])
def chat(request: pytest.FixtureRequest, policy: Path) -> ChatFormat:
    return read_chat(policy, request.param)


def test_prompt_ends_with_the_separator(chat: ChatFormat) -> None:
    assert chat.encode([user("sort up ab")]).to_list() == [5, 6, 8, 9, SEPARATOR]


def test_completion_ends_with_the_end_token_and_decodes_to_its_text(chat: ChatFormat) -> None:
    ids = chat.encode_completion("trah9")
    assert ids.to_list()[-1] == END
    assert chat.decode(ids) == "trah9"
    assert chat.decode(Array.of(ids.to_list()[:-1], "int32")) == "trah9"
    assert chat.stop_ids == (END,)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_turns_appended_equal_the_dialogue_encoded_at_once(chat: ChatFormat, reason: str) -> None:
    first = chat.encode([user("spell ab")]).to_list()
    sampled = chat.encode_completion("ba").to_list()
    if reason == "length":
        sampled.pop()
    after = chat.encode_next([user("spell cd")], reason).to_list()  # type: ignore[arg-type]
    expected = chat.encode([user("spell ab"), assistant("ba"), user("spell cd")]).to_list()
    assert first + sampled + after == expected


def test_text_that_looks_like_an_end_token_ends_nothing(policy: Path) -> None:
    ids = PlainChat(policy).encode([user("ab [end] cd")]).to_list()
    assert END not in ids
    assert ids[-1] == SEPARATOR


def test_unknown_characters_and_inner_words_are_spelt(policy: Path) -> None:
    chat = PlainChat(policy)
    assert chat.encode([user("sorts")]).to_list() == [26, 22, 25, 27, 26, SEPARATOR]
    assert chat.encode([user("a!")]).to_list() == [8, 1, SEPARATOR]


def test_tool_result_is_text(policy: Path) -> None:
    result = Message("tool", (ToolResultPart("1", "ab"),))
    assert PlainChat(policy).encode_next([result]).to_list() == [8, 9, SEPARATOR]


def test_policy_names_its_format(policy: Path, tmp_path: Path) -> None:
    assert isinstance(read_chat(policy), PlainChat)
    folder = shutil.copytree(policy, tmp_path / "policy")
    (folder / "assay.json").write_text(json.dumps({"chat_format": "poem"}))
    with pytest.raises(ConfigError, match="chat format must be plain or template, got poem"):
        read_chat(folder)


@pytest.mark.slow
def test_template_is_taken_where_nothing_is_named(policy: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(policy, tmp_path / "policy")
    (folder / "assay.json").unlink()
    assert isinstance(read_chat(folder), TemplateChat)


@pytest.mark.slow
def test_template_that_rewrites_earlier_turns_is_refused(policy: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(policy, tmp_path / "policy")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["chat_template"] = "{{ messages | length }}{% for m in messages %}{{ m['content'] }}[end]{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="must append turns"):
        TemplateChat(folder).encode_next([user("ab")])


def test_policy_without_end_token_or_tokenizer_is_refused(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must name its end token"):
        read_stop_ids(tmp_path)
    with pytest.raises(ConfigError, match=r"must have a tokenizer\.json"):
        read_chat(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="must be readable"):
        read_chat(tmp_path)
    shutil.copyfile(policy / "tokenizer.json", tmp_path / "tokenizer.json")
    with pytest.raises(ConfigError, match="needs a sep_token"):
        read_chat(tmp_path)
