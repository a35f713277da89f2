"""The folder of a run: where each thing lies. Made once, by the command; everybody else only asks.

* `config.yaml`, `origins.json`: resolved configuration, and where each value came from
* `run.json`: what the processes read; `plan.json`, `programs/`: the graph and the compiled domains
* `ledger.sqlite`, `blobs/`: everything that happened, trajectories and tasks
* `policy/`, `checkpoints/`: Hugging Face folders, at the start and at `<lineage>.<step>`
* `processes.json`, `logs/`, `sock/`: role, pid and command, output, the coordinator's socket
* `judge.sqlite`: replies of a judge, so that none is paid for twice, and the bill
* `protections.json`: what verifiers are kept from here, and what not
* `trackers/`: how far each tracker was told
* `status.json`, `metrics.jsonl`, `summary.json`, `report.html`: where it stands and what came of it
"""

import os
import time
from pathlib import Path

from assay.core.error import ConfigError
from assay.runtime.run.plan import FILE


class RunFolder:
    """Paths of one run.

    Args:
        path: The folder; need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def ledger(self) -> Path:
        """SQLite file of the coordinator."""
        return self.path / "ledger.sqlite"

    @property
    def blobs(self) -> Path:
        """Segment files of all processes."""
        return self.path / "blobs"

    @property
    def checkpoints(self) -> Path:
        """Saved versions."""
        return self.path / "checkpoints"

    @property
    def policy(self) -> Path:
        """Weights and tokenizer that training starts from."""
        return self.path / "policy"

    @property
    def probes(self) -> Path:
        """Log-probs of the trainer per published version."""
        return self.path / "probes"

    @property
    def judge(self) -> Path:
        """Replies of a judge, by everything that determines them."""
        return self.path / "judge.sqlite"

    @property
    def protections(self) -> Path:
        """What verifiers are kept from on this machine, and what not."""
        return self.path / "protections.json"

    @property
    def logs(self) -> Path:
        """Output of the processes."""
        return self.path / "logs"

    @property
    def processes(self) -> Path:
        """Role, pid, command and socket of every process."""
        return self.path / "processes.json"

    @property
    def summary(self) -> Path:
        """Figures of the run."""
        return self.path / "summary.json"

    @property
    def report(self) -> Path:
        """Page for people."""
        return self.path / "report.html"

    @property
    def metrics(self) -> Path:
        """One JSON line per step."""
        return self.path / "metrics.jsonl"


def make_folder(parent: Path, name: str, *, is_latest: bool = True) -> RunFolder:
    """Make `<parent>/<time>-<name>` and point `<parent>/latest` at it.

    Args:
        parent: Where runs are.
        name: Of the run.
        is_latest: False leaves `latest` as it is: an evaluation has nothing to resume or to evaluate.

    Raises:
        ConfigError: it cannot be written, or the name leads elsewhere.
    """
    if "/" in name or not name.isprintable():
        raise ConfigError("the name of a run must be part of a file's name", got=name, todo="Set run.name")
    stem = time.strftime("%Y%m%d-%H%M%S-") + name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        path = _unused(parent.resolve(), stem)
        for part in ("blobs", "checkpoints", "logs"):
            (path / part).mkdir()
        if is_latest:
            latest = parent / f".latest.{os.getpid()}"
            latest.unlink(missing_ok=True)
            latest.symlink_to(path.name)
            latest.replace(parent / "latest")
    except OSError as error:
        raise ConfigError(
            "the folder of runs must be writable",
            got=error.strerror,
            at=error.filename or parent,
            todo="Set run.folder",
        ) from None
    return RunFolder(path)


def open_folder(path: Path) -> RunFolder:
    """Return the folder of a run that exists.

    Raises:
        ConfigError: there is none.
    """
    if not (path / FILE).is_file():
        raise ConfigError("a run folder must hold its plan", got="none", at=path, todo="Name a folder under runs/")
    return RunFolder(path.resolve())


def _unused(parent: Path, stem: str) -> Path:
    for number in range(1000):
        path = parent / (stem if number == 0 else f"{stem}-{number}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise ConfigError("a run folder must have a free name", got=stem, at=parent)
