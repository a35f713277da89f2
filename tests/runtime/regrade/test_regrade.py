"""Every edit against brute force: all episodes graded from scratch by the real verifiers."""

import contextlib
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from world import BROKEN, DOMAIN, World

from assay.core.verdict import Scored, Unscored, Verdict
from assay.dsl.expr.node import Binary, Num, Signal
from assay.dsl.program import Program
from assay.dsl.recall import Recall, classify_episode
from assay.runtime.regrade.archive import Archive
from assay.runtime.regrade.regrade import Regraded, Regrader, price
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.run.folder import RunFolder

pytestmark = pytest.mark.slow

GATE = "  gate:\n    - {name: number, if: num.parsed, else: wrong}\n"


class Edit(msgspec.Struct, frozen=True):
    """An edit of the text.

    Attributes:
        replaced: Old and new parts.
        remeasured: Verifications whose stored measurements do not count.
        is_reward: The reward is another one.
        is_rollout: Episodes would have to be played again.
    """

    replaced: tuple[tuple[str, str], ...]
    remeasured: tuple[str, ...] = ()
    is_reward: bool = False
    is_rollout: bool = False
    renamed: tuple[tuple[str, str], ...] = ()


def _one(old: str, new: str, *remeasured: str, **kinds: Any) -> Edit:
    return Edit(((old, new),), remeasured, **kinds)


EDITS = {
    "summary": _one("Numbers as texts.", "Numbers."),
    "group size": _one("group: {size: 4", "group: {size: 8"),
    "weight of a term": _one("0.2*text.equal", "0.3*text.equal", is_reward=True),
    "param of the reward": _one("solve: 1.0", "solve: 0.5", is_reward=True),
    "payment of a gate": _one("wrong: -1.0", "wrong: -2.0", is_reward=True),
    "new term of the trace": _one(
        "    long:", "    more: -0.1*(trace.tokens > 5)\n    long:", is_reward=True
    ),
    "new gate before": _one(
        "    - {name: number", "    - {name: parsed, if: trace.parsed, else: -1.5}\n    - {name: number", is_reward=True
    ),
    "gate removed": Edit(((GATE, ""), (", wrong: -1.0", "")), is_reward=True),
    "looser gate": _one("if: num.parsed", "if: num.parsed or trace.tokens > 4", is_reward=True),
    "term by a field": _one("0.2*text.equal", "0.2*weight*text.equal", is_reward=True),
    "argument of a verifier": _one("text.equal(expected)", "text.equal(expected, ignore_case=True)", "text"),
    "param of a verifier": _one("tol: 0.5", "tol: 1.5", "num"),
    "new verifier": Edit(
        (
            ("  text: text", "  js: json.equal(expected)\n  text: text"),
            ("    exact:", "    js: 0.5*js.equal\n    exact:"),
        ),
        ("js",),
        is_reward=True,
    ),
    "renamed verification": Edit(
        (("  text: text.equal(expected)", "  same: text.equal(expected)"), ("0.2*text.equal", "0.2*same.equal")),
        is_reward=True,
        renamed=(("same", "text"),),
    ),
    "success": _one("reward:\n", "reward:\n  success: text.equal\n", is_reward=True),
    "success by a field": _one("reward:\n", "reward:\n  success: weight > 1 and num.equal\n", is_reward=True),
    "prompt": _one('prompt: "{q}"', 'prompt: "Say {q}"', is_rollout=True),
    "answer parser": _one('after("=")', 'after(":")', is_rollout=True),
    "prompt and reward": Edit((('prompt: "{q}"', 'prompt: "Say {q}"'), ("0.2*text", "0.3*text")), is_rollout=True),
}  # fmt: skip


def edited(world: World, edit: Edit) -> Program:
    text = DOMAIN
    for old, new in edit.replaced:
        assert 1 == text.count(old), old
        text = text.replace(old, new)
    return world.compile(text).require()


def expected_effect(edit: Edit, old: Verdict, new: Verdict) -> str:
    """Say by what the verifiers really had to measure, and by nothing else, what an episode needs."""
    if edit.is_rollout:
        return "RERUN"
    if not edit.is_reward and not edit.remeasured:
        return "REUSE"
    stored, names = set(old.measurements), dict(edit.renamed)
    missing = [n for n in new.measurements if n in edit.remeasured or names.get(n, n) not in stored]
    return "REGRADE" if missing else "REDUCE" if edit.is_reward else "REUSE"


def regrade(world: World, after: Program) -> tuple[Regraded, dict[int, tuple[str, Verdict]]]:
    with StoredRun(world.folder) as run, Archive(world.folder.path) as archive:
        found = Regrader(run, archive, world.registry).regrade("edit", after)
        path = archive.keep({})
    return found, read(path)


def read(path: Path) -> dict[int, tuple[str, Verdict]]:
    rows = sqlite3.connect(path).execute("SELECT episode, effect, verdict FROM verdict").fetchall()
    return {number: (effect, msgspec.json.decode(text, type=Verdict)) for number, effect, text in rows}


def paid(verdict: Verdict) -> Any:
    return verdict.payout if isinstance(verdict, Scored) else verdict.cause


@pytest.mark.parametrize("name", EDITS)
def test_each_edit_is_classed_and_paid_as_brute_force_finds(world: World, name: str) -> None:
    edit = EDITS[name]
    after = edited(world, edit)
    brute = world.grade(after) if not edit.is_rollout else dict(world.verdicts)
    found, fresh = regrade(world, after)
    recall = Recall(world.program, after)
    with StoredRun(world.folder) as run:
        effects = {row.episode: recall.classify(run.stored(row)).effect for row in run.graded("edit")}
    for number, old in world.verdicts.items():
        wanted = expected_effect(edit, old, brute[number])
        assert wanted == effects[number], (name, number)
        assert (wanted in ("REDUCE", "REGRADE")) == (number in fresh), (name, number)
        if number in fresh:
            assert wanted == fresh[number][0]
            assert paid(brute[number]) == paid(fresh[number][1]), (name, number)
        elif wanted == "REUSE" and number != BROKEN:
            assert paid(brute[number]) == paid(old), (name, number)
    assert Counter(effects.values()) == found.priced.episodes
    assert 1 == found.priced.waiting


def test_edits_reach_every_class(world: World) -> None:
    with StoredRun(world.folder) as run:
        priced = {name: price(run, "edit", edited(world, edit)) for name, edit in EDITS.items()}
    assert {"REUSE": 16} == priced["summary"].episodes
    # Behind its gate nobody had compared texts; the episode whose sandbox was lost has measured nothing.
    assert {"REDUCE": 12, "REGRADE": 4} == priced["gate removed"].episodes
    assert {"REUSE": 3, "REGRADE": 13} == priced["argument of a verifier"].episodes
    assert {"REGRADE": 16} == priced["param of a verifier"].episodes
    assert {"RERUN": 16} == priced["prompt"].episodes


def test_signal_that_a_gate_had_skipped_is_never_taken_as_a_value(world: World) -> None:
    after = edited(world, EDITS["gate removed"])
    with StoredRun(world.folder) as run:
        skipped = [row for row in run.graded("edit") if "text" not in row.verdict.measurements]
        assert [3, 7, BROKEN, 14] == [row.episode for row in skipped]
        for row in skipped:
            assert "REGRADE" == classify_episode(world.program, after, run.stored(row)).effect
    _, fresh = regrade(world, after)
    assert {"REGRADE"} == {fresh[row.episode][0] for row in skipped}
    for row in skipped:
        assert "text" in fresh[row.episode][1].measurements


def test_rows_that_stay_keep_their_episodes(world: World) -> None:
    after = world.compile(
        DOMAIN.replace('- {q: c, expected: "7", weight: 0.5}', '- {q: e, expected: "8", weight: 0.5}')
    )
    with StoredRun(world.folder) as run:
        priced = price(run, "edit", after.require())
        assert {"REUSE": 12, "RERUN": 4} == priced.episodes
    assert "RERUN" == priced.change.effect


def test_row_may_stand_elsewhere(world: World) -> None:
    first = '    - {q: a, expected: "10", weight: 1.0}\n'
    after = world.compile(DOMAIN.replace(first, "").replace("prompt:", f"{first}prompt:")).require()
    with StoredRun(world.folder) as run:
        assert {"REUSE": 16} == price(run, "edit", after).episodes


def test_raised_version_is_regraded_where_it_was_used(world: World) -> None:
    verify = world.program.verify["text"]
    newer = replace(verify, use=replace(verify.use, version=2))
    after = replace(world.program, verify={**world.program.verify, "text": newer})
    with StoredRun(world.folder) as run:
        assert {"REUSE": 3, "REGRADE": 13} == price(run, "edit", after).episodes


def test_only_what_is_missing_is_measured_again(world: World) -> None:
    after = edited(world, EDITS["new verifier"])
    _, fresh = regrade(world, after)
    for number, (effect, verdict) in fresh.items():
        old = world.verdicts[number].measurements
        if effect == "REGRADE" and number != BROKEN:
            assert {name: old[name] for name in old} == {name: verdict.measurements[name] for name in old}
            assert "js" in verdict.measurements


def test_unscored_episode_gets_a_reward_once_it_can_be_measured(world: World) -> None:
    found, fresh = regrade(world, edited(world, EDITS["weight of a term"]))
    assert isinstance(world.verdicts[BROKEN], Unscored)
    effect, verdict = fresh[BROKEN]
    assert "REGRADE" == effect
    assert isinstance(verdict, Scored)
    assert (15, 1, 16, 0) == (
        found.shift.before.scored,
        found.shift.before.unscored,
        found.shift.after.scored,
        found.shift.after.unscored,
    )


def test_reward_that_is_not_finite_is_a_fault_in_both_back_ends(world: World) -> None:
    program = edited(world, EDITS["weight of a term"])
    (correct, *rest) = program.reward.outcome
    quotient = Binary(sign="/", left=Num(text="1.0"), right=Signal(owner="num", name="equal"))
    term = replace(correct, value=quotient)  # no domain with this term compiles: RX005
    after = replace(program, reward=replace(program.reward, outcome=(term, *rest)))
    brute, (_, fresh) = world.grade(after), regrade(world, after)
    faults = {number for number, verdict in brute.items() if isinstance(verdict, Unscored)}
    assert faults
    assert faults == {number for number, (_, verdict) in fresh.items() if isinstance(verdict, Unscored)}


def test_old_verdicts_and_earlier_regrades_stay(world: World) -> None:
    def everything(path: Path) -> list[str]:
        return list(sqlite3.connect(path).iterdump())

    ledger = everything(world.folder.ledger)
    regrade(world, edited(world, EDITS["weight of a term"]))
    folder = world.folder.path / "regrades"
    before = {path: everything(path) for path in folder.glob("*.sqlite")}
    regrade(world, edited(world, EDITS["gate removed"]))
    after = {path: everything(path) for path in folder.glob("*.sqlite")}
    assert ledger == everything(world.folder.ledger)
    assert before == {path: after[path] for path in before}
    assert len(before) + 1 == len(after)
    assert [] == list(folder.glob(".draft*"))


def test_regrade_that_is_not_kept_leaves_nothing(world: World) -> None:
    folder = world.folder.path / "regrades"
    before = sorted(folder.iterdir()) if folder.is_dir() else []
    with StoredRun(world.folder) as run, Archive(world.folder.path) as archive:
        Regrader(run, archive, world.registry).regrade("edit", edited(world, EDITS["weight of a term"]))
    assert before == sorted(folder.iterdir())


def test_canaries_are_graded_anew_and_left_out_of_the_comparison(world: World, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(world.folder.path, tmp_path / "run"))
    with contextlib.closing(sqlite3.connect(folder.ledger)) as db, db:
        db.execute("UPDATE grp SET split = 'canary' WHERE grp = 0")
        db.execute("UPDATE task SET split = 'canary' WHERE idx = 0")
    with StoredRun(folder) as run, Archive(folder.path) as archive:
        after = edited(world, EDITS["weight of a term"])
        found = Regrader(run, archive, world.registry).regrade("edit", after)
        graded = archive.verdicts()
    assert sum(found.priced.episodes.values()) == 16
    assert {0, 1, 2, 3} <= graded.keys()
    assert 12 == found.shift.before.scored + found.shift.before.unscored
    assert 3 == found.shift.groups
