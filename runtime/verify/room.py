"""The place one call runs in, as it must be found by the next."""

import os
import shutil
import signal
from pathlib import Path

from assay.runtime.verify.descent import end_children


class Room:
    """Processes and files that a call may leave behind.

    Args:
        folder: Scratch and working folder.
        is_first: This process is the first of its process namespace.
    """

    def __init__(self, folder: Path, *, is_first: bool) -> None:
        self.folder = folder
        self.is_first = is_first

    def clear(self) -> bool:
        """End every descendant, empty the folder, go back to it and cancel a pending alarm.

        Returns:
            False where something cannot be removed, so that this process must be replaced.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        end_children(is_first=self.is_first)
        try:
            os.chdir(self.folder)
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
        except OSError:
            return False
        return True
