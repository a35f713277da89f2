"""What YAML misreads inside an expression (YM004), and where an expression that it misread really ends.

An expression is written as a plain scalar. YAML ends a plain scalar at ` #`, at `: ` and, inside `{...}` and `[...]`,
at a comma or bracket, and it gives `* & ! % @ > | -` and the backtick a meaning of their own at the start. Only places
that hold expressions and calls are judged here; elsewhere the same text is just YAML, right or wrong.
"""

import re

import msgspec

HEAD = re.compile(
    r"( *)((?:- +)*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s#:{}\[\],\"'&*!|>%@`-][^:#\n]*?|-[^\s:#\n][^:#\n]*?) *:(?=\s|$)"
)
ITEM = re.compile(r"( *)((?:- +)+)")
LAST_KEY = re.compile(r"[{,]\s*[\"']?([\w.-]+)[\"']?\s*:\s*$")
LONE_KEY = re.compile(r"\s*(?:- +)*[\w.-]+\s*")
LINE_END = re.compile(r"[\n\r]")
COMMENT = re.compile(r"[ \t]+#")
INDICATORS = "*&!%@`"
# Types of fields break at the comma of `float[0,2]` just as calls do.
PLACES = frozenset({"fields", "verify", "reward", "data", "answer", "sampler", "admit", "require"})
INNER_PLACES = frozenset({("mix", "unlock"), ("mix", "sampler"), ("stages", "until"), ("calibration", "data")})
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Damage(msgspec.Struct, frozen=True):
    """An expression that YAML misread.

    Attributes:
        start: Offset of its first code point.
        end: Exclusive.
        at: Offset of the code point at which YAML went wrong; the caret.
        message: What must hold.
        hint: The way out.
        is_silent: Whether it only needs repair, because its fault is found later by reading the expression.
    """

    start: int
    end: int
    at: int
    message: str
    hint: str
    is_silent: bool = False


def is_expression_place(path: tuple[str, ...]) -> bool:
    """Return whether what stands at a path of keys is read as an expression or a call (or holds such)."""
    if not path:
        return False
    if path[0] in PLACES:
        return True
    return len(path) >= 3 and (path[0], path[2]) in INNER_PLACES


class _State:
    """Open brackets and quotes while reading an expression from left to right."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.quote = ""

    def take(self, text: str, at: int) -> bool:
        """Read one code point; False where a bracket closes what is not open."""
        char = text[at]
        if self.quote:
            if char == self.quote and not _is_escaped(text, at):
                self.quote = ""
        elif char in "\"'" and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            self.quote = char
        elif char in CLOSING:
            self.open.append(CLOSING[char])
        elif char in ")]}" and (not self.open or self.open.pop() != char):
            return False
        return True

    @property
    def is_open(self) -> bool:
        return bool(self.quote or self.open)


def _is_escaped(text: str, at: int) -> bool:
    count = 0
    while at - count > 0 and text[at - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def is_unfinished(text: str) -> bool:
    """Return whether a text ends inside a bracket or a quote."""
    state = _State()
    for at in range(len(text)):
        if not state.take(text, at):
            return False
    return state.is_open


def flow_end(text: str, start: int, limit: int = 4096) -> tuple[int, bool] | None:
    """Return where an expression inside `{...}` or `[...]` ends, and whether all its brackets are closed there.

    Returns:
        End offset and closedness, or None where the text or the limit ends first.
    """
    state = _State()
    for at in range(start, min(len(text), start + limit)):
        if not state.is_open and (text[at] in ",}]\n\r"):
            return (_trim(text, start, at), True) if text[at] in ",}]" else None
        if not state.take(text, at):
            return _trim(text, start, at), False
    return None


def _trim(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def cut_by_comma(text: str, start: int, end: int, is_data: bool) -> Damage | None:
    """Judge a plain scalar inside a flow collection that ended inside a bracket or quote.

    Args:
        text: The whole text.
        start: Offset of the scalar.
        end: Offset at which YAML ended it.
        is_data: Whether it may be prose, in a row of a task, where brackets need not match.
    """
    follow = end + len(text[end : end + 4096]) - len(text[end : end + 4096].lstrip(" \t"))
    is_comment = follow > end and text[follow : follow + 1] == "#"
    if not is_comment and text[follow : follow + 1] != ",":
        return None
    found = flow_end(text, start)
    if found is None:
        return None
    stop, is_closed = found
    if stop <= end or (not is_closed and is_data) or re.search(r":(?=\s)", text[end:stop]):
        return None
    what = "# comment" if is_comment else "comma"
    return _damage(text, start, stop, follow, f"inside {{ }} and [ ] YAML ends it at the {what}", not is_closed)


def cut_by_comment(text: str, start: int, end: int) -> Damage | None:
    """Judge a plain scalar outside flow collections that ended inside a bracket or quote."""
    match = COMMENT.match(text, end)
    if match is None:
        return None
    stop = _value_end(text, start, _line_end(text, end))
    return _damage(text, start, stop, match.end() - 1, "YAML ends it at ' #', as a comment")


def at_indicator(text: str, start: int, is_flow: bool) -> Damage | None:
    """Judge an expression whose first code point means something to YAML."""
    if is_flow:
        found = flow_end(text, start)
        stop = None if found is None else found[0]
    else:
        stop = _value_end(text, start, _line_end(text, start))
    if stop is None or stop <= start:
        return None
    return _damage(text, start, stop, start, f"YAML gives a leading {text[start]!r} a meaning of its own")


def in_flow(text: str, offset: int, scalars: list[tuple[int, int]]) -> Damage | None:
    """Find the expression at which YAML lost its way inside a flow collection.

    Args:
        text: The whole text.
        offset: Where the parser gave up.
        scalars: Start and end of the values read so far in the open flow collections, in order.
    """
    for start, end in reversed(scalars[-64:]):
        found = flow_end(text, start)
        if found is None:
            continue
        stop, is_closed = found
        if is_closed and stop > offset:
            at = (
                offset
                if text[end:offset].strip() == ""
                else end + len(text[end:offset]) - len(text[end:offset].lstrip())
            )
            return _damage(text, start, stop, at, f"inside {{ }} and [ ] YAML ends it at {text[at]!r}")
    return None


def in_block(text: str, offset: int, context: int) -> Damage | None:
    """Find the expression at which YAML lost its way in an ordinary line.

    Args:
        text: The whole text.
        offset: Where the parser gave up.
        context: Where the token it was reading began.
    """
    start = _value_start(text, min(offset, context) if _same_line(text, offset, context) else offset)
    if start is None or start > offset:
        return None
    end = _value_end(text, start, _line_end(text, max(start, min(offset, len(text) - 1))))
    first = text[start]
    if first in INDICATORS or (first in "|>" and _same_line(text, start, offset)) or text[start : start + 2] == "- ":
        return _damage(text, start, end, start, f"YAML gives a leading {first!r} a meaning of its own")
    if first in "\"'":
        return _after_quote(text, start, end, offset)
    match = COMMENT.search(text, start, _line_end(text, start))
    if match is not None and match.end() <= offset and is_unfinished(text[start : match.start()]):
        return _damage(text, start, end, match.end() - 1, "YAML ends it at ' #', as a comment")
    if text[offset : offset + 1] == ":" and first not in "{[":
        line = text[_line_start(text, offset) : offset]
        if _same_line(text, start, offset) or not LONE_KEY.fullmatch(line):
            return _damage(text, start, end, offset, "YAML reads ': ' as the end of a key")
    return None


def _after_quote(text: str, start: int, end: int, offset: int) -> Damage | None:
    quote = text[start]
    close = text.find(quote, start + 1, end)
    rest = text[close + 1 : end].strip() if close > 0 else ""
    if not rest or rest.startswith("#") or not _same_line(text, start, offset):
        return None
    at = end - len(text[close + 1 : end].lstrip())
    return _damage(text, start, end, at, "YAML ends it at the closing quote")


def keys_at(text: str, offset: int) -> tuple[str, ...]:
    """Return the keys above an offset, read from the indentation alone; for texts that do not parse."""
    start = _line_start(text, min(offset, max(0, len(text) - 1)))
    keys: list[str] = []
    inline = LAST_KEY.search(text, start, offset)
    if inline is not None:
        keys.append(inline[1])
    head = HEAD.match(text, start)
    indent = len(text[start:offset]) - len(text[start:offset].lstrip(" "))
    if head is not None and head.end() <= offset:
        keys.append(head[3].strip("\"'"))
        indent = len(head[1]) + len(head[2])
    else:
        indent += 1
    while indent > 0 and start > 0:
        start = _line_start(text, start - 1)
        head = HEAD.match(text, start)
        if head is not None and len(head[1]) + len(head[2]) < indent:
            indent = len(head[1]) + len(head[2])
            keys.append(head[3].strip("\"'"))
    return tuple(reversed(keys))


def _value_start(text: str, offset: int) -> int | None:
    """Return where the value around an offset begins: on its line, or on an earlier one that it continues."""
    line = _line_start(text, offset)
    limit = len(text) + 1
    while True:
        head = HEAD.match(text, line)
        item = ITEM.match(text, line)
        after = head.end() if head is not None else item.end() if item is not None else None
        if after is not None:
            indent = len(head[1]) + len(head[2]) if head is not None else len(item[1] if item is not None else "")
            start = after + len(text[after:]) - len(text[after:].lstrip(" \t")) if after < len(text) else after
            if indent < limit and start < min(_line_end(text, line), offset + 1):
                return start
            if indent < limit and limit <= len(text):
                return None
        if limit > len(text):
            limit = _indent(text, line)
        if line == 0:
            return None
        line = _line_start(text, line - 1)


def _value_end(text: str, start: int, end: int) -> int:
    """Return where a value really ends: at a comment that does not cut it, or after the lines it still needs."""
    for match in COMMENT.finditer(text, start, end):
        if not is_unfinished(text[start : match.start()]):
            return match.start()
    indent = _indent(text, _line_start(text, start))
    while end < len(text) and is_unfinished(text[start:end]) and end - start < 4096:
        line = end + 1 + (text[end : end + 2] == "\r\n")
        if line >= len(text) or _indent(text, line) <= indent or HEAD.match(text, line):
            break
        end = _line_end(text, line)
    return _trim(text, start, end)


def _indent(text: str, line: int) -> int:
    at = line
    while at < len(text) and text[at] == " ":
        at += 1
    return at - line


def _line_start(text: str, offset: int) -> int:
    feed = text.rfind("\n", 0, offset)
    # Looked for behind the last \n only: a search to the start of the file for each question would be quadratic.
    return max(feed, text.rfind("\r", feed + 1, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    match = LINE_END.search(text, offset)
    return len(text) if match is None else match.start()


def _same_line(text: str, first: int, second: int) -> bool:
    first, second = min(first, second), max(first, second)
    return "\n" not in text[first:second] and "\r" not in text[first:second]


def _damage(text: str, start: int, end: int, at: int, message: str, is_silent: bool = False) -> Damage:
    written = " ".join(text[start:end].split())
    if len(written) > 60:
        hint = "quote it"
    elif '"' not in written and "\\" not in written:
        hint = f'quote it: "{written}"'
    else:
        hint = "quote it: '" + written.replace("'", "''") + "'"
    return Damage(start, end, at, message, hint, is_silent)
