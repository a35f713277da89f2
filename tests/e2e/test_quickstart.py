"""The whole quickstart, once: what it must reach, and that plain transformers agrees."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from real_run import Command, living

from assay.core.blob import BlobRef
from assay.core.trajectory import Trajectory
from assay.runtime.coordinator.ledger import read_only
from assay.runtime.observe.reading import Reading
from assay.runtime.store.local import LocalStore

pytestmark = pytest.mark.slow

GAIN = 0.25


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """`assay train` as `make train` runs it."""
    command = Command(("train",), tmp_path_factory.mktemp("quickstart"))
    try:
        assert 0 == command.wait(1800), command.output
        yield command
    finally:
        command.end()


def test_every_domain_gains_from_reinforcement(quickstart: Command) -> None:
    summary = json.loads((quickstart.run_folder / "summary.json").read_text())
    print(json.dumps(summary, indent=1))
    assert ["spell", "caesar", "spiral", "sort"] == list(summary["domains"])
    for name, domain in summary["domains"].items():
        assert domain["held_out"] >= 128, name
        assert domain["after"] - domain["before"] >= GAIN, (name, domain)
        assert domain["untrained"] <= 0.1, name
    assert 0 == summary["episodes"]["in_flight"]
    assert [] == living(quickstart.process.pid)


def test_plain_transformers_repeats_the_final_accuracy(quickstart: Command) -> None:
    folder = quickstart.run_folder
    played = final_episodes(folder)
    said = greedy([prompt for _, prompt, *_ in played], newest_checkpoint(folder))
    summary = json.loads((folder / "summary.json").read_text())["domains"]
    for entry in summary:
        mine = [(text, expected) for text, (name, _, expected, _) in zip(said, played, strict=True) if name == entry]
        accuracy = sum(text == expected for text, expected in mine) / len(mine)
        assert abs(accuracy - summary[entry]["after"]) <= 0.01, entry
    same = sum(text == episode[3] for text, episode in zip(said, played, strict=True))
    assert same >= 0.99 * len(played)


def newest_checkpoint(folder: Path) -> Path:
    """Return the folder of the last checkpoint."""
    with Reading(folder / "ledger.sqlite") as reading:
        checkpoints = reading.checkpoints()
    return checkpoints[max(checkpoints)]


def final_episodes(folder: Path) -> list[tuple[str, str, str, str]]:
    """Return entry, prompt, expected answer and answer of every episode of the last evaluation."""
    ledger: sqlite3.Connection = read_only(folder / "ledger.sqlite")
    store = LocalStore(folder / "blobs")
    bodies = {
        (entry, index): msgspec.msgpack.decode(store.get(msgspec.msgpack.decode(blob, type=BlobRef)))
        for entry, index, blob in ledger.execute("SELECT entry, idx, blob FROM task WHERE split = 'eval'")
    }
    episodes = []
    for entry, index, packed in ledger.execute(
        "SELECT g.entry, g.idx, e.trajectory FROM episode e JOIN grp g USING (grp) WHERE g.evaluation = 'after'"
    ):
        trajectory = msgspec.msgpack.decode(store.get(msgspec.msgpack.decode(packed, type=BlobRef)), type=Trajectory)
        fields = bodies[entry, index][2]
        episodes.append((entry, trajectory.turns[0].prompt[0].text, fields["expected"], trajectory.final_text))
    store.close()
    ledger.close()
    return episodes


def greedy(prompts: list[str], checkpoint: Path) -> list[str]:
    """Return what plain transformers says, one prompt at a time; nothing of ours but the prompt's text is used."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    mark = json.loads((checkpoint / "assay.json").read_text())["separator"]
    said = []
    for prompt in prompts:
        ids = [*tokenizer.encode(prompt, add_special_tokens=False), tokenizer.convert_tokens_to_ids(mark)]
        with torch.inference_mode():
            out = model.generate(
                torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, max_new_tokens=5
            )
        said.append(tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True).replace(" ", ""))
    return said
