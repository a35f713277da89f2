"""The trainer's lineages: a trainer that comes back from a checkpoint opens a new one, and the former is void.

Within a lineage every step is committed once, in order. Across lineages a step consumes the same batch; its episodes
count as trained once.
"""

from assay.core.trajectory import WeightVersion
from assay.core.wire import Checkpoint, Commit, Refused, Resumed
from assay.runtime.coordinator import batch, curriculum, record, share
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.spec import StageSpec
from assay.runtime.coordinator.state import Run, Worker


def resume(run: Run, out: list[Instruction], worker: Worker, step: int) -> str | None:
    """Open a lineage for a trainer that stands at a step; returns why that cannot be, where it cannot.

    Asking twice opens one: the lineage belongs to the trainer's process.
    """
    at = run.curriculum
    if at.trainer != worker.peer:
        if step > at.frontier or any(number not in run.batches for number in range(step + 1, at.frontier + 1)):
            refusal = f"the ledger cannot go on from step {step}; its newest checkpoint is {at.checkpoint}"
            out.append(Send(worker.peer, Refused(refusal)))
            return refusal
        at.lineage += 1
        at.trainer, at.trainer_step, at.resumed_step = worker.peer, step, step
        out.append(record.curriculum(run))
        out.append(record.log("lineage", f"{at.lineage} from step {step} by {worker.name}", run.now_s))
    out.append(Send(worker.peer, Resumed(WeightVersion(at.lineage, at.resumed_step))))
    return None


def is_early(run: Run, report: Commit) -> bool:
    """Whether the commit before this one is still on its way; it must not be acknowledged then."""
    at = run.curriculum
    return report.version.lineage == at.lineage and report.version.step > at.trainer_step + 1


def commit(run: Run, out: list[Instruction], report: Commit) -> bool:
    """Take in a step; whether it was news."""
    at = run.curriculum
    version = report.version
    if version.lineage != at.lineage:
        run.count("dead_lineage")
        return False
    if version.step != at.trainer_step + 1 or version.step not in run.batches:
        run.count("duplicate")
        return False
    at.trainer_step = version.step
    run.last_commit_s = run.now_s
    if version.step > 1:
        run.wait_s += report.wait_s
    out.append(record.commit(report, run.now_s))
    if report.checkpoint is not None:
        vouch(run, out, report.checkpoint)
    taken = run.batches[version.step]
    is_news = not taken.is_committed
    batch.commit(run, taken)
    stage = run.spec.phases[taken.stage]
    if is_news and isinstance(stage, StageSpec) and stage.kind == "rl":
        share.watch(run, out, stage)
    curriculum.after_commit(run, out)
    out.append(record.curriculum(run))
    return True


def vouch(run: Run, out: list[Instruction], checkpoint: Checkpoint) -> None:
    """Take in a checkpoint; batches before the one it replaces will never be taken again."""
    at = run.curriculum
    if checkpoint.version.lineage != at.lineage:
        run.count("dead_lineage")
        return
    out.append(record.checkpoint(checkpoint, run.now_s))
    oldest = at.checkpoint.version.step if at.checkpoint is not None else 0
    at.checkpoint = checkpoint
    for number in [number for number, taken in run.batches.items() if number <= oldest and taken.is_committed]:
        del run.batches[number]
