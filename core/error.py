"""The error tree.

    AssayError
    |-- SourceError        a declared text has findings; all of them are attached
    |-- ConfigError        an override, key or choice that cannot be meant (CF001)
    |-- PluginError        a clash, a missing name, a package that does not load (PL001, RX006)
    |-- DataError          a task row that does not fit its domain (DA001)
    |-- VerifierFault      a verifier broke its own declaration
    |-- GroupError         too few scored siblings, or a reward that is not finite
    |-- SandboxError       the backend failed, never the program inside it
    |   |-- BoxFileError   a file of a box is not there, too large or not to be written: a result of what ran inside
    |-- EngineError        the rollout engine refused or lost a request
    |-- TrainerError       the trainer refused a batch or lost a rank
    |-- StoreError         a blob or a ledger row is missing, torn or forged
    |-- WireError          a frame that is malformed or of another protocol
    |-- RunFailed          a process of the run cannot be kept alive, or the run ended itself
    |-- GraderError        a grader does not give a golden case what it is worth
    |-- JudgeError         a judge gave no reply that can be used
    |   |-- JudgeOutage    nobody answers now; waited out
    |   `-- JudgeRefused   this request will never be answered; not asked again
    `-- TransitionError    an illegal step in the life of an episode; carries its story

Every message has one shape: `<what must hold>, got <value> - at <place>. <what to do>`.
The parts are attributes, so that a program never has to parse the text.
"""

from typing import ClassVar


class AssayError(Exception):
    """Base of every error raised on purpose.

    Args:
        must: What must hold, as a statement without a full stop.
        got: The offending value, already rendered; left out where there is none.
        at: Path, source span, process or episode.
        todo: The way out, as a sentence without a full stop.
        code: Stable code with a page in `docs/errors`, where the class default does not fit.
    """

    code: ClassVar[str] = "AS000"

    def __init__(
        self,
        must: str,
        *,
        got: object | None = None,
        at: object | None = None,
        todo: str | None = None,
        code: str | None = None,
    ) -> None:
        self.must = must
        self.got = None if got is None else str(got)
        self.at = None if at is None else str(at)
        self.todo = todo
        self.error_code = code or type(self).code
        super().__init__(self.render())

    def render(self) -> str:
        """Return the message in its one shape."""
        text = self.must
        if self.got is not None:
            text += f", got {self.got}"
        if self.at is not None:
            text += f" - at {self.at}"
        if self.todo is not None:
            text += f". {self.todo}"
        return text

    def __str__(self) -> str:
        return self.render()


class SourceError(AssayError):
    """A domain, curriculum or override has findings; `findings` holds all of them."""

    code = "AS001"

    def __init__(self, must: str, *, findings: tuple[object, ...] = (), **parts: str | None) -> None:
        self.findings = findings
        super().__init__(must, **parts)


class ConfigError(AssayError):
    """An override, key or choice that nothing reads or that cannot be meant."""

    code = "CF001"


class PluginError(AssayError):
    """A name offered twice, offered by nobody, or a package that does not load."""

    code = "PL001"


class DataError(AssayError):
    """A task row that does not fit the fields of its domain."""

    code = "DA001"


class VerifierFault(AssayError):
    """A verifier returned what it declared it never would; the episode is unscored."""

    code = "AS002"


class GroupError(AssayError):
    """A group without enough scored siblings, or with a reward that is not finite."""

    code = "AS003"


class SandboxError(AssayError):
    """The sandbox backend failed. What the program inside did is a result, not this error."""

    code = "AS004"


class BoxFileError(SandboxError):
    """A file of a box is not there, too large, or cannot be written.

    What ran inside may have left it so, and must not be able to make its own episode unscored: it is no failure of the
    backend.
    """


class EngineError(AssayError):
    """The rollout engine refused or lost a request."""

    code = "AS005"


class TrainerError(AssayError):
    """The trainer refused a batch, lost a rank or found a checkpoint unfit."""

    code = "AS006"


class StoreError(AssayError):
    """A blob or a ledger row is missing, torn or not what its digest says."""

    code = "AS007"


class WireError(AssayError):
    """A frame that is malformed, too large or of another protocol range."""

    code = "AS008"


class TransitionError(AssayError):
    """An illegal step in the life of an episode.

    Attributes:
        story: Everything that happened to the episode before, oldest first.
    """

    code = "AS009"

    def __init__(self, must: str, *, story: tuple[str, ...] = (), **parts: str | None) -> None:
        self.story = story
        super().__init__(must, **parts)

    def render(self) -> str:
        """Return the message followed by the story."""
        return "\n  ".join([super().render(), *self.story])


class RunFailed(AssayError):
    """A process of the run cannot be kept alive, or the coordinator ended the run with a reason."""

    code = "AS010"


class GraderError(AssayError):
    """A domain's example or control does not get the reward it must: its grader may judge nobody."""

    code = "AS011"


class JudgeError(AssayError):
    """A judge gave no reply that can be used; the episode is unscored with `judge_error`, never scored 0."""

    code = "AS012"


class JudgeOutage(JudgeError):
    """Nobody answers now: no connection, a server that fails or is overrun.

    Attributes:
        retry_after_s: How long the judge asks to be left alone; None where it does not say.
    """

    def __init__(self, must: str, *, retry_after_s: float | None = None, **parts: str | None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(must, **parts)


class JudgeRefused(JudgeError):
    """The judge answers and says no: a wrong key, an unknown model, a request it does not take."""
