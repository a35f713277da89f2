"""Overrides as typed: `[+|++|~]key[=value]`.

Three kinds of key go three ways. `domain.<entry>.*` and `curriculum.*` name places in declared files; their values are
expressions, calls and types, which Hydra's grammar refuses or retypes (`1e3` would become 1000.0), so they stay text
and are applied to the marked trees; the entry `*` means all of them. A key without a dot that names a group chooses a
file. Everything else is a key of the composed configuration and is Hydra's. An override keeps its number and its text:
findings point into it.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Span

# In the order of `conf/config.yaml`.
GROUPS = (
    "curriculum", "policy", "engine", "trainer", "algorithm", "scheduler", "sandbox", "judge", "launcher", "store",
    "tracker", "eval", "audit", "run",
)  # fmt: skip

Sign = Literal["", "+", "++", "~"]
Target = Literal["declared", "choice", "setting"]

_SIGNS: dict[str | None, Sign] = {None: "", "+": "+", "++": "++", "~": "~"}

_SHAPE = re.compile(r"(?s)(\+\+|\+|~)?([^=\s]+)(?:=(.*))?")
_KEY = re.compile(r"(domain\.\*|[A-Za-z_][\w-]*)(\.[\w-]+)*")
_OPEN, _CLOSE = "([{", ")]}"


class Override(msgspec.Struct, frozen=True):
    """One override.

    Attributes:
        index: Place on the command line among the overrides, from 1.
        text: As typed; of a sweep, with the one value of this job.
        sign: `+` adds, `++` adds or replaces, `~` removes; empty replaces.
        key: Dotted.
        value: Everything behind the first `=`; None where there is none.
    """

    index: int
    text: str
    sign: Sign
    key: str
    value: str | None

    @property
    def target(self) -> Target:
        """Which way it goes."""
        if self.key.startswith(("domain.", "curriculum.")):
            return "declared"
        return "choice" if self.key in GROUPS else "setting"

    @property
    def plain_value(self) -> str:
        """The value without the one pair of quotes around it that Hydra's users write."""
        return unquote(self.value or "")

    @property
    def key_span(self) -> Span:
        """Where the key stands."""
        start = 1 + len(self.sign)
        return self._span(start, start + len(self.key))

    @property
    def value_span(self) -> Span:
        """Where the value stands; the key where there is none."""
        if not self.value:
            return self.key_span
        return self._span(len(self.text) - len(self.value) + 1, len(self.text) + 1)

    def with_value(self, value: str) -> "Override":
        """Return this override with another value."""
        return Override(self.index, f"{self.sign}{self.key}={value}", self.sign, self.key, value)

    def _span(self, start: int, end: int) -> Span:
        # A caret needs one line; an override of several is shown without it.
        return Span(f"<override {self.index}>", 1, start, end, self.text if self.text.isprintable() else "")


def read_overrides(texts: Sequence[str]) -> tuple[list[Override], list[Finding]]:
    """Return the overrides that have a legal shape, and a finding for each other one."""
    overrides, findings = [], []
    for index, text in enumerate(texts, start=1):
        match = _SHAPE.fullmatch(text)
        sign, key, value = match.groups() if match else (None, "", None)
        if key and _KEY.fullmatch(key) and (value is not None or sign == "~"):
            overrides.append(Override(index, text, _SIGNS[sign], key, value))
        else:
            span = Span(f"<override {index}>", 1, 1, len(text) + 1, text if text.isprintable() else "")
            hint = f"did you mean `curriculum={text}`?" if _KEY.fullmatch(text) else "such as trainer.lr=3e-4"
            findings.append(finding("CF001", span, f"an override must be `key=value`, got {text!r}", hint))
    return overrides, findings


def split_commas(text: str) -> list[str]:
    """Split a value at the commas outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    index = 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:index].strip())
            start = index + 1
        index += 1
    parts.append(text[start:].strip())
    return parts


def unquote(text: str) -> str:
    r"""Remove one pair of quotes around a whole value; `\'` inside is a quote. `'a' + 'b'` keeps its own."""
    match = re.fullmatch(r"""(?s)\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*""", text)
    if match is None:
        return text
    quote = "'" if match[1] is not None else '"'
    inner = match[1] if match[1] is not None else match[2]
    return inner.replace("\\" + quote, quote)


def quote_for_hydra(text: str) -> str:
    """Return a text in quotes from which Hydra reads back exactly that text, without interpolation.

    Hydra unescapes a backslash only in front of a quote, and OmegaConf only in front of `${`.
    """
    text = re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", text)
    text = re.sub(r"(\\*)'", lambda match: match[1] * 2 + r"\'", text)
    tail = len(text) - len(text.rstrip("\\"))
    return f"'{text}{chr(92) * tail}'"
