"""Every clause of the contract of engines turns red for an engine that breaks it."""

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import contextlib

from red import breaks

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.error import EngineError
from assay.core.trajectory import WeightVersion
from assay.runtime.engine.embedded import EmbeddedEngine
from assay.runtime.testing.engine import EngineContract

change = msgspec.structs.replace


class Flattering(EmbeddedEngine):
    """Says that it is surer than it is."""

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        return [
            change(one, logprobs=Array.of([0.5 * float(p) for p in one.logprobs.to_list()], "float32"))
            for one in super().poll()
        ]


class Crowded(EmbeddedEngine):
    """Seeds by how much else runs."""

    def submit(self, request: GenerateRequest) -> None:
        seed = request.sampling.seed + self.num_active
        super().submit(change(request, sampling=change(request.sampling, seed=seed)))


class Seedless(EmbeddedEngine):
    """Has one seed for all."""

    def submit(self, request: GenerateRequest) -> None:
        super().submit(change(request, sampling=change(request.sampling, seed=0)))


class Warm(EmbeddedEngine):
    """Is never greedy."""

    def submit(self, request: GenerateRequest) -> None:
        super().submit(change(request, sampling=change(request.sampling, temperature=1.0)))


class Endless(EmbeddedEngine):
    """Knows no stop token."""

    def submit(self, request: GenerateRequest) -> None:
        super().submit(change(request, sampling=change(request.sampling, stop_ids=())))


class Permissive(EmbeddedEngine):
    """Refuses nothing, and does nothing either."""

    def submit(self, request: GenerateRequest) -> None:
        with contextlib.suppress(EngineError):
            super().submit(request)


class Swallowing(EmbeddedEngine):
    """Loses what is aborted."""

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        return [one for one in super().poll() if one.finish_reason != "aborted"]


class Restless(EmbeddedEngine):
    """Cannot pause."""

    def pause(self) -> None:
        pass


class Posing(EmbeddedEngine):
    """Takes the number of new weights only."""

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        self._version = version


class Untagged(EmbeddedEngine):
    """Tags every token with the version that it ends with."""

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        old = WeightVersion(0, 3).pack()
        return [change(one, versions=Array.of([old] * len(one.versions), "int64")) for one in super().poll()]


class Hasty(EmbeddedEngine):
    """Takes the version before it looks."""

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        self._version = version
        super().update_weights(folder, version)


class Gullible(EmbeddedEngine):
    """Takes what is not there."""

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        with contextlib.suppress(EngineError):
            super().update_weights(folder, version)


class Open(EmbeddedEngine):
    """Does not close its files."""

    def close(self) -> None:
        self.kept = self._reader
        self._reader = None
        super().close()
        KEPT.append(self.kept)


KEPT: list[object] = []
RED = [
    ("test_logprobs_are_those_of_the_sampled_tokens", Flattering, "log-probs must be those of the tokens"),
    ("test_same_seed_gives_the_same_tokens_whatever_else_runs", Crowded, "tokens must depend on seed, weights and"),
    ("test_same_seed_gives_the_same_tokens_whatever_else_runs", Seedless, "another seed must give other tokens"),
    ("test_greedy_sampling_takes_no_notice_of_the_seed", Warm, "greedy tokens must not depend on the seed"),
    ("test_a_sample_ends_with_its_stop_token_or_at_its_length", Endless, "a sample must end with the first stop"),
    ("test_requests_that_cannot_run_are_refused", Permissive, "an engine must refuse an empty prompt"),
    ("test_an_aborted_request_comes_out_with_what_it_has", Swallowing, "an aborted request must come out"),
    ("test_a_pause_changes_no_token", Restless, "a paused engine must finish nothing"),
    ("test_new_weights_are_taken_between_two_tokens", Posing, "log-probs must be those of the new weights"),
    ("test_new_weights_are_taken_between_two_tokens", Untagged, "a token must name a version there was"),
    ("test_a_bad_folder_leaves_the_old_weights", Hasty, "the old version must stay"),
    ("test_a_bad_folder_leaves_the_old_weights", Gullible, "an engine must refuse an empty folder"),
    ("test_a_closed_engine_leaves_nothing_open", Open, "a closed engine must leave no file open"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_engine_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert breaks(EngineContract, clause, wrong).startswith(must)
    while KEPT:
        reader = KEPT.pop()
        if reader is not None:
            reader.close()  # type: ignore[attr-defined]
