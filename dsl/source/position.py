"""Where each code point of a scalar stands in its file.

A scalar's text is made of runs: stretches that stand in the file as they are read (exact), and code points that come
from an escape (`\\n`, `\\x41`, `''`), which stand at the scalar's start. The runs are found only when a position is
asked for, and are checked against the text; where they do not spell it, every position is the scalar's start.

Lines end at `\\r\\n`, `\\n` or `\\r`. The further line breaks of YAML 1.1 (NEL, LS, PS) are folded as YAML folds them,
but start no line: editors do not count them.
"""

import re
from bisect import bisect_right

LINE_END = re.compile(r"\r\n|\n|\r")
BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.S)
BLANK = " \t"


class SourceText:
    """One text and its lines.

    Attributes:
        path: As the user gave it.
        text: All of it, without a byte order mark.
    """

    __slots__ = ("_lines", "_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None
        # Every span holds its line: many on one long line must share it.
        self._lines: dict[int, str] = {}

    @property
    def starts(self) -> list[int]:
        """Offset of each line's first code point."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in LINE_END.finditer(self.text))]
        return self._starts

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1, in code points."""
        index = bisect_right(self.starts, offset) - 1
        return index + 1, offset - self.starts[index] + 1

    def line_end(self, offset: int) -> int:
        """Return the offset at which the line around an offset ends, its line break left out."""
        index = bisect_right(self.starts, offset)
        end = self.starts[index] if index < len(self.starts) else len(self.text)
        while end > offset and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    def line(self, offset: int) -> str:
        """Return the line around an offset without its line break."""
        index = bisect_right(self.starts, offset) - 1
        line = self._lines.get(index)
        if line is None:
            start = self.starts[index]
            line = self._lines[index] = self.text[start : max(start, self.line_end(start))]
        return line


class Origin:
    """Where a scalar's text comes from.

    Attributes:
        source: The text it stands in.
        start: Offset of its content; quotes and block headers belong to it, anchors and tags do not.
        end: Exclusive.
        style: plain, single, double, literal or folded; raw where the text stands as it is.
    """

    __slots__ = ("_runs", "_value", "end", "source", "start", "style")

    def __init__(self, source: SourceText, start: int, end: int, style: str, value: str) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.style = style
        self._value = value
        self._runs: tuple[list[int], list[int]] | None = None

    @property
    def runs(self) -> tuple[list[int], list[int]]:
        """First index and file offset of each run; the offset is -1 for code points that have no place of their own."""
        if self._runs is None:
            pieces = pieces_of(self.source.text[self.start : self.end], self.style, self._value)
            self._runs = _runs(pieces, self._value, self.start)
        return self._runs

    def offset(self, index: int) -> int:
        """Return the file offset of a code point of the text, -1 where it comes from an escape."""
        starts, offsets = self.runs
        run = bisect_right(starts, index) - 1
        return -1 if offsets[run] < 0 else offsets[run] + index - starts[run]


# A stretch of a scalar: offset inside the raw slice, and its text; None stands for one code point from an escape.
Piece = tuple[int, str | None]


def pieces_of(raw: str, style: str, value: str = "") -> list[Piece]:
    """Return the stretches a scalar's text is made of, in order.

    Args:
        raw: The scalar as written, quotes or block header included.
        style: plain, single, double, literal, folded or raw.
        value: What it reads as; tells the indentation of a block that gives it as a digit.
    """
    if style == "raw":
        return [(0, raw)]
    if style in ("literal", "folded"):
        return _block_pieces(raw, style == "folded", value)
    if style == "plain":
        return _flow_pieces(raw, 0, len(raw), style)
    return _flow_pieces(raw, 1, len(raw) - 1, style)


def folded(raw: str) -> str:
    """Return the text of a plain scalar from its raw form."""
    return "".join(text or "" for _, text in pieces_of(raw, "plain"))


def _runs(pieces: list[Piece], value: str, start: int) -> tuple[list[int], list[int]]:
    """Return runs from pieces, or one run without places where the pieces do not spell the value."""
    starts, offsets, index = [0], [-1], 0
    for offset, text in pieces:
        if not text and text is not None:
            continue
        length = 1 if text is None else len(text)
        if index + length > len(value) or (text is not None and not _spells(value, index, text)):
            return [0], [-1]
        starts.append(index)
        offsets.append(-1 if text is None else start + offset)
        index += length
    return (starts, offsets) if index == len(value) else ([0], [-1])


def _spells(value: str, index: int, text: str) -> bool:
    return value.startswith(text, index)


def _lines(raw: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Return start, end and line break of each line of a slice; the last one's break is empty."""
    lines, at = [], start
    for match in BREAK.finditer(raw, start, end):
        # YAML reads every line break as \n, save the two separators of Unicode.
        lines.append((at, match.start(), match[0] if match[0] in "\u2028\u2029" else "\n"))
        at = match.end()
    lines.append((at, end, ""))
    return lines


def _flow_pieces(raw: str, start: int, end: int, style: str) -> list[Piece]:
    """Return the pieces of a plain or quoted scalar: line breaks are folded, quoted text is unescaped."""
    pieces: list[Piece] = []
    pending: list[tuple[int, str]] = []
    is_joined = False
    lines = _lines(raw, start, end)
    for number, (left, right, line_break) in enumerate(lines):
        is_last = number == len(lines) - 1
        broken_at = right
        if number:
            while left < right and raw[left] in BLANK:
                left += 1
        is_escaped = style == "double" and not is_last and _ends_escaped(raw, left, right)
        if (not is_last or style == "plain") and not is_escaped:
            while right > left and raw[right - 1] in BLANK:
                right -= 1
        if number and (left < right or is_last):
            pieces += _fold(pending, is_joined)
            pending = []
        if left < right:
            is_joined = is_escaped
            _content(pieces, raw, left, right - 1 if is_escaped else right, style)
        if not is_last and not (is_escaped and left < right):
            pending.append((broken_at, line_break))
    return pieces


def _fold(pending: list[tuple[int, str]], is_joined: bool) -> list[Piece]:
    """Return what a group of line breaks is read as: one is a space, of more the first is dropped."""
    if not pending or is_joined:
        return list(pending)
    offset, first = pending[0]
    if first != "\n":
        return list(pending)
    return list(pending[1:]) or [(offset, " ")]


def _ends_escaped(raw: str, left: int, right: int) -> bool:
    count = 0
    while right - count > left and raw[right - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def _content(pieces: list[Piece], raw: str, left: int, right: int, style: str) -> None:
    """Append one line's pieces."""
    if style == "plain":
        pieces.append((left, raw[left:right]))
        return
    at = left
    while at < right:
        found = raw.find("''" if style == "single" else "\\", at, right)
        if found < 0:
            break
        pieces.append((at, raw[at:found]))
        pieces.append((found, None))
        match = ESCAPE.match(raw, found) if style == "double" else None
        at = found + 2 if match is None else match.end()
    pieces.append((at, raw[at:right]))


def _block_pieces(raw: str, is_folded: bool, value: str) -> list[Piece]:
    """Return the pieces of a literal or folded block; the text's end decides how many breaks are kept."""
    header = BREAK.search(raw)
    if header is None:
        return []
    lines = _lines(raw, header.end(), len(raw))
    indent = _block_indent(raw, lines)
    if re.match(r"[|>][-+]?[1-9]", raw):
        inner = value.lstrip("\n")
        indent = max(0, indent - len(inner) + len(inner.lstrip(" ")))
    pieces: list[Piece] = []
    pending: list[tuple[int, str]] = []
    last = ""
    for left, right, line_break in lines:
        content = left + indent
        if content >= right:
            pending.append((right, line_break))
            continue
        is_prose = raw[content] not in BLANK
        if is_folded and last and pending and pending[0][1] == "\n" and last not in BLANK and is_prose:
            pieces += _fold(pending, False)
        else:
            pieces += pending
        last = raw[content]
        pieces.append((content, raw[content:right]))
        pending = [(right, line_break)]
    return _chomp(pieces, [item for item in pending if item[1]], raw[: header.start()])


def _block_indent(raw: str, lines: list[tuple[int, int, str]]) -> int:
    for left, right, _ in lines:
        width = len(raw[left:right]) - len(raw[left:right].lstrip(" "))
        if left + width < right:
            return width
    return 0


def _chomp(pieces: list[Piece], tail: list[tuple[int, str]], header: str) -> list[Piece]:
    signs = header.split("#", maxsplit=1)[0]
    if "-" in signs:
        return pieces
    return pieces + (tail if "+" in signs else tail[:1] if pieces else [])
