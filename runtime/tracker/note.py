"""`trackers/<name>.json` of a run folder: how far a tracker was told, kept for whoever starts it again."""

from pathlib import Path

import msgspec

from assay.core.tracker import Position

FOLDER = "trackers"


class Note(msgspec.Struct, frozen=True):
    """What is known of one tracker.

    Attributes:
        position: What was told before the last flush that returned.
        is_finished: Whether it took the summary of the last part.
    """

    position: Position = Position()
    is_finished: bool = False


def note_path(run: Path, name: str) -> Path:
    """Return the file of a tracker's note."""
    return run / FOLDER / f"{name}.json"


def read_note(path: Path) -> Note:
    """Return the note; that of a tracker that was never told anything where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return Note()


def write_note(path: Path, note: Note) -> None:
    """Write the note; what was there stays whole until the new one is."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode(note))
    draft.replace(path)
