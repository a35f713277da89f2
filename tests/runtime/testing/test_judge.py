"""A judge that breaks a clause is told so."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.runtime.testing.clause import unseen
from tests.runtime.testing.red import breaks

from assay.core.error import JudgeError, JudgeOutage, JudgeRefused
from assay.core.judge import JudgeReply, JudgeRequest
from assay.core.leaf import Factory
from assay.runtime.judge.openai import OpenAIJudge
from assay.testing import JudgeContract

REPLY = json.dumps(
    {
        "choices": [{"message": {"content": "All is well."}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }
)


class Uncounting(OpenAIJudge):
    """Count no token."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        return JudgeReply((await super().ask(request)).text)


class Forgetful(OpenAIJudge):
    """Leave out the instructions."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        return await super().ask(msgspec.structs.replace(request, messages=request.messages[1:]))


class Impatient(OpenAIJudge):
    """Give up what passes by itself."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        try:
            return await super().ask(request)
        except JudgeOutage as error:
            raise JudgeRefused(error.must, got=error.got) from None


class Hopeful(OpenAIJudge):
    """Wait for what never comes."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        try:
            return await super().ask(request)
        except JudgeRefused as error:
            raise JudgeOutage(error.must, got=error.got) from None


class Content(OpenAIJudge):
    """Take anything for a reply."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        try:
            return await super().ask(request)
        except (JudgeOutage, JudgeRefused):
            raise
        except JudgeError:
            return JudgeReply("")


class Single(OpenAIJudge):
    """Ask one question after the other."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lock = asyncio.Lock()

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        async with self._lock, asyncio.timeout(0.3):
            return await super().ask(request)


class Talkative(OpenAIJudge):
    """Pass on what the server said, with the key in it."""

    def _shown(self, what: object) -> str:
        return str(what)


class Nameless(OpenAIJudge):
    """Have one identity wherever the server is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._url, self.identity = f"{self.identity}/chat/completions", "a judge"


WRONG: list[tuple[Callable[..., Any], str, str]] = [
    (Uncounting, "test_a_reply_is_its_text_with_its_tokens", "a reply must be ('All is well.', 11, 7)"),
    (Forgetful, "test_the_whole_question_is_asked", "a judge must be asked the whole question"),
    (Impatient, "test_what_passes_by_itself_is_an_outage", "HTTP 429 must be a JudgeOutage"),
    (Hopeful, "test_what_will_never_be_answered_is_refused", "HTTP 400 must be a JudgeRefused"),
    (Content, "test_a_reply_that_is_none_is_an_error", "a judge must have a reply to return one"),
    (Single, "test_several_questions_are_asked_at_once", "a judge must ask several questions at once"),
    (Talkative, "test_its_key_is_told_to_nobody", "a message must not hold the key"),
    (Nameless, "test_its_identity_is_that_of_its_options", "another address must be another identity"),
]


@pytest.mark.parametrize(("target", "clause", "must"), WRONG)
def test_wrong_judge_breaks_its_clause(target: Callable[..., Any], clause: str, must: str) -> None:
    assert must == breaks(JudgeContract, clause, target, reply=REPLY)


def test_every_clause_was_seen_red() -> None:
    assert set() == unseen(JudgeContract, [clause for _, clause, _ in WRONG])


def test_judge_without_a_server_is_asked_only_what_holds_of_every_kind() -> None:
    contract = JudgeContract.of(Factory("mine", OpenAIJudge))
    assert [] == [clause for _, clause, _ in WRONG if getattr(contract, clause) is not None]
