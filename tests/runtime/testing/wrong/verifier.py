"""Verifiers that break one clause each, and one that breaks none."""

import os
import time
from typing import Annotated

import assay


class Found(assay.Signals, frozen=True):
    equal: Annotated[bool, assay.signal(doc="The answer is the expected text.")]
    size: Annotated[int, assay.signal(ge=0, le=2**21, doc="Characters.")]


class Silent(assay.Signals, frozen=True):
    equal: bool


def compare(answer: str | None, expected: str) -> Found:
    return Found(equal=answer == expected, size=len(answer or ""))


@assay.verifier("wrong.none", version=1)
def right(answer: str | None, expected: str) -> Found:
    """Compare texts."""
    return compare(answer, expected)


def _make() -> object:
    @assay.verifier("wrong.hidden", version=1)
    def inner(answer: str | None, expected: str) -> Found:
        """Lie where no worker looks."""
        return compare(answer, expected)

    return inner


hidden = _make()


@assay.verifier("wrong.covered", version=1)
def twin(answer: str | None, expected: str) -> Found:  # pyright: ignore[reportRedeclaration]
    """Lie under a name that another one takes."""
    return compare(answer, expected)


covered = twin


@assay.verifier("wrong.covering", version=1)
def twin(answer: str | None, expected: str) -> Found:
    """Take the name of the one before."""
    return compare(answer, expected)


@assay.verifier("wrong.undocumented", version=1)
def undocumented(answer: str | None, expected: str) -> Found:
    return compare(answer, expected)


@assay.verifier("wrong.bare", version=1)
def bare(answer: str | None, expected) -> Found:
    """Take something of no type."""
    return compare(answer, expected)


@assay.verifier("wrong.silent", version=1)
def silent(answer: str | None, expected: str) -> Silent:
    """Measure without a word on what."""
    return Silent(equal=answer == expected)


@assay.verifier("wrong.hasty", version=1, cost="20s", timeout="10s")
def hasty(answer: str | None, expected: str) -> Found:
    """Cost more than the timeout."""
    return compare(answer, expected)


@assay.verifier("wrong.inverted", version=1)
def inverted(answer: str | None, expected: str) -> Found:
    """Find the wrong answers right."""
    return Found(equal=answer != expected, size=0)


@assay.verifier("wrong.refusing", version=1)
def refusing(answer: str | None, expected: str) -> Found:
    """Raise where the parser refused."""
    assert answer is not None
    return compare(answer, expected)


@assay.verifier("wrong.outside", version=1)
def outside(answer: str | None, expected: str) -> Found:
    """Leave the declared range where the answer is long."""
    return Found(equal=answer == expected, size=-1 if len(answer or "") > 1000 else 0)


@assay.verifier("wrong.hanging", version=1, timeout="300ms")
def hanging(answer: str | None, expected: str) -> Found:
    """Never end where the answer has no end of lines in sight."""
    while (answer or "").startswith("\n\r"):
        time.sleep(0.01)
    return compare(answer, expected)


@assay.verifier("wrong.excused", version=1, timeout="300ms", on_timeout=Found(equal=False, size=0))
def excused(answer: str | None, expected: str) -> Found:
    """The same, but it says what a timeout earns."""
    return hanging(answer, expected)


@assay.verifier("wrong.encoding", version=1)
def encoding(answer: str | None, expected: str) -> Found:
    """Count bytes, which half a character has none of."""
    return Found(equal=answer == expected, size=min(2**21, len((answer or "").encode())))


_calls: list[int] = []


@assay.verifier("wrong.counting", version=1)
def counting(answer: str | None, expected: str) -> Found:
    """Measure how often it was called."""
    _calls.append(1)
    return Found(equal=answer == expected, size=len(_calls))


_SALT = int.from_bytes(os.urandom(2))


@assay.verifier("wrong.salted", version=1)
def salted(answer: str | None, expected: str) -> Found:
    """Keep for the life of a process what another process has otherwise."""
    return Found(equal=answer == expected, size=_SALT)


@assay.verifier("wrong.dice", version=1, deterministic=False)
def dice(answer: str | None, expected: str) -> Found:
    """The same, and it says so."""
    return counting(answer, expected)


@assay.verifier("wrong.slow", version=1, cost="1ms")
def slow(answer: str | None, expected: str) -> Found:
    """Take thirty times what it declares."""
    time.sleep(0.03)
    return compare(answer, expected)


@assay.verifier("wrong.boxed", version=1, cost="100ms", timeout="20s", needs=assay.Needs(sandbox=True))
async def boxed(answer: str | None, box: assay.Sandbox, expected: str) -> Found:
    """Break nothing, and compare in a box."""
    await box.put("answer", (answer or "").encode())
    size = await box.exec(["wc", "-m", "answer"])
    same = await box.exec(["cmp", "-s", "answer", "-"], stdin=expected.encode())
    return Found(equal=same.ok, size=int(size.stdout.split()[0]))


@assay.verifier("wrong.asking", version=1, tier="judge", cost="100ms", timeout="20s")
async def asking(answer: str | None, judge: assay.Judge, expected: str) -> Found:
    """Break nothing, and ask a judge."""
    reply = await judge.ask(assay.JudgeRequest("rule@1", (("user", f"{answer} {expected}"),)))
    return Found(equal=reply.text == "yes", size=0)


class Mark(assay.Signals, frozen=True):
    mark: Annotated[float, assay.signal(ge=0, le=1, doc="What a person said.")]


@assay.verifier("wrong.person", version=1, tier="human", cost="5min", deterministic=False, timeout="168h")
def person(question: str, low: float = 0, high: float = 1, patience: str = "24h") -> Mark:
    """Break nothing: nobody calls it."""
    raise AssertionError("a person is asked, not called")


@assay.verifier("wrong.talker", version=1, tier="human", cost="5min", deterministic=False, timeout="168h")
def talker(question: str) -> Found:
    """Want of people what they cannot say."""
    raise AssertionError("a person is asked, not called")


@assay.verifier("wrong.curious", version=1, tier="human", cost="5min", deterministic=False, timeout="168h")
def curious(answer: str | None, question: str) -> Mark:
    """Want more than a question."""
    raise AssertionError("a person is asked, not called")
