r"""Parsers that cut the answer out of the text.

Where a text holds several answers the last one counts: a policy that reasons first states its answer at the end.
"""

import re
from collections import deque

from assay.core.leaf import parser

_FENCE = re.compile(r"(?m)^[ ]{0,3}(`{3,})[ \t]*([^\s`]*)[^\n`]*\n")
_NUMBER = re.compile(
    r"[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.)\]])\.\d+)(?:[eE][-+]?\d+)?", re.ASCII
)


@parser("boxed", version=1)
def boxed(text: str) -> str | None:
    r"""The content of the last `\boxed{...}` whose braces are balanced."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    begin, depth = start + len("\\boxed{"), 1
    index = begin
    while index < len(text):
        char = text[index]
        if char == "\\":  # an escaped brace is text
            index += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return text[begin:index].strip()
        index += 1
    return None


@parser("after", version=1)
def after(text: str, marker: str) -> str | None:
    """What follows the last `marker` up to the end of its line, such as `after("####")`."""
    if not marker:
        raise ValueError("after(marker) needs a marker that is not empty")
    _, found, rest = text.rpartition(marker)
    answer = rest.partition("\n")[0].strip()
    return answer if found and answer else None


@parser("tag", version=1)
def tag(text: str, name: str = "answer") -> str | None:
    """The content of the last `<name>...</name>`."""
    end = text.rfind(f"</{name}>")
    start = text.rfind(f"<{name}>", 0, max(end, 0))
    return text[start + len(name) + 2 : end].strip() if start >= 0 else None


@parser("fenced", version=1)
def fenced(text: str, language: str = "") -> str | None:
    """The last closed code block in triple backticks; with `language`, the last one so marked."""
    answer, position = None, 0
    while opening := _FENCE.search(text, position):
        closing = re.compile(rf"(?m)^[ ]{{0,3}}`{{{len(opening[1])},}}[ \t]*$").search(text, opening.end())
        if closing is None:
            break
        if not language or opening[2].lower() == language.lower():
            answer = text[opening.end() : closing.start()]
        position = closing.end()
    return answer


@parser("last_number", version=1)
def last_number(text: str) -> str | None:
    """The last number, written plainly: `1,234.5` becomes `1234.5`."""
    found = deque(_NUMBER.finditer(text), maxlen=1)
    if not found:
        return None
    last = found[0]
    # In `3-4` the sign is an operator, not part of the number.
    sign = "-" if last[0][0] in "-\u2212" and not _ends_word(text, last.start()) else ""
    return sign + last[0].lstrip("-+\u2212").replace(",", "")


def _ends_word(text: str, index: int) -> bool:
    return index > 0 and (text[index - 1].isalnum() or text[index - 1] in "_)]")
