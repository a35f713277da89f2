"""Grade the same answers with all five systems: what each pays must be what `answers.jsonl` says.

    python docs/results/authoring/compare.py SYSTEM [--source FOLDER]    grades, and keeps what came in rewards.json
    python docs/results/authoring/compare.py                             compares what was kept

SYSTEM is assay, verifiers, nemo_gym, inspect or trl; its packages must be installed where this runs (NeMo Gym comes as
a checkout: `--source`). Nothing here calls a model: a row says what was answered, and in how many tokens.
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS, KEPT = HERE / "answers.jsonl", HERE / "rewards.json"
Rows = list[dict[str, Any]]


def main() -> int:
    """Grade or compare; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", nargs="?", choices=sorted(GRADERS))
    parser.add_argument("--source", type=Path, help="checkout of NeMo Gym")
    given = parser.parse_args()
    rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if given.system:
        if given.source:
            sys.path.insert(0, str(given.source.resolve()))
        found, used = GRADERS[given.system](rows)
        kept[given.system] = {"version": used, "rewards": [round(reward, 6) for reward in found]}
        KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    return 0 if _agree(rows, kept) else 1


def _agree(rows: Rows, kept: dict[str, Any]) -> bool:
    is_same = True
    for index, row in enumerate(rows):
        found = {system: entry["rewards"][index] for system, entry in kept.items()}
        wrong = [name for name, reward in found.items() if not math.isclose(reward, row["reward"], abs_tol=1e-6)]
        is_same &= not wrong
        print(f"{row['reward']:8.5f}  {row['what']}", *(f"  {name} pays {found[name]}" for name in wrong))
    print(f"{len(rows)} answers, graded by {', '.join(kept)}: {'the same' if is_same else 'DIFFERENT'}")
    return is_same


def _assay(rows: Rows) -> tuple[list[float], str]:
    """In locked-down worker processes, as a run does."""
    from assay.core.episode import Episode
    from assay.core.message import Message
    from assay.core.registry import installed
    from assay.core.trajectory import Trace
    from assay.core.verdict import Scored
    from assay.dsl.compile import compile_file
    from assay.dsl.expr.function import BUILTIN
    from assay.runtime.preflight.control import subject_of
    from assay.runtime.verify.grade import GradeDesk
    from assay.runtime.verify.host import VerifierHost

    registry = installed()
    compiled = compile_file(HERE / "assay" / "src" / "assay_domain_sums" / "conf" / "domain" / "sums.yaml", registry)
    rubric = subject_of("sums", compiled, registry, BUILTIN).rubric
    found: dict[int, float] = {}
    with VerifierHost() as host:
        desk = GradeDesk(host, {"sums": rubric})
        for index, row in enumerate(rows):
            said, fields = Message.of_text("assistant", row["text"]), {k: row[k] for k in ("question", "expected")}
            trace = Trace(turns=1, tokens=row["tokens"], prompt_tokens=1)
            desk.submit(index, "sums", Episode(index, "sums", fields, (said,), row["text"], None, trace))
        while len(found) < len(rows):
            for key, verdict in desk.poll(1.0):
                assert isinstance(verdict, Scored), verdict
                found[key] = verdict.payout.reward
    return [found[index] for index in range(len(rows))], version("assay-rl")


def _verifiers(rows: Rows) -> tuple[list[float], str]:
    """`Task.score` over a trace, as an environment does after a rollout."""
    sys.path.insert(0, str(HERE / "verifiers"))
    import verifiers.v1 as vf
    from sums_v1.taskset import SumsData, SumsTask
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, ModelCall, TraceTask

    def grade(row: dict[str, Any]) -> float:
        data = SumsData(prompt=row["question"], expected=row["expected"])
        usage = vf.Usage(prompt_tokens=1, completion_tokens=row["tokens"])
        trace = vf.Trace(
            task=TraceTask(type="SumsTask", data=data),
            agent=AgentInfo(config=vf.AgentConfig()),
            nodes=[MessageNode(message=vf.AssistantMessage(content=row["text"]), sampled=True)],
            calls=[ModelCall(node=0, usage=usage)],
        )
        asyncio.run(SumsTask(data).score(trace))
        return trace.reward

    return [grade(row) for row in rows], version("verifiers")


def _nemo_gym(rows: Rows) -> tuple[list[float], str]:
    """A POST to `/verify` of the server's application."""
    sys.path.insert(0, str(HERE / "nemo_gym" / "sums"))
    from unittest.mock import MagicMock

    from app import SumsConfig, SumsServer
    from fastapi.testclient import TestClient
    from nemo_gym.package_info import __version__
    from nemo_gym.server_utils import ServerClient

    config = SumsConfig(host="127.0.0.1", port=8080, entrypoint="", name="sums")
    server = SumsServer(config=config, server_client=MagicMock(spec=ServerClient))
    client = TestClient(server.setup_webserver())

    def grade(row: dict[str, Any]) -> float:
        content = [{"type": "output_text", "text": row["text"], "annotations": []}]
        message = {"id": "", "type": "message", "role": "assistant", "status": "completed", "content": content}
        usage = {"input_tokens": 1, "output_tokens": row["tokens"], "total_tokens": row["tokens"] + 1}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": "", "created_at": 0, "model": "", "object": "response", "output": [message], "usage": usage}
        response |= {"parallel_tool_calls": False, "tool_choice": "none", "tools": []}
        asked = {"responses_create_params": {"input": row["question"]}, "expected": row["expected"]}
        answer = client.post("/verify", json=asked | {"response": response})
        answer.raise_for_status()
        return float(answer.json()["reward"])

    return [grade(row) for row in rows], __version__


def _inspect(rows: Rows) -> tuple[list[float], str]:
    """`inspect_ai.eval` of the scorer over a model that says what the table says."""
    sys.path.insert(0, str(HERE / "inspect" / "src"))
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from sums.task import graded, to_sample

    outputs = []
    for row in rows:
        outputs.append(ModelOutput.from_content("mockllm/model", row["text"]))
        outputs[-1].usage = ModelUsage(output_tokens=row["tokens"])
    model = get_model("mockllm/model", custom_outputs=outputs)
    with tempfile.TemporaryDirectory() as folder:
        task = Task(dataset=[to_sample(row) for row in rows], scorer=graded())
        # One at a time: the model answers in order.
        (log,) = inspect_eval(task, model=model, log_dir=folder, display="none", max_samples=1)
        assert log.samples is not None
        found = {sample.id: sample.scores["graded"].value["reward"] for sample in log.samples}
    return [float(found[index + 1]) for index in range(len(rows))], version("inspect-ai")


def _trl(rows: Rows) -> tuple[list[float], str]:
    """The reward functions, called and weighted as `GRPOTrainer` does."""
    sys.path.insert(0, str(HERE / "trl" / "src"))
    from sums.reward import REWARDS, WEIGHTS

    given = {
        "completions": [[{"role": "assistant", "content": row["text"]}] for row in rows],
        "completion_ids": [[0] * row["tokens"] for row in rows],
        "expected": [row["expected"] for row in rows],
    }
    columns = [reward(**given) for reward in REWARDS]
    return [sum(w * v for w, v in zip(WEIGHTS, values, strict=True)) for values in zip(*columns, strict=True)], (
        version("trl")
    )


GRADERS: dict[str, Callable[[Rows], tuple[list[float], str]]] = {
    "assay": _assay,
    "verifiers": _verifiers,
    "nemo_gym": _nemo_gym,
    "inspect": _inspect,
    "trl": _trl,
}

if __name__ == "__main__":
    sys.exit(main())
