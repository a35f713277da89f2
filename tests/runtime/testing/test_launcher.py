"""Every clause of the contract of launchers turns red for a launcher that breaks it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from red import breaks
from wrong_launcher import Cheerful, Deaf, Fatal, Leaving, Lonely, Loud, Muddled, Patient, Silent

from assay.runtime.testing.launcher import LauncherContract

pytestmark = pytest.mark.slow  # real processes

RED = [
    ("test_every_process_runs_as_it_is_specified", Silent, "tick must be called"),
    ("test_every_process_runs_as_it_is_specified", Muddled, "a process must get its arguments"),
    ("test_the_status_of_the_coordinator_is_that_of_the_run", Cheerful, "run must return the coordinator's 3"),
    ("test_what_dies_is_started_again", Fatal, "what dies, and nothing else, must be started again"),
    ("test_a_process_that_never_lives_ends_the_run", Patient, "a process that ends again and again must end the run"),
    ("test_ranks_are_given_their_group_and_start_again_together", Lonely, "run must return the coordinator's 0"),
    ("test_a_drain_is_the_coordinators_to_decide", Loud, "a drain must ask the coordinator, once"),
    ("test_nothing_is_left_behind", Leaving, "no process of a run must be alive after it"),
    ("test_nothing_is_left_behind_where_the_run_is_ended_at_once", Deaf, "what tick raises must end the run"),
]


@pytest.mark.parametrize(("clause", "wrong", "must"), RED, ids=[one[1].__name__ for one in RED])
def test_wrong_launcher_breaks_its_clause(clause: str, wrong: type, must: str) -> None:
    assert breaks(LauncherContract, clause, wrong).startswith(must)
