"""The parser of record: bytes of a file to a marked tree and findings.

YAML's events give structure and marks; nothing is constructed or resolved, and nothing recurses. What YAML misread in
an expression (YM004) is repaired and parsed again, so that one pass over a file reports everything; what is not YAML at
all (YM005) is blanked out for the same reason, with the whole block of its top-level key. Then there is no tree, only
the rest of one: enough to look for more findings, and for nothing else.
"""

import re
from bisect import bisect_left

import msgspec
import yaml

from assay.dsl.source import misread
from assay.dsl.source.builder import MAX_DAMAGES, Builder, Refusal, Unclosed
from assay.dsl.source.diagnostic import Finding, finding, sort_findings
from assay.dsl.source.mark import Mapping, Node, Scalar, Span, span_at
from assay.dsl.source.misread import Damage
from assay.dsl.source.position import SourceText

MAX_BYTES = 1 << 20
# Code points parsed for one file, all rounds together, and the bounds of the number of rounds.
MAX_WORK = 1 << 22
ROUNDS = (6, 64)
# What YAML takes as printable, without a byte order mark inside the text.
FORBIDDEN = re.compile(
    r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)
BIDIRECTIONAL = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
WORD = re.compile(r"\S")
# What may have been meant as a key, on any line.
FIRST_WORD = re.compile(r"^[ \t]*[\"']?([A-Za-z_][\w.-]*)", re.M)


class Loaded(msgspec.Struct, frozen=True):
    """What was read.

    Attributes:
        tree: The file's mapping; None where no whole one could be read.
        findings: Everything wrong with the text as a text, in order.
        source: The text with its lines; None where it could not be decoded.
        rest: What could be read where there is no tree.
        lost: Keys in the blocks that could not be read; `?` among them where a block has none.
    """

    tree: Mapping | None
    findings: tuple[Finding, ...]
    source: SourceText | None = None
    rest: Mapping | None = None
    lost: frozenset[str] = frozenset()


def load(data: bytes, path: str) -> Loaded:
    """Read one file.

    Args:
        data: The file's bytes; more than 1 MiB are refused unread.
        path: As the user gave it; what findings show.
    """
    if len(data) > MAX_BYTES:
        message = f"a file must have at most {MAX_BYTES} bytes, got {len(data)}"
        return Loaded(None, (finding("YM005", Span(path, 1, 1, 1), message, "keep rows in a file of their own"),))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Loaded(None, (_not_utf8(data, path, error),))
    source = SourceText(path, text)
    if (found := check_characters(source)) is not None:
        return Loaded(None, (found,), source)
    return Reading(source).read()


def load_value(source: SourceText, start: int, base: tuple[str, ...]) -> tuple[Node | None, tuple[Finding, ...]]:
    """Read what follows an offset as one YAML value; for overrides.

    Args:
        source: The override; its characters are checked.
        start: Offset of the value.
        base: Keys above the value.
    """
    reading = Reading(source, start, base)
    loaded = reading.read()
    return reading.root, loaded.findings


def check_characters(source: SourceText) -> Finding | None:
    """Return a finding for the first control character; YAML's own line breaks and tabs are none."""
    match = FORBIDDEN.search(source.text)
    if match is None:
        return None
    char = match[0]
    kind = "bidirectional control" if BIDIRECTIONAL.match(char) else "control"
    message = f"a text must hold no control characters, got the {kind} U+{ord(char):04X}"
    hint = f'write "\\u{ord(char):04x}" in double quotes if it is meant' if ord(char) else "remove it"
    return finding("YM005", span_at(source, match.start(), match.end()), message, hint)


def _not_utf8(data: bytes, path: str, error: UnicodeDecodeError) -> Finding:
    before = data[: error.start].decode("utf-8-sig", "replace")
    line, column = SourceText(path, before).place(len(before))
    message = f"a file must be UTF-8, got byte 0x{data[error.start]:02x}"
    return finding("YM005", Span(path, line, column, column + 1), message, "save it as UTF-8")


class Reading:
    """One file while it is read.

    Attributes:
        text: What is parsed: the source with misread expressions masked by words of the same length.
        repairs: The misread expressions by their start.
        findings: What was found outside the last pass.
    """

    def __init__(self, source: SourceText, start: int = 0, base: tuple[str, ...] = ()) -> None:
        self.source = source
        self.base = base
        self.root: Node | None = None
        self.text = " " * start + source.text[start:]
        self.repairs: dict[int, Damage] = {}
        self.masked: list[int] = []
        self.findings: list[Finding] = []
        self.is_broken = False
        self.last_fault = -1
        self.lost: set[str] = set()

    def read(self) -> Loaded:
        """Parse, repair and parse again until nothing new is found."""
        builder = Builder(self.source, self.repairs, self.base)
        for _ in range(min(max(MAX_WORK // (len(self.text) + 1), ROUNDS[0]), ROUNDS[1])):
            builder = Builder(self.source, self.repairs, self.base)
            try:
                builder.build(self.text)
                damages = builder.damages
            except Refusal as refusal:
                return self._end(builder, None, [refusal.found])
            except Unclosed as unclosed:
                if not self._fault(unclosed.offset, str(unclosed), ""):
                    return self._end(builder, None)
                continue
            except yaml.MarkedYAMLError as error:
                if self._repair(builder.damages):
                    continue
                damage = self._diagnose(builder, error)
                if damage is None:
                    if not self._syntax(error):
                        return self._end(builder, None)
                    continue
                damages = [damage]
            except yaml.YAMLError as error:
                return self._end(builder, None, [self._finding(0, f"a file must be YAML: {error}")])
            if not self._repair(damages):
                break
        else:
            return self._end(builder, None)
        if self.is_broken:
            return self._rest(self._end(builder, None), builder)
        tabs = self._tab(builder)
        if tabs is not None:
            return self._rest(self._end(builder, None, [tabs]), builder)
        return self._root(builder)

    def _end(self, builder: Builder, tree: Mapping | None, more: list[Finding] | None = None) -> Loaded:
        found = sort_findings([*self.findings, *builder.findings, *(more or [])])
        return Loaded(tree, tuple(found), self.source)

    def _rest(self, loaded: Loaded, builder: Builder) -> Loaded:
        if self.base or not isinstance(builder.root, Mapping):
            return loaded
        return msgspec.structs.replace(loaded, rest=builder.root, lost=frozenset(self.lost))

    def _root(self, builder: Builder) -> Loaded:
        root = self.root = builder.root
        if self.base and root is not None:
            return self._end(builder, None)
        if isinstance(root, Mapping):
            return self._end(builder, root)
        if root is None or (isinstance(root, Scalar) and root.is_null):
            return self._end(builder, None, [self._finding(0, "a file must hold a mapping, got an empty document")])
        what = "a text" if isinstance(root, Scalar) else "a list"
        span = root.span
        return self._end(builder, None, [finding("YM005", span, f"a file must hold a mapping of keys, got {what}")])

    def _finding(self, offset: int, message: str, hint: str = "") -> Finding:
        return finding("YM005", span_at(self.source, offset, offset + 1), message, hint)

    def _repair(self, damages: list[Damage]) -> bool:
        """Mask misread expressions; False where there is none that was not masked before."""
        new: list[Damage] = []
        for damage in sorted(damages, key=lambda item: item.start):
            at = bisect_left(self.masked, damage.start)
            before = self.repairs[self.masked[at - 1]].end if at else 0
            after = self.masked[at] if at < len(self.masked) else len(self.text)
            if before > damage.start or after < damage.end or len(self.masked) >= MAX_DAMAGES:
                continue
            self.masked.insert(at, damage.start)
            self.repairs[damage.start] = damage
            new.append(damage)
            if not damage.is_silent:
                span = span_at(self.source, damage.at, damage.at + 1)
                message = f"an expression must be quoted here: {damage.message}"
                found = finding("YM004", span, message, damage.hint)
                extent = (self.source.place(damage.start), self.source.place(damage.end))
                self.findings.append(msgspec.structs.replace(found, extent=extent))
        self._mask([(damage.start, damage.end) for damage in new], "x")
        return bool(new)

    def _mask(self, stretches: list[tuple[int, int]], letter: str) -> None:
        """Replace every code point but white space in stretches, which are in order."""
        pieces, at = [], 0
        for start, end in stretches:
            pieces += [self.text[at:start], WORD.sub(letter, self.text[start:end]).replace("\t", " ")]
            at = end
        self.text = "".join([*pieces, self.text[at:]])

    def _diagnose(self, builder: Builder, error: yaml.MarkedYAMLError) -> Damage | None:
        """Return the expression in which YAML lost its way, None where it did so elsewhere."""
        offset = error.problem_mark.index if error.problem_mark is not None else 0
        token = offset
        if error.context_mark is not None and (error.context or "").startswith("while scanning"):
            token = error.context_mark.index
        in_flow = builder.is_in_flow
        is_meant = misread.is_expression_place((*self.base, *misread.keys_at(self.text, min(token, offset)))) or (
            in_flow and misread.is_expression_place(builder.path)
        )
        if not is_meant or offset >= len(self.text.rstrip()):
            return None
        if in_flow:
            if self.text[token] in misread.INDICATORS + ">|":
                return misread.at_indicator(self.source.text, token, True)
            return misread.in_flow(self.text, offset, builder.values)
        return misread.in_block(self.text, offset, token)

    def _syntax(self, error: yaml.MarkedYAMLError) -> bool:
        """Report what is no YAML; returns whether reading on may find more."""
        offset = error.problem_mark.index if error.problem_mark is not None else 0
        offset = min(offset, len(self.text))
        line = self.text.rfind("\n", 0, offset) + 1
        tab = self.text.find("\t", line, offset + 1)
        if tab >= 0 and not self.text[line:tab].strip(" \t"):
            return self._fault(tab, "a file must be indented with spaces, got a tab", "replace the tab by spaces")
        context = error.context or ""
        mark = error.context_mark
        if mark is not None and ("flow" in context or "quoted" in context):
            between = self.text[mark.index : offset + 1]
            if offset >= len(self.text.rstrip()) or re.search(r"[\n\r][^\s\]}]", between):
                what = "quote" if "quoted" in context else "bracket"
                return self._fault(mark.index, f"a {what} must be closed, got the end of its block")
        if mark is not None and "while scanning" in context:
            # The token that could not be read begins there; the line after it is innocent.
            offset = mark.index
        problem = error.problem or "it cannot be read"
        char = self.text[offset : offset + 1]
        if char == "%" and self.source.place(offset)[1] == 1:
            message, hint = "a file must have no directives, got %", ""
        elif "simple key" in context:
            message, hint = "a line must read `key: value`, got no ': '", ""
        elif char == ":" and "mapping values" in problem:
            message, hint = "a value must not hold ': ' unquoted", "quote it, or indent this line as its neighbours"
        elif char and (char in misread.INDICATORS or char in ">|" or "sequence entries" in problem):
            message, hint = f"a value must not begin with {char!r} unquoted", "quote it"
        elif "flow" in context:
            message, hint = "what stands inside { } and [ ] must be separated by commas", ""
        elif "block" in context:
            message, hint = "a line must be indented as its neighbours and read `key: value` or `- item`", ""
        else:
            message, hint = f"a file must be YAML: {problem}", ""
        return self._fault(offset, message, hint)

    def _fault(self, offset: int, message: str, hint: str = "") -> bool:
        """Report a syntax error and blank out its block."""
        self.is_broken = True
        if offset > self.last_fault:
            self.findings.append(self._finding(offset, message, hint))
            self.last_fault = offset
        start, end = self._block(offset)
        self.lost.update(FIRST_WORD.findall(self.source.text, start, end) or ("?",))
        before = self.text
        self._mask([(start, end)], " ")
        return self.text != before

    def _block(self, offset: int) -> tuple[int, int]:
        """Return the lines of the top-level key around an offset."""
        start = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1
        while start > 0 and (start >= len(self.text) or self.text[start] in " \t\r\n#"):
            start = max(self.text.rfind("\n", 0, start - 1), self.text.rfind("\r", 0, start - 1)) + 1
        following = re.compile(r"[\n\r](?=[^\s#])").search(self.text, max(offset, start))
        return start, len(self.text) if following is None else following.start()

    def _tab(self, builder: Builder) -> Finding | None:
        """Return a finding for a tab that is not inside a quoted text, a block or a comment."""
        text, at, index = self.text, self.text.find("\t"), 0
        while at >= 0:
            while index < len(builder.quoted) and builder.quoted[index][1] <= at:
                index += 1
            if index < len(builder.quoted) and builder.quoted[index][0] <= at:
                at = text.find("\t", builder.quoted[index][1])
                continue
            line = text.rfind("\n", 0, at) + 1
            comment = re.compile(r"(?:^|[ \t])#", re.M).search(text, line, at)
            if comment is None or any(start < comment.end() <= end for start, end in builder.quoted):
                return self._finding(
                    at, "a file must hold no tabs outside quotes, blocks and comments", "replace the tab by spaces"
                )
            at = text.find("\t", at + 1)
        return None
