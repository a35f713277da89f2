"""A real run, edited in more than ten ways: each class against grading all its episodes again from scratch."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from real_run import Command

from assay.core.registry import installed
from assay.core.verdict import Scored, Verdict
from assay.dsl.program import Program
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.edit import edited
from assay.runtime.regrade.regrade import Regrader
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.folder import RunFolder
from assay.runtime.stage.verify import to_episode
from assay.runtime.verify.grade import GradeDesk, Rubric, mode_of
from assay.runtime.verify.host import VerifierHost

pytestmark = pytest.mark.slow

ENTRY = "spell"
AT = f"domain.{ENTRY}"
ROWS = 'quickstart.tasks("spell_backward", size=10)'
EDITS: dict[str, tuple[str, list[str]]] = {
    "summary": ("REUSE", [f"{AT}.summary=Other words."]),
    "group": ("REUSE", [f"{AT}.group.size=4"]),
    "weight": ("REDUCE", [f"{AT}.reward.outcome.correct=0.5*ans.equal"]),
    "param": ("REDUCE", [f"+{AT}.params.bonus=0.25", f"{AT}.reward.outcome.correct=(1 + bonus)*ans.equal"]),
    "process": ("REDUCE", [f"+{AT}.reward.process.long=-0.01*min(trace.tokens, 20)"]),
    "efficiency": (
        "REDUCE",
        [f"+{AT}.reward.efficiency.when=success", f"+{AT}.reward.efficiency.long=-0.01*min(trace.tokens, 9)"],
    ),
    "success": ("REDUCE", [f"+{AT}.reward.success=ans.equal and trace.tokens < 6"]),
    "renamed": (
        "REDUCE",
        [
            f"~{AT}.examples",
            f"~{AT}.verify.ans",
            f"+{AT}.verify.same=CALL",
            f"{AT}.reward.outcome.correct=1.0*same.equal",
        ],
    ),
    "argument": ("REGRADE", [f'{AT}.verify.ans=reasoning_gym.exact("a")']),
    "verifier": ("REGRADE", [f"{AT}.verify.ans=text.equal(expected, ignore_case=True)"]),
    "second": ("REGRADE", [f"+{AT}.verify.txt=text.equal(expected)", f"+{AT}.reward.outcome.txt=0.1*txt.equal"]),
    "prompt": ("RERUN", [f"{AT}.prompt=Say {{question}}"]),
    "tokens": ("RERUN", [f"{AT}.episode.max_tokens=50"]),
    "data": ("RERUN", [f"{AT}.data.{split}={ROWS}" for split in ("train", "eval")]),
    "nothing": ("REUSE", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def stored(small_run: Command) -> Iterator[StoredRun]:
    with StoredRun(RunFolder(small_run.run_folder)) as run:
        yield run


@pytest.fixture(scope="module")
def host() -> Iterator[VerifierHost]:
    with VerifierHost() as host:
        yield host


def brute(run: StoredRun, host: VerifierHost, program: Program) -> dict[int, Verdict]:
    """Grade every episode from scratch."""
    leaves, modes = {}, {}
    for verify in program.verify.values():
        offer = installed().find("verifier", verify.use.leaf)
        leaves[verify.use.leaf], modes[verify.use.leaf] = offer.ref, mode_of(offer.value)
    desk = GradeDesk(host, {ENTRY: Rubric(program, leaves, modes)})
    for row in run.graded(ENTRY):
        desk.submit(row.episode, ENTRY, to_episode(row.episode, run.task(row), run.played(row)))
    found: dict[int, Verdict] = {}
    while desk.num_open:
        found |= dict(desk.poll(60.0))
    return found


def paid(verdict: Verdict) -> Any:
    assert isinstance(verdict, Scored)
    return verdict.payout


@pytest.mark.parametrize("name", EDITS)
def test_edit_of_a_real_run_gives_what_brute_force_gives(stored: StoredRun, host: VerifierHost, name: str) -> None:
    effect, overrides = EDITS[name]
    before = stored.plan.entry(ENTRY).program
    call = f"{before.verify['ans'].use.leaf}(expected)"
    after = edited(stored, [], [text.replace("CALL", call) for text in overrides], installed())[ENTRY]
    old = {row.episode: row.verdict for row in stored.graded(ENTRY)}
    with Archive(stored.folder.path) as archive:
        found = Regrader(stored, archive, installed()).regrade(ENTRY, after)
        rows = archive.verdicts()
    assert effect == found.priced.change.effect
    assert {effect: len(old)} == found.priced.episodes
    assert (set(old) if effect in ("REDUCE", "REGRADE") else set()) == set(rows)
    if effect != "RERUN":
        wanted = brute(stored, host, after)
        assert {number: paid(verdict) for number, verdict in wanted.items()} == {
            number: paid(rows.get(number, verdict)) for number, verdict in old.items()
        }
    assert old == {row.episode: row.verdict for row in stored.graded(ENTRY)}


def test_old_rewards_are_those_of_brute_force(stored: StoredRun, host: VerifierHost) -> None:
    wanted = brute(stored, host, stored.plan.entry(ENTRY).program)
    assert wanted
    assert Counter(paid(one).reward for one in wanted.values()) == Counter(row.reward for row in stored.graded(ENTRY))
