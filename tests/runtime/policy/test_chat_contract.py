"""The built-in formats keep the contract of chat formats."""

import pytest

from assay.runtime.policy import CHAT_FORMATS
from assay.runtime.testing.chat_format import ChatFormatContract

PLAIN, TEMPLATE = CHAT_FORMATS

TestPlain = ChatFormatContract.of(PLAIN)


@pytest.mark.slow  # transformers is imported
class TestTemplate(ChatFormatContract):
    """A template is one text: a mark that a task spells is a mark."""

    chat_format = TEMPLATE
    marks_are_text = False
