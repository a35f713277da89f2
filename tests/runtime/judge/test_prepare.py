"""A run is made whose judge was asked before its folder was there."""

from pathlib import Path

import pytest
from judge_server import JudgeServer

from assay.core.registry import installed
from assay.runtime.cli.job import read_jobs
from assay.runtime.cli.plan import plan_of
from assay.runtime.judge.cache import read_bill
from assay.runtime.run.prepare import prepare_run

pytestmark = pytest.mark.slow

WORDS = (
    '+domain.spell.verify.kind=judge.score("large@1", "Is it kind?")',
    "+domain.spell.reward.outcome.kind=0.01*kind.score",
    "~domain.spell.examples",
    "judge=openai",
    'judge.prices=["large@1 1.0 10"]',
)


def test_replies_from_before_a_run_lie_in_its_folder(server: JudgeServer, tmp_path: Path) -> None:
    words = [*WORDS, f"judge.base_url={server.url}", f"run.folder={tmp_path}"]
    (job,), findings = read_jobs(words, False, installed())
    assert [] == [one.message for one in findings if one.severity == "error"]
    _, folder = prepare_run(job, plan_of(job), installed())
    bill = read_bill(folder.judge)
    assert ["preflight"] == list(bill)
    assert len(server.bodies) == bill["preflight"].calls > 0
