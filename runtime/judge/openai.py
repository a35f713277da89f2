"""`openai`: a judge behind any server that speaks OpenAI's chat completions over HTTP.

Source: OpenAI API reference, "Create chat completion"; of it are used `model`, `messages`, `max_tokens`, `temperature`,
`seed`, `choices[0].message.content`, `usage`. A revision after `@` pins the model for `assay check` and is sent as part
of the name, since servers name models as they like.
"""

import email.utils
import importlib.util
import math
import os
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from assay.core.error import ConfigError, JudgeError, JudgeOutage, JudgeRefused, PluginError
from assay.core.judge import JudgeReply, JudgeRequest

# Too many, not yet, and whatever the server blames on itself.
_PASSING = frozenset({408, 409, 425, 429})
_MAX_SHOWN = 200
# No completion is longer; what is longer is not read to its end.
_MAX_BYTES = 4 << 20


class _Said(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class OpenAIJudge:
    """One server; see `assay.JudgeBackend`.

    Args:
        base_url: Up to and without `/chat/completions`, such as `http://localhost:8000/v1`.
        api_key_env: Environment variable that holds the key; None sends none. The key itself is no setting, so that it
            is written nowhere.
        prices: Per model one text `MODEL INPUT OUTPUT`, in USD per million tokens; the model `*` is any other.

    Raises:
        ConfigError: the address is none, holds a password, or the key is not in the environment.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key_env: str | None = None,
        prices: Sequence[str] = (),
    ) -> None:
        if importlib.util.find_spec("httpx2") is None:
            todo = "Run: pip install 'assay-rl[judge]'"
            raise PluginError("a judge over HTTP must have httpx2", got="none", todo=todo)
        self.identity = _address(base_url)
        self._prices = _prices(prices)
        self._url = f"{self.identity}/chat/completions"
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        self._key = ""
        if api_key_env is not None:
            self._key = _key(api_key_env)
            self._headers["Authorization"] = f"Bearer {self._key}"
        self._client: Any = None

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Send one request; see `assay.Judge`."""
        import httpx2

        if self._client is None:
            # The host bounds time and number of requests; proxies and the like come from the environment.
            self._client = httpx2.AsyncClient(headers=self._headers, timeout=None, limits=httpx2.Limits())
        body = {
            "model": request.model,
            "messages": [{"role": role, "content": text} for role, text in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        try:
            async with self._client.stream("POST", self._url, content=msgspec.json.encode(body)) as response:
                data = await self._read(response)
        except httpx2.TransportError as error:
            raise JudgeOutage("a judge must be reachable", got=self._shown(error), at=self.identity) from None
        except httpx2.RequestError as error:
            raise JudgeError("a judge must send what can be read", got=self._shown(error), at=self.identity) from None
        if response.status_code != 200:
            raise self._failure(response, data)
        return self._reply(request.model, data)

    async def close(self) -> None:
        """Close connections."""
        if self._client is not None:
            await self._client.aclose()

    def _shown(self, what: object) -> str:
        """Return one line for people; a server may send back the key it was sent."""
        text = " ".join(str(what).split()) or type(what).__name__
        return (text.replace(self._key, "***") if self._key else text)[:_MAX_SHOWN]

    async def _read(self, response: Any) -> bytes:
        """Return the body; of one that is too long to be a completion no more than that."""
        data = bytearray()
        async for part in response.aiter_bytes():
            data += part
            if len(data) > _MAX_BYTES:
                if response.status_code == 200:
                    got = f"more than {_MAX_BYTES >> 20} MiB"
                    raise JudgeError("a judge must reply with a chat completion", got=got, at=self.identity)
                break
        return bytes(data[:_MAX_BYTES])

    def _failure(self, response: Any, data: bytes) -> JudgeError:
        status = response.status_code
        got = f"HTTP {status} {self._shown(data.decode(errors='replace') or 'without a word')}"
        if status in _PASSING or status >= 500:
            after_s = _retry_after_s(response.headers.get("retry-after"))
            return JudgeOutage("a judge must be ready", retry_after_s=after_s, got=got, at=self.identity)
        return JudgeRefused("a judge must take a request", got=got, at=self.identity)

    def _reply(self, model: str, data: bytes) -> JudgeReply:
        try:
            completion = msgspec.json.decode(data, type=_Completion)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise JudgeError("a judge must reply with a chat completion", got=str(error), at=self.identity) from None
        text = completion.choices[0].message.content if completion.choices else None
        if not text:
            raise JudgeError("a judge must reply with text", got="none", at=self.identity)
        usage = completion.usage or _Usage()
        read, written = max(0, usage.prompt_tokens or 0), max(0, usage.completion_tokens or 0)
        price = self._prices.get(model) or self._prices.get("*") or (0.0, 0.0)
        if self._key:
            # What a judge writes is kept; a server may write the key it was sent.
            text = text.replace(self._key, "***")
        return JudgeReply(text, read, written, (read * price[0] + written * price[1]) / 1e6)


def _key(env: str) -> str:
    """Return the key in a variable, without the newline of the file it came from."""
    key = os.environ.get(env, "").strip()
    # What a header cannot carry would be named in full by the error that says so.
    if not key or not key.isascii() or not key.isprintable():
        got = f"no {env}" if not key else f"a character in {env} that no header can carry"
        todo = f"Run: export {env}=..."
        raise ConfigError("a judge's key must be in the environment", got=got, at="judge.api_key_env", todo=todo)
    return key


def _address(base_url: str | None) -> str:
    try:
        parts = urlsplit(base_url or "")
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_address = urlsplit(""), False
    if not is_address:
        raise ConfigError(
            "a judge must have an address such as http://localhost:8000/v1", got=base_url, at="judge.base_url"
        )
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            "a judge's address must hold no secret",
            got="a user name, password or query",
            at="judge.base_url",
            todo="Put the key into an environment variable and name it in judge.api_key_env",
        )
    return (base_url or "").rstrip("/")


def _prices(given: Sequence[str]) -> dict[str, tuple[float, float]]:
    prices = {}
    for text in given:
        try:
            model, read, written = str(text).split()
            prices[model] = (float(read), float(written))
            is_price = all(0.0 <= price < math.inf for price in prices[model])
        except ValueError:
            is_price = False
        if not is_price:
            raise ConfigError(
                "a price must be `MODEL INPUT OUTPUT` in USD per million tokens",
                got=repr(text),
                at="judge.prices",
                todo='Such as judge.prices=["large@1 0.15 0.6"]',
            )
    return prices


def _retry_after_s(text: str | None) -> float | None:
    """Read seconds or a date. Source: RFC 9110, section 10.2.3."""
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
