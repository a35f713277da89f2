"""The trackers of a run as its command sees them: a process each, started again when it fails, never waited for.

Invariants: a tracker that fails, hangs or is gone changes nothing about the run; every failure is counted and shown; at
the end of the run all together have so many seconds to tell what is left.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.core.trajectory import WeightVersion
from assay.runtime.launch.child import last_words
from assay.runtime.launch.orphan import leave, spare
from assay.runtime.run.environment import environment
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.plan import FactoryPlan
from assay.runtime.tracker.note import Note, note_path, read_note, write_note

OVER = b"over\n"
FINISH_S = 20.0
# A failed tracker is started again so much later; after the last of these failures in a row, only at the run's end.
_BACKOFF_S = (1.0, 5.0, 25.0)


class _Member:
    """One tracker through all its processes."""

    def __init__(self, name: str, folder: RunFolder) -> None:
        self.name = name
        self.folder = folder
        self.log = folder.logs / f"tracker-{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.num_failures = 0
        self.num_in_a_row = 0
        self.again_s: float | None = None
        self.why = ""
        self.started: Note = Note()

    @property
    def note(self) -> Note:
        return read_note(note_path(self.folder.path, self.name))

    def start(self) -> None:
        # A tracker that does not even start must not be taken for the one that finished a former part of the run.
        self.again_s, self.started = None, Note(self.note.position)
        write_note(note_path(self.folder.path, self.name), self.started)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "assay.runtime.tracker", self.name, str(self.folder.path)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(1),
                start_new_session=True,
            )
        spare(self.process.pid)

    def fail(self, why: str) -> None:
        """Count a failure, and say when to try again."""
        if self.note.position != self.started.position:
            self.num_in_a_row = 0
        self.num_failures += 1
        self.num_in_a_row += 1
        self.why = why
        if self.num_in_a_row <= len(_BACKOFF_S):
            self.again_s = time.monotonic() + _BACKOFF_S[self.num_in_a_row - 1]

    def collect(self) -> int | None:
        """Return the exit status where the process has ended; it is then forgotten."""
        if self.process is None or (status := self.process.poll()) is None:
            return None
        self._forget()
        return status

    def end(self) -> None:
        """End the process at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._forget()

    def tell_over(self) -> None:
        """Say that the run is over."""
        if self.process is not None and self.process.stdin is not None:
            try:
                self.process.stdin.write(OVER)
                self.process.stdin.flush()
            except OSError:  # it has just ended, which `collect` will see
                return

    def _forget(self) -> None:
        assert self.process is not None
        leave(self.process.pid)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None


class Crew:
    """All trackers of one run.

    Args:
        trackers: By name.
        folder: Of the run.
        say: Shows a line to whoever watches the run.
    """

    def __init__(self, trackers: Mapping[str, FactoryPlan], folder: RunFolder, say: Callable[[str], None]) -> None:
        self._members = [_Member(name, folder) for name in trackers]
        self._say = say

    def start(self) -> None:
        """Start all of them."""
        for member in self._members:
            self._start(member)

    def tick(self) -> None:
        """Look after them; to be called now and then."""
        for member in self._members:
            status = member.collect()
            if status is not None:
                self._on_failure(member, _words(status, member.log))
            elif member.again_s is not None and time.monotonic() >= member.again_s:
                self._start(member)

    def finish(self, limit_s: float = FINISH_S) -> list[str]:
        """Let them tell what is left, and the summary; returns a line on each.

        Args:
            limit_s: After which those that are not done are ended.
        """
        for member in self._members:
            if member.process is None:
                # What was gone may have come back: a last try.
                self._start(member)
            member.tell_over()
        deadline = time.monotonic() + limit_s
        waiting = [member for member in self._members if member.process is not None]
        while waiting and time.monotonic() < deadline:
            time.sleep(0.02)
            for member in waiting:
                status = member.collect()
                if status is not None and not member.note.is_finished:
                    member.fail(_words(status, member.log))
            waiting = [member for member in waiting if member.process is not None]
        for member in waiting:
            member.fail(f"not done {limit_s:g} s after the run")
        self.end()
        return [_line(member) for member in self._members]

    def end(self) -> None:
        """End all processes at once; safe to call twice."""
        for member in self._members:
            member.end()

    def _start(self, member: _Member) -> None:
        try:
            member.start()
        except OSError as error:
            self._on_failure(member, f"not started: {error}")

    def _on_failure(self, member: _Member, why: str) -> None:
        member.fail(why)
        if member.again_s is None:
            then = "no more tries before the end of the run"
        else:
            then = f"next try in {max(0.0, member.again_s - time.monotonic()):.0f} s"
        self._say(f"tracker {member.name} failed ({member.num_failures}): {why}; {then}. The run goes on")


def _words(status: int, log: Path) -> str:
    return last_words(log) or f"exit status {status}"


def _line(member: _Member) -> str:
    note = member.note
    version = note.position.version
    step = "no step" if version < 0 else f"step {WeightVersion.unpack(version)}"
    told = f"tracker {member.name}: told up to {step} and event {note.position.event}"
    if member.num_failures:
        told += f", failed {member.num_failures} times, the last with: {member.why}"
    return told if note.is_finished else f"{told}, not finished; {member.log} says more"
