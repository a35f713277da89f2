"""The judge behind a chat completion keeps the contract that every package's judges must keep."""

import json

from assay.core.registry import installed
from assay.testing import JudgeContract

REPLY = {
    "choices": [{"message": {"role": "assistant", "content": "All is well."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}

TestOpenAI = JudgeContract.of(installed().find("judge", "openai").value, reply=json.dumps(REPLY), path="/v1")
