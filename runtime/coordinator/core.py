"""The coordinator's core: events in, instructions out.

Pure: no input or output, no clock but the `now_s` handed in, no randomness but what the run's seed gives. The loop, the
simulator and the tests drive the same object. Invariants: those of `invariant.check`, after every event.
"""

from collections.abc import Callable
from typing import Any

from assay.core.trajectory import WeightVersion
from assay.core.wire import (
    Ack,
    CheckpointSaved,
    Commit,
    EpisodeDone,
    EpisodeFailed,
    Fault,
    Goodbye,
    Heartbeat,
    Hello,
    PublishWeights,
    Resume,
    Stop,
    Take,
    TasksReady,
    UseWeights,
    VerdictDone,
    VerifyFailed,
    WeightsPublished,
    WhoAreYou,
)
from assay.runtime.coordinator import (
    batch,
    curriculum,
    failure,
    feed,
    grouping,
    invariant,
    lease,
    lineage,
    patience,
    record,
    reunion,
    schedule,
    share,
)
from assay.runtime.coordinator.instruction import Drained, DrainRequested, Event, Finish, Instruction, Received, Send
from assay.runtime.coordinator.spec import RunSpec
from assay.runtime.coordinator.state import Episode, Run, Worker
from assay.runtime.coordinator.transition import step
from assay.runtime.coordinator.watchdog import Watchdog

# After a start from the ledger, workers have this many heartbeats to say what they still hold.
REUNION_HEARTBEATS = 2.0


class Core:
    """Decides everything.

    Args:
        spec: What the run is.
        run: State rebuilt from a ledger; None for a fresh run.
        incarnation: Counts starts of the coordinator, from 0.
        now_s: The run's clock at the start.
        should_validate: Check every invariant after every event.
    """

    def __init__(
        self,
        spec: RunSpec,
        run: Run | None = None,
        *,
        incarnation: int = 0,
        now_s: float = 0.0,
        should_validate: bool = False,
    ) -> None:
        self.spec = spec.check()
        self.run = run or Run(spec)
        self.run.now_s = now_s
        # A lease number never means two things, whatever the coordinator forgot.
        self.run.next_lease = max(self.run.next_lease, (incarnation << 32) + 1)
        self._incarnation = incarnation
        self._validate = should_validate
        self._leasing_from_s = now_s + (REUNION_HEARTBEATS * spec.heartbeat_s if run is not None else 0.0)
        self._last_drain_s = now_s
        self._next_look_s = now_s
        self._acks: dict[bytes, list[int]] = {}
        self._strangers: set[bytes] = set()
        self._take: tuple[bytes, Take] | None = None
        self._has_asked_publication = False
        self._stopping: Finish | None = None
        self._stop_by_s = 0.0
        self._drain_by_s = 0.0
        self._watchdog = Watchdog(spec.watchdog_s)
        self._handlers: dict[type[Any], Callable[[Worker, Any, list[Instruction]], None]] = {
            Heartbeat: self._on_heartbeat,
            Goodbye: self._on_goodbye,
            Fault: self._on_fault,
            TasksReady: self._on_tasks_ready,
            EpisodeDone: self._on_episode_done,
            EpisodeFailed: self._on_episode_failed,
            VerdictDone: self._on_verdict_done,
            VerifyFailed: self._on_verify_failed,
            Resume: self._on_resume,
            Take: self._on_take,
            Commit: self._on_commit,
            WeightsPublished: self._on_weights_published,
            CheckpointSaved: self._on_checkpoint_saved,
        }
        if spec.start is not None and self.run.curriculum.published is None:
            at = self.run.curriculum
            at.published, at.visible = spec.start, spec.start
            at.lineage, at.trainer_step = spec.start.version.lineage, spec.start.version.step
            at.frontier = at.start_step = spec.start.version.step
        self.run.should_prefetch = True

    @property
    def stop_reason(self) -> str:
        """Why the run is over and only waits for its workers to leave; empty while it goes on."""
        return "" if self._stopping is None else self._stopping.reason

    def handle(self, event: Event, now_s: float) -> list[Instruction]:
        """Return what one event makes necessary.

        Args:
            event: A past fact.
            now_s: The run's clock; never goes back.

        Raises:
            TransitionError: an illegal step, which is a fault of this program; carries the story.
            PluginError: a policy raised or said what it may not.
        """
        self.run.now_s = now_s
        out: list[Instruction] = []
        if isinstance(event, Received):
            self._on_received(event, out)
        elif isinstance(event, Drained):
            self._on_drained(out)
        else:
            self._on_drain_requested(event, out)
        if self._validate:
            invariant.check(self.run)
        return out

    def _on_received(self, event: Received, out: list[Instruction]) -> None:
        report = event.report
        if isinstance(report, Hello):
            self._on_hello(event.peer, report, out)
            return
        worker = self.run.workers.get(event.peer)
        if worker is None:
            # Not acknowledged: it will say who it is, and send this again.
            self._strangers.add(event.peer)
            return
        worker.seen_s = self.run.now_s
        if isinstance(report, Commit) and lineage.is_early(self.run, report):
            # Not acknowledged: the commit before it is on its way again.
            self.run.count("early")
            return
        self._handlers[type(report)](worker, report, out)
        if event.sequence and not isinstance(report, Take):
            self._acks.setdefault(event.peer, []).append(event.sequence)

    def _on_drained(self, out: list[Instruction]) -> None:
        run, now_s = self.run, self.run.now_s
        gap_s = now_s - self._last_drain_s
        if gap_s > self.spec.heartbeat_s:
            run.count("stall")
            lease.shift(run, gap_s)
            self._watchdog.shift(gap_s)
            self._leasing_from_s += gap_s
        self._last_drain_s = now_s
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + self.spec.heartbeat_s / 4
            failure.expire(run, out)
            self._look_after_trainer()
            self._look_for_standstill(out)
        if self._stopping is None:
            self._settle(out)
        elif not run.workers or now_s > self._stop_by_s:
            out.append(self._stopping)
        for peer in self._strangers:
            out.append(Send(peer, WhoAreYou()))
        self._strangers.clear()
        self._flush(out)

    def _settle(self, out: list[Instruction]) -> None:
        """Open, plan, lease and serve whatever the events since the last drain made possible."""
        run = self.run
        if not run.is_draining:
            curriculum.advance(run, out)
        if run.should_prefetch and not run.is_draining:
            run.should_prefetch = False
            batch.prefetch(run, out)
        if run.now_s >= self._leasing_from_s:
            schedule.schedule_rollouts(run, out)
            schedule.schedule_verifications(run, out)
        if self._take is not None and not run.is_draining:
            self._serve(*self._take, out)
        if run.is_draining:
            self._continue_drain(out)
        elif curriculum.is_over(run):
            self._stop(out, 0, "finished")

    def _serve(self, peer: bytes, take: Take, out: list[Instruction]) -> None:
        run = self.run
        if curriculum.serve_take(run, out, peer, take):
            self._take = None
            self._watchdog.progress("group -> update", run.now_s)
        elif curriculum.wants_publication(run) and not self._has_asked_publication:
            self._has_asked_publication = True
            out.append(Send(peer, PublishWeights(should_checkpoint=True)))

    def _flush(self, out: list[Instruction]) -> None:
        """Order the rows of what changed, then the acknowledgements, which the loop sends after the commit."""
        run = self.run
        if run.dirty_groups:
            out += map(record.group, run.dirty_groups.values())
            run.dirty_groups.clear()
        if run.dirty:
            out += map(record.state, run.dirty.values())
            run.dirty.clear()
        for peer, sequences in self._acks.items():
            out.append(Send(peer, Ack(tuple(sequences))))
        self._acks.clear()

    def _on_hello(self, peer: bytes, report: Hello, out: list[Instruction]) -> None:
        worker = reunion.join(self.run, out, peer, report, self._incarnation)
        if worker is not None:
            reunion.reunite(self.run, out, worker, report)
            if self._stopping is not None:
                out.append(Send(peer, Stop(self._stopping.reason)))

    def _on_heartbeat(self, worker: Worker, report: Heartbeat, out: list[Instruction]) -> None:
        lease.renew(self.run, worker, report.held, report.waiting)

    def _on_goodbye(self, worker: Worker, report: Goodbye, out: list[Instruction]) -> None:
        failure.lose(self.run, out, worker, report.reason or "goodbye", is_death=False)

    def _on_fault(self, worker: Worker, report: Fault, out: list[Instruction]) -> None:
        out.append(record.log("fault", f"{worker.name}: {report.detail}", self.run.now_s))
        self.run.count("fault")
        if report.is_fatal:
            self._stop(out, 1, f"{worker.name}: {report.detail}")

    def _on_tasks_ready(self, worker: Worker, report: TasksReady, out: list[Instruction]) -> None:
        feed.receive(self.run, out, report)
        self.run.should_prefetch = True
        self._watchdog.progress("source", self.run.now_s)

    def _on_episode_done(self, worker: Worker, report: EpisodeDone, out: list[Instruction]) -> None:
        run = self.run
        episode = self._answered(report.episode, report.lease, "rolling", "planned")
        if episode is None:
            return
        if episode.lease is not None:
            lease.end(run, episode.lease)
        if self._is_stale(episode, report.version):
            run.count("stale_weights")
            if run.curriculum.visible is not None:
                out.append(Send(worker.peer, UseWeights(run.curriculum.visible)))
            if episode.state == "rolling":
                failure.retry(run, out, episode, f"sampled by {report.version}, wanted {episode.oldest}")
            return
        run.rollout_queue.pop(episode.number, None)
        step(run, episode, "rolled")
        episode.version, episode.trajectory = report.version, report.trajectory
        episode.tokens, episode.trained_tokens = report.trace.tokens, report.num_trained_tokens
        episode.turns, episode.is_truncated = report.trace.turns, report.trace.truncated
        episode.answer, episode.wall_s = report.answer, report.trace.wall_s
        share.charge(run, episode.group, "compute_s", episode.wall_s)
        tally = run.tallies[episode.group.entry.name]
        tally.sampled_episodes += 1
        tally.sampled_tokens += episode.tokens
        if episode.group.purpose == "evaluate":
            tally.see(report.version, episode.tokens, episode.wall_s)
        out.append(record.rolled(report, run.now_s))
        lease.queue_verify(run, episode)
        self._watchdog.progress("rollout", run.now_s)

    def _is_stale(self, episode: Episode, version: WeightVersion) -> bool:
        group = episode.group
        if group.purpose == "evaluate":
            evaluation = self.run.evaluations[group.evaluation]
            return version != evaluation.version and version not in evaluation.same
        return version < (episode.oldest or group.oldest) or curriculum.is_behind(self.run, group, version)

    def _on_episode_failed(self, worker: Worker, report: EpisodeFailed, out: list[Instruction]) -> None:
        self._on_failed(report, "rolling", out)

    def _on_verify_failed(self, worker: Worker, report: VerifyFailed, out: list[Instruction]) -> None:
        self._on_failed(report, "verifying", out)

    def _on_failed(self, report: EpisodeFailed | VerifyFailed, state: str, out: list[Instruction]) -> None:
        run = self.run
        episode = run.episodes.get(report.episode)
        if episode is None or episode.lease is None or episode.lease.number != report.lease or episode.state != state:
            run.count("duplicate")
            return
        run.count(f"failed_{report.cause}")
        why = f"{report.cause}: {report.detail}"
        lease.end(run, episode.lease)
        if report.cause == "process_died":
            failure.blame(run, out, episode, why)
            if episode.state != state:
                return
        if report.cause == "lost_blob" and state == "verifying":
            # Back to `rolled` at the charge of the budget, then back to be played again.
            failure.replay(run, out, episode, why)
        else:
            failure.retry(run, out, episode, why)

    def _on_verdict_done(self, worker: Worker, report: VerdictDone, out: list[Instruction]) -> None:
        run = self.run
        episode = self._answered(report.episode, report.lease, "verifying", "rolled")
        if episode is None:
            return
        if episode.lease is not None:
            lease.end(run, episode.lease)
        grouping.judge(run, out, episode, report.verdict, report.wall_s)
        self._watchdog.progress("verify", run.now_s)

    def _answered(self, number: int, lease_number: int, leased: str, waiting: str) -> Episode | None:
        """Return the episode an answer is for: of the lease it holds, or late while nobody holds one again."""
        episode = self.run.episodes.get(number)
        if episode is not None:
            if episode.state == leased and episode.lease is not None and episode.lease.number == lease_number:
                return episode
            if episode.state == waiting:
                self.run.count("late_answer")
                return episode
        self.run.count("duplicate")
        return None

    def _on_resume(self, worker: Worker, report: Resume, out: list[Instruction]) -> None:
        refusal = lineage.resume(self.run, out, worker, report.step)
        if refusal is not None:
            self._stop(out, 1, refusal)
        self._take = None
        self._has_asked_publication = False

    def _on_take(self, worker: Worker, report: Take, out: list[Instruction]) -> None:
        if worker.peer != self.run.curriculum.trainer or report.lineage != self.run.curriculum.lineage:
            self.run.count("dead_lineage")
            return
        self._take = (worker.peer, report)

    def _on_commit(self, worker: Worker, report: Commit, out: list[Instruction]) -> None:
        if lineage.commit(self.run, out, report):
            self._has_asked_publication = False
            self._watchdog.progress("update", self.run.now_s)

    def _on_weights_published(self, worker: Worker, report: WeightsPublished, out: list[Instruction]) -> None:
        curriculum.publish(self.run, out, report.weights)

    def _on_checkpoint_saved(self, worker: Worker, report: CheckpointSaved, out: list[Instruction]) -> None:
        lineage.vouch(self.run, out, report.checkpoint)

    def _look_after_trainer(self) -> None:
        if self._take is not None and self._take[0] not in self.run.workers:
            self._take = None

    def _look_for_standstill(self, out: list[Instruction]) -> None:
        if self._stopping is None and not self.run.is_draining:
            why = self._watchdog.stuck(self.run, self._take is not None)
            if why is not None:
                self._stop(out, 3, why)

    def _on_drain_requested(self, event: DrainRequested, out: list[Instruction]) -> None:
        if not self.run.is_draining and self._stopping is None:
            self.run.is_draining = True
            self._drain_by_s = self.run.now_s + self.spec.drain_s
            out.append(record.log("drain", event.reason, self.run.now_s))

    def _continue_drain(self, out: list[Instruction]) -> None:
        """Wait for work in progress: episodes that play or wait to be verified, and the step the trainer makes.

        People are not waited for: what they are asked waits for a run that goes on.
        """
        run = self.run
        has_trainer = any(worker.role == "update" for worker in run.workers.values())
        has_verify = any(worker.role == "verify" for worker in run.workers.values())
        held = (item for item in run.leases.values() if item.episode is not None)
        is_idle = not any(patience.slots(item.worker, item.episode) for item in held)
        is_idle &= not (run.verify_queue and has_verify)
        if (is_idle and (self._take is not None or not has_trainer)) or run.now_s > self._drain_by_s:
            self._stop(out, 130, "drained")

    def _stop(self, out: list[Instruction], code: int, reason: str) -> None:
        if self._stopping is not None:
            return
        self._stopping = Finish(code, reason)
        self._stop_by_s = self.run.now_s + self.spec.drain_s
        out.append(record.log("stop", reason, self.run.now_s))
        out.extend(Send(peer, Stop(reason)) for peer in self.run.workers)
