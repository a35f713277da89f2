"""Where the run stands in its curriculum: stages, barriers, evaluations, and what rollout workers may see.

A phase begins only at a barrier: the trainer's newest weights are published and saved, and no evaluation is open. One
exception saves time and bends nothing: an `sft` stage may run beside an evaluation, since the evaluation pins its
version and newer ones are held back from rollout workers until it ends.
"""

from collections import deque

from assay.core.trajectory import WeightVersion
from assay.core.wire import Take, UseWeights, Weights
from assay.runtime.coordinator import admission, batch, grouping, record, rule
from assay.runtime.coordinator.instruction import Instruction, Send
from assay.runtime.coordinator.spec import EvaluationSpec, StageSpec
from assay.runtime.coordinator.state import Evaluation, Group, Run


def phase(run: Run) -> StageSpec | EvaluationSpec | None:
    """Return the present phase; None when all are over."""
    phases = run.spec.phases
    return phases[run.curriculum.phase] if run.curriculum.phase < len(phases) else None


def is_settled(run: Run) -> bool:
    """Whether the trainer has consumed every batch formed and published what came of it."""
    at = run.curriculum
    newest = WeightVersion(at.lineage, at.trainer_step)
    return at.published is not None and at.published.version == newest and at.trainer_step == at.frontier


def is_saved(run: Run) -> bool:
    """Whether a checkpoint holds the trainer's newest weights.

    Without one, an evaluation that pins them could not go on once every process is gone: nobody can make the very same
    weights again.
    """
    at = run.curriculum
    return at.checkpoint is not None and at.checkpoint.version.step == at.trainer_step


def is_behind(run: Run, group: Group, version: WeightVersion) -> bool:
    """Whether weights are of a trainer that fell back and is on its way to those a group was admitted under.

    Sampled by such weights, an episode would be trained past its staleness bound. Where not every step is published,
    the version waited for may never come.
    """
    stage = run.spec.phases[group.stage] if group.purpose == "train" else None
    if not isinstance(stage, StageSpec) or stage.publish_every != 1 or is_settled(run):
        return False
    return version.step < group.oldest.step


def advance(run: Run, out: list[Instruction]) -> None:
    """Close what is over, open what may begin, plan what there are credits for."""
    close_evaluation(run, out)
    show(run, out)
    while True:
        at = run.curriculum
        now = phase(run)
        if isinstance(now, EvaluationSpec):
            if now.name not in run.evaluations and not _open(run, out, now):
                break
            if not run.evaluations[now.name].is_done and not _is_sft(run, at.phase + 1):
                break
        elif isinstance(now, StageSpec):
            if not (at.is_stage_over and is_settled(run) and is_saved(run)):
                break
        else:
            break
        _enter(run, out, at.phase + 1)
    evaluation = run.open_evaluation
    if evaluation is not None:
        admission.evaluate(run, out, evaluation)
        close_evaluation(run, out)
    now = phase(run)
    is_open = isinstance(now, StageSpec) and now.kind == "rl" and not run.curriculum.is_stage_over
    # A barrier: the last version of what came before is in the workers' hands and no evaluation pins another.
    if is_open and isinstance(now, StageSpec) and run.open_evaluation is None and run.curriculum.visible is not None:
        admission.admit(run, out, now)


def is_over(run: Run) -> bool:
    """Whether every phase is over and every evaluation done."""
    return phase(run) is None and run.open_evaluation is None


def after_commit(run: Run, out: list[Instruction]) -> None:
    """Ask whether the stage ends with the step just committed."""
    at = run.curriculum
    stage = phase(run)
    if not isinstance(stage, StageSpec) or at.trainer_step != at.frontier or at.is_stage_over:
        return
    length = at.trainer_step - at.start_step
    if length < 1:
        return
    if (stage.steps and length >= stage.steps) or (stage.until is not None and rule.is_over(run, stage.until)):
        at.is_stage_over = True
        out.append(record.log("stage_over", f"{stage.name} after {length} steps", run.now_s))
        for group in list(run.groups.values()):
            if group.stage == at.phase and group.state != "batched":
                grouping.cancel(run, out, group, "stage_over")


def publish(run: Run, out: list[Instruction], weights: Weights) -> None:
    """Take in a version the trainer wrote."""
    at = run.curriculum
    if weights.version.lineage != at.lineage:
        run.count("dead_lineage")
        return
    if at.published is not None and weights.version <= at.published.version:
        run.count("duplicate")
        return
    at.published = weights
    out.append(record.weights(weights, run.now_s))
    evaluation = run.open_evaluation
    if evaluation is not None and weights.version.step == evaluation.version.step == at.resumed_step:
        # The checkpoint is what the evaluation pins: worker processes that came back too can read it under this name.
        evaluation.same.add(evaluation.version)
        evaluation.version = weights.version
        out.append(record.evaluation(evaluation, run.now_s))
        _show(run, out)
    show(run, out)


def show(run: Run, out: list[Instruction]) -> None:
    """Let rollout workers see the newest version, unless an evaluation pins another."""
    at = run.curriculum
    if at.published is None or run.open_evaluation is not None or at.published == at.visible:
        return
    _show(run, out)


def serve_take(run: Run, out: list[Instruction], peer: bytes, take: Take) -> bool:
    """Answer a waiting trainer; whether it got its batch."""
    at = run.curriculum
    if take.step not in run.batches:
        stage = phase(run)
        if take.step != at.frontier + 1 or not isinstance(stage, StageSpec):
            return False
        if at.is_stage_over or batch.form(run, out, stage) is None:
            return False
        out.append(record.curriculum(run))
    out.append(Send(peer, batch.answer(run, take.step)))
    return True


def wants_publication(run: Run) -> bool:
    """Whether the run waits for nothing but a version that the trainer holds, and has not published or not saved."""
    at = run.curriculum
    return at.is_stage_over and at.trainer_step == at.frontier and not (is_settled(run) and is_saved(run))


def close_evaluation(run: Run, out: list[Instruction]) -> None:
    """End an evaluation whose last episode is done."""
    evaluation = run.open_evaluation
    if evaluation is None or evaluation.num_open:
        return
    if any(evaluation.todo.values()) or any(evaluation.canaries.values()):
        return
    evaluation.is_done = True
    run.open_evaluation = None
    out.append(record.evaluation(evaluation, run.now_s))
    out.append(record.log("evaluated", f"{evaluation.name} at {evaluation.version}", run.now_s))
    show(run, out)


def _show(run: Run, out: list[Instruction]) -> None:
    at = run.curriculum
    assert at.published is not None
    at.visible = at.published
    out.append(record.curriculum(run))
    for worker in run.workers.values():
        if worker.role == "rollout":
            out.append(Send(worker.peer, UseWeights(at.visible)))


def _open(run: Run, out: list[Instruction], spec: EvaluationSpec) -> bool:
    at = run.curriculum
    if run.open_evaluation is not None or not is_settled(run) or at.visible != at.published or at.visible is None:
        return False
    todo, canaries = (
        {name: deque(range(size)) for name, size in sizes.items() if size and name in run.entries}
        for sizes in (spec.sizes, spec.canaries)
    )
    evaluation = Evaluation(spec.name, at.visible.version, todo, samples=spec.samples, canaries=canaries)
    run.evaluations[spec.name] = run.open_evaluation = evaluation
    out.append(record.evaluation(evaluation, run.now_s))
    return True


def _enter(run: Run, out: list[Instruction], index: int) -> None:
    at = run.curriculum
    was_stage = isinstance(run.spec.phases[at.phase], StageSpec)
    at.phase = index
    if was_stage:
        at.start_step, at.is_stage_over = at.frontier, False
        at.memory = None
        run.admitted.clear()
    now = phase(run)
    out.append(record.curriculum(run))
    out.append(record.log("phase", "end" if now is None else now.name, run.now_s))
    batch.prefetch(run, out)


def _is_sft(run: Run, index: int) -> bool:
    following = run.spec.phases[index] if index < len(run.spec.phases) else None
    return isinstance(following, StageSpec) and following.kind == "sft"
