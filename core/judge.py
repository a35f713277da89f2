"""Judges: models that are asked what an answer is worth.

A judge is asked and answers with text; what the text means is the verifier's business. Two parties keep this contract:
a plugin's judge (hook `assay_judges`), which lives in the trusted host process with its key and its network, and the
object that a verifier is handed as its parameter `judge`, whose calls travel to that host.

What goes wrong is typed: `JudgeOutage` passes by itself and is waited out, `JudgeRefused` does not and is never asked
again, any other `JudgeError` (a reply that is none) is asked again a few times.
"""

from typing import Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]


class JudgeRequest(msgspec.Struct, frozen=True, array_like=True):
    """One question.

    Everything that determines the reply stands here, so that equal requests may share one.

    Attributes:
        model: Which weights, such as `large@2026-05-01`.
        messages: Role and text, in order.
        max_tokens: Longest reply.
        temperature: 0 asks for the likeliest reply.
        seed: For judges that take one.
        sample: Number among several opinions on one question.
        attempt: Number among tries to get a reply that can be read.
    """

    model: str
    messages: tuple[tuple[Role, str], ...]
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    sample: int = 0
    attempt: int = 0


class JudgeReply(msgspec.Struct, frozen=True, array_like=True):
    """One answer.

    Attributes:
        text: As the model wrote it.
        prompt_tokens: Tokens that were read; 0 where nobody counted.
        completion_tokens: Tokens that were written.
        cost_usd: What this call was charged.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0


class Judge(Protocol):
    """What can be asked."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Return the reply to one request.

        Raises:
            JudgeOutage: nobody answers now; the same request may succeed later.
            JudgeRefused: this request will never be answered.
            JudgeError: what came is no reply.
        """
        ...


class JudgeBackend(Judge, Protocol):
    """What a factory of `assay_judges` makes.

    Attributes:
        identity: What beside the request determines replies, such as the address; never a key.
    """

    identity: str

    async def close(self) -> None:
        """Give connections back; called once, in the loop that asked."""
        ...
