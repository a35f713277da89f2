"""Launchers that each break one clause; a module of its own, which another process finds."""

import signal
from collections.abc import Callable
from typing import Any

from assay.core.error import RunFailed
from assay.core.launcher import Launch
from assay.runtime.launch import local
from assay.runtime.launch.child import Child
from assay.runtime.launch.local import LocalLauncher

local._SECOND_THOUGHTS_S = 0.2


class Silent(LocalLauncher):
    """Never ticks."""

    def run(self, tick: Callable[[], None] | None = None) -> int:
        return super().run()


class Muddled(LocalLauncher):
    """Gives everybody the environment of the first."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch)
        for child in self._children:
            child.argv = [*child.argv[:-1], "of-nobody"]


class Cheerful(LocalLauncher):
    """Every run went well."""

    def run(self, tick: Callable[[], None] | None = None) -> int:
        super().run(tick)
        return 0


class Fatal(LocalLauncher):
    """Starts everybody again where one dies."""

    def _on_end(self, child: Child, status: int) -> None:
        if status and child.role != "coordinator":
            for number, other in list(self._pidfds.items()):
                if other is not child and other.role == "verify":
                    other.signal_group(signal.SIGKILL)
                    other.note_end()
                    self._forget(number)
                    self._start(other)
        super()._on_end(child, status)


class Patient(LocalLauncher):
    """Gives nobody up, but says at last that it went well."""

    def run(self, tick: Callable[[], None] | None = None) -> int:
        try:
            return super().run(tick)
        except RunFailed:
            return 0


class Lonely(LocalLauncher):
    """Knows nothing of ranks."""

    @property
    def _ranks(self) -> list[Child]:
        return []


class Loud(LocalLauncher):
    """Drains everybody."""

    def drain(self) -> None:
        for child in self._children:
            child.signal(signal.SIGTERM)


class Leaving(LocalLauncher):
    """Ends what it started, and nothing below."""

    def run(self, tick: Callable[[], None] | None = None) -> int:
        keep: Any = local.end_descendants
        local.end_descendants = lambda: []
        try:
            return super().run(tick)
        finally:
            local.end_descendants = keep

    def end(self) -> None:
        local.end_descendants = lambda: []
        super().end()


class Deaf(LocalLauncher):
    """Swallows what tick raises."""

    def run(self, tick: Callable[[], None] | None = None) -> int:
        try:
            return super().run(tick)
        except KeyboardInterrupt:
            return 0
