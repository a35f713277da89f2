"""Verifiers that misbehave in every way a real one was seen to, or that a hostile answer can make it.

`run` and `run_forked` execute the answer as Python; the others stand for one fault each.
"""

import asyncio
import ctypes
import math
import os
import sys
import time
from typing import Annotated

import assay


class Judged(assay.Signals, frozen=True):
    right: Annotated[bool, assay.signal(better="up")]
    score: Annotated[float, assay.signal(ge=0, le=1, better="up")]


class Texted(assay.Signals, frozen=True):
    text: str


@assay.verifier("hazard.length", version=1, timeout="30s")
def length(answer: str, wanted: int) -> Judged:
    """Well behaved."""
    return Judged(right=len(answer) == wanted, score=1.0 if len(answer) == wanted else 0.0)


def execute(answer: str) -> Judged:
    scope: dict[str, object] = {}
    exec(answer, scope)
    return Judged(right=scope.get("result") == 42, score=0.0)


@assay.verifier("hazard.run", version=3, timeout="30s", on_timeout=Judged(right=False, score=0.0))
def run(answer: str) -> Judged:
    """Execute the answer in the worker itself."""
    return execute(answer)


@assay.verifier("hazard.hang", version=1, timeout="500ms", on_timeout=Judged(right=False, score=0.0))
def hang(answer: str) -> Judged:
    """Never end."""
    while True:
        pass


@assay.verifier("hazard.run_forked", version=1, timeout="30s", isolation="fork")
def run_forked(answer: str) -> Judged:
    """Execute the answer in a child."""
    return execute(answer)


@assay.verifier("hazard.report", version=1, timeout="30s")
def report(answer: str) -> Texted:
    """Execute the answer and return what it leaves in `result`."""
    scope: dict[str, object] = {}
    exec(answer, scope)
    return Texted(text=str(scope["result"]))


@assay.verifier("hazard.half", version=1)
def half(answer: str) -> Texted:
    """Return a text that no encoding knows."""
    return Texted(text="\ud800")


@assay.verifier("hazard.lazy", version=1)
def lazy(answer: str) -> Texted:
    """Say whether what it imports late was there before."""
    was_there = "colorsys" in sys.modules
    import colorsys

    return Texted(text=f"{colorsys.__name__} {was_there}")


@assay.verifier("hazard.broken", version=7)
def broken(answer: str) -> Judged:
    """Break the declaration in the way the answer says."""
    match answer:
        case "nan":
            return Judged(right=True, score=math.nan)
        case "inf":
            return Judged(right=True, score=math.inf)
        case "range":
            return Judged(right=True, score=1.5)
        case "type":
            return Judged(right="yes", score=1.0)  # type: ignore[arg-type]
        case "class":
            return {"right": True, "score": 1.0}  # type: ignore[return-value]
    return Judged(right=True, score=1.0)


@assay.verifier("hazard.flaky", version=1, on_error="retry(2) then unscored")
def flaky(answer: str) -> Judged:
    """Raise as often as the answer says; how often is kept in the process."""
    state["calls"] = state.get("calls", 0) + 1
    if state["calls"] <= int(answer):
        raise RuntimeError(f"call {state['calls']} \ud800")
    return Judged(right=True, score=1.0)


state: dict[str, int] = {}


@assay.verifier("hazard.fatal", version=1, on_error="fail")
def fatal(answer: str) -> Judged:
    """Raise where a failure must end the run."""
    raise RuntimeError("the licence server is gone")


@assay.verifier("hazard.segfault", version=1, on_error="retry(1) then unscored")
def segfault(answer: str) -> Judged:
    """Read address 0."""
    ctypes.string_at(0)
    return Judged(right=True, score=1.0)


@assay.verifier("hazard.sleep", version=1, timeout="30s", tier="judge", deterministic=False)
async def sleep(answer: str) -> Judged:
    """Wait as long as the answer says, or end the process."""
    if answer == "die":
        await asyncio.sleep(0.05)
        os._exit(3)
    if answer == "block":
        time.sleep(60)
    if answer == "raise":
        raise ConnectionError("no judge")
    await asyncio.sleep(float(answer))
    return Judged(right=True, score=1.0)


@assay.verifier("hazard.ask", version=1, timeout="30s", tier="judge", deterministic=False)
async def ask(answer: str, judge: assay.Judge) -> Judged:
    """Ask a judge."""
    reply = await judge.ask(assay.JudgeRequest("any", (("user", answer),)))
    return Judged(right=reply.text == "yes", score=1.0)


@assay.verifier("hazard.see", version=1)
def see(episode: assay.Episode, task: dict, wanted: str) -> Judged:
    """Read what the runtime supplies."""
    return Judged(right=episode.final_text == task["word"] == wanted, score=0.5)


@assay.parser("hazard.after_hash", version=1)
def after_hash(text: str) -> str | None:
    """The text after ####; hangs on request."""
    if text == "hang":
        while True:
            pass
    return text.partition("####")[2] or None


@assay.verifier(
    "hazard.boxed", version=1, timeout="30s", needs=assay.Needs(sandbox=True), on_error="retry(1) then unscored"
)
async def boxed(answer: str, box: assay.Sandbox) -> Texted:
    """Run the answer as a shell command in the box and return how it ended."""
    await box.put("note", b"was here")
    result = await box.exec(["/bin/sh", "-c", answer], stdin=b"in")
    return Texted(text=f"{result.status} {result.stdout.decode()} {(await box.get('note')).decode()}")
