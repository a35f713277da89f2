"""`assay plan`: the graph of each job, the composed configuration, and no plan where something is wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]
pytestmark = pytest.mark.slow  # Hydra takes 0.15 s to compose once


def test_plan_names_every_entry_and_stage(run: Run) -> None:
    ran = run("plan")
    assert (0, "") == (ran.status, ran.err)
    for word in ("spell", "caesar", "spiral", "sort", "warmup", "learn", "rollout", "verify.auto", "update"):
        assert word in ran.out


def test_json_and_mermaid_are_of_the_same_plan(run: Run) -> None:
    plan = json.loads(run("plan", "--format", "json").out)
    mermaid = run("plan", "--format", "mermaid").out
    assert mermaid.startswith("flowchart")
    assert [] == [node["name"] for node in plan["nodes"] if node["name"].replace(".", "_") not in mermaid]


def test_settings_reach_the_plan(run: Run) -> None:
    ran = run("plan", "--format", "json", "launcher.verifiers=3", "engine.max_active=7", "curriculum.mix.spell.share=5")
    plan = json.loads(ran.out)
    nodes = {node["name"]: node for node in plan["nodes"]}
    assert (3, 7) == (nodes["verify.auto"]["workers"], nodes["rollout"]["capacity"])
    assert 0.625 == plan["entries"][0]["share"]


def test_each_job_of_a_sweep_has_its_plan(run: Run) -> None:
    ran = run("plan", "-m", "launcher.rollouts=1,2")
    assert ["job 0: launcher.rollouts=1", "job 1: launcher.rollouts=2"] == [
        line for line in ran.out.splitlines() if line.startswith("job ")
    ]


def test_errors_leave_no_plan(run: Run) -> None:
    ran = run("plan", "trainer.lrr=1", "domain.spell.promt=x")
    assert (1, "") == (ran.status, ran.out)
    assert ["error[CF001]", "error[CF001]"] == [line.split(":")[0] for line in ran.err.splitlines() if "error[" in line]
    assert "no plan: 2 errors, 0 warnings" in ran.err


def test_sandbox_that_nobody_declares_is_an_error_here_and_a_warning_in_check(run: Run) -> None:
    override = ["domain.spell.verify.ans=demo.boxed(expected)", "domain.spell.sandbox={image: python-3.11}"]
    assert 0 == run("check", *override).status
    ran = run("plan", *override)
    assert (1, "") == (ran.status, ran.out)
    assert "error[SB001]" in ran.err


def test_judge_that_is_asked_and_not_chosen_is_told(run: Run) -> None:
    word = '+domain.spell.verify.kind=judge.score("large@1", "Is it kind?")'
    ran = run("plan", word)
    assert 0 == ran.status
    assert "warning: `judge.score` asks a judge, and a judge must be chosen for that, got judge=none" in ran.err
    assert "mix.spell" in ran.err
    assert "must be chosen" not in run("plan", word, "judge=openai", "judge.base_url=http://host/v1").err


def test_cfg_job_is_yaml_with_every_override_and_origin(run: Run) -> None:
    ran = run(
        "plan",
        "--cfg",
        "job",
        "trainer.lr=3e-4",
        "domain.spell.prompt=a: '{question}' # 1",
        "curriculum.mix.sort.share=1e1",
    )
    job = yaml.safe_load(ran.out)
    assert (0.0003, "a: '{question}' # 1") == (job["trainer"]["lr"], job["domain"]["spell"]["prompt"])
    assert "    lr: 0.0003  # <override 1>".strip() in ran.out
    assert "share: 1e1  # <override 3>" in ran.out
    assert "# engine/embedded.yaml:1" in ran.out
    assert {"spell", "caesar", "spiral", "sort"} == set(job["domain"])


def test_every_value_of_cfg_job_has_an_origin(run: Run) -> None:
    lines = run("plan", "--cfg", "job").out.splitlines()
    assert [] == [line for line in lines if not line.endswith(":") and "  # " not in line]


def test_cfg_hydra_shows_choices_and_what_was_typed(run: Run) -> None:
    node = yaml.safe_load(run("plan", "--cfg", "hydra", "trainer.lr=1e3", "domain.spell.params.bonus=1e3").out)["hydra"]
    assert ["trainer.lr=1e3", "domain.spell.params.bonus=1e3"] == node["overrides"]["task"]
    assert "embedded" == node["runtime"]["choices"]["engine"]


def test_cfg_all_is_both(run: Run) -> None:
    assert {"hydra", "trainer", "curriculum", "domain"} <= set(yaml.safe_load(run("plan", "--cfg", "all").out))
