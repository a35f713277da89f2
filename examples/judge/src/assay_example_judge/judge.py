"""The judge: one request of the Messages API per question.

Source: Anthropic API reference, "Messages": `system` beside `messages`, `content` as a list of blocks, `usage` in
`input_tokens` and `output_tokens`, status 529 for an overrun server. The API takes no seed; what is asked twice at
temperature 0 may differ, which the cache of replies hides.
"""

import os

import httpx2
import msgspec

import assay


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Message(msgspec.Struct):
    content: list[_Block]
    usage: _Usage = msgspec.field(default_factory=_Usage)


class MessagesJudge:
    """See `assay.JudgeBackend`.

    Args:
        base_url: Of the server, without `/v1/messages`.
        api_key_env: Environment variable that holds the key; the key itself is no setting.
        input_usd: Price of a million tokens that are read.
        output_usd: Price of a million tokens that are written.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key_env: str | None = None,
        input_usd: float = 0.0,
        output_usd: float = 0.0,
    ) -> None:
        if not base_url:
            raise assay.AssayError("a judge must have an address", got=base_url, at="judge.base_url")
        # What beside the question determines a reply; never a key.
        self.identity = base_url.rstrip("/")
        self._prices = (input_usd, output_usd)
        headers = {"anthropic-version": "2023-06-01"}
        if api_key_env is not None:
            headers["x-api-key"] = os.environ.get(api_key_env, "")
        # The host of judges bounds time and number of questions.
        self._client = httpx2.AsyncClient(headers=headers, timeout=None)

    async def ask(self, request: assay.JudgeRequest) -> assay.JudgeReply:
        """Send one question."""
        body = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "system": "\n\n".join(text for role, text in request.messages if role == "system"),
            "messages": [{"role": role, "content": text} for role, text in request.messages if role != "system"],
        }
        try:
            response = await self._client.post(f"{self.identity}/v1/messages", json=body)
        except httpx2.TransportError as error:
            raise assay.JudgeOutage("a judge must be reachable", got=str(error), at=self.identity) from None
        if response.status_code in (408, 409, 429) or response.status_code >= 500:
            after = response.headers.get("retry-after", "")
            after_s = float(after) if after.isdecimal() else None
            raise assay.JudgeOutage(
                "a judge must be ready", got=f"HTTP {response.status_code}", at=self.identity, retry_after_s=after_s
            )
        if response.status_code != 200:
            raise assay.JudgeRefused(
                "a judge must take a request", got=f"HTTP {response.status_code}", at=self.identity
            )
        try:
            message = msgspec.json.decode(response.content, type=_Message)
        except msgspec.MsgspecError as error:
            raise assay.JudgeError("a judge must reply with a message", got=str(error), at=self.identity) from None
        text = "".join(block.text for block in message.content if block.type == "text")
        if not text:
            raise assay.JudgeError("a judge must reply with text", got="none", at=self.identity)
        read, written = message.usage.input_tokens, message.usage.output_tokens
        return assay.JudgeReply(text, read, written, (read * self._prices[0] + written * self._prices[1]) / 1e6)

    async def close(self) -> None:
        """Close connections."""
        await self._client.aclose()
