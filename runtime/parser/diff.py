"""`diff()`: a unified diff, as written or in a code block."""

import re

from assay.core.leaf import parser
from assay.runtime.parser.text import fenced

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@parser("diff", version=1)
def diff(text: str) -> str | None:
    """The unified diff of the last code block marked `diff` or `patch`, or else of the whole text.

    Every hunk must hold as many lines as its header says; whether it applies is a verifier's question.
    """
    block = fenced(text, "diff") or fenced(text, "patch") or fenced(text) or text
    lines = block.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(("diff --git ", "--- "))), None)
    if start is None:
        return None
    end = _end(lines, start)
    return None if end is None else "\n".join(lines[start:end]) + "\n"


def _end(lines: list[str], start: int) -> int | None:
    """Return where the diff ends; None where it has no hunk or a hunk is cut short."""
    index, end = start, None
    while index < len(lines):
        header = _HUNK.match(lines[index])
        if header is None:
            if end is not None and not _is_between(lines[index]):
                break
            index += 1
            continue
        old, new = (1 if count is None else int(count[:9]) for count in header.groups())
        index += 1
        while index < len(lines) and (old > 0 or new > 0):
            mark = lines[index][:1]
            if mark == "\\":
                index += 1
                continue
            if mark not in ("+", "-", " ", ""):
                return None
            old -= mark != "+"
            new -= mark != "-"
            index += 1
        if old or new:
            return None
        if index < len(lines) and lines[index].startswith("\\"):
            index += 1
        end = index
    return end


def _is_between(line: str) -> bool:
    """Whether a line may stand between two hunks."""
    return line.startswith(
        (
            "diff --git ",
            "index ",
            "--- ",
            "+++ ",
            "new file",
            "deleted file",
            "old mode",
            "new mode",
            "similarity ",
            "rename ",
        )
    )
