"""What a request must be before the engine takes it."""

import math

import numpy as np
from numpy.typing import NDArray

from assay.core.array import Array
from assay.core.engine import GenerateRequest
from assay.core.error import EngineError


def check_request(request: GenerateRequest, vocab_size: int, max_context: int) -> NDArray[np.int32]:
    """Return the prompt of a request that can run; int32, shape (P,).

    Raises:
        EngineError: the prompt is empty, holds unknown tokens or leaves no room, or the sampling cannot be meant.
    """
    at = f"request {request.request_id}"
    prompt_P = _check_tokens(request.prompt_ids, vocab_size, at)
    if len(prompt_P) >= max_context:
        raise EngineError(f"a prompt must leave room for one more token of {max_context}", got=len(prompt_P), at=at)
    sampling = request.sampling
    if sampling.max_tokens < 1:
        raise EngineError("max_tokens must be at least 1", got=sampling.max_tokens, at=at)
    if not (sampling.temperature >= 0 and math.isfinite(sampling.temperature)):
        raise EngineError("temperature must be finite and at least 0", got=sampling.temperature, at=at)
    if not 0 < sampling.top_p <= 1:
        raise EngineError("top_p must be in (0, 1]", got=sampling.top_p, at=at)
    return prompt_P


def check_sequence(sequence: Array, vocab_size: int, max_context: int) -> NDArray[np.int32]:
    """Return the tokens of a sequence to score; int32, shape (T,).

    Raises:
        EngineError: it is empty, too long or holds unknown tokens.
    """
    tokens_T = _check_tokens(sequence, vocab_size, "logprobs")
    if len(tokens_T) > max_context:
        raise EngineError(f"a sequence must have at most {max_context} tokens", got=len(tokens_T), at="logprobs")
    return tokens_T


def _check_tokens(tokens: Array, vocab_size: int, at: str) -> NDArray[np.int32]:
    if tokens.dtype != "int32" or len(tokens.shape) != 1 or len(tokens.data) != 4 * tokens.shape[0]:
        raise EngineError("tokens must be int32 of one axis", got=f"{tokens.dtype}{list(tokens.shape)}", at=at)
    if not tokens.shape[0]:
        raise EngineError("a prompt must have at least one token", at=at)
    values = np.frombuffer(tokens.data, np.int32)
    # A negative token is a large one without its sign.
    if values.view(np.uint32).max() >= vocab_size:
        unknown = values[(values < 0) | (values >= vocab_size)][0]
        raise EngineError(f"tokens must be below {vocab_size}", got=int(unknown), at=at)
    return values
