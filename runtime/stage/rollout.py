"""Rollout workers: an engine and many concurrent episodes.

What was sampled is what is trained: token ids, log-probs and versions are those of the engine. New weights are taken
between two tokens. Invariants: an episode begins under weights at least as new as its lease asks; an evaluation is
sampled whole, greedily, under the one version that its lease pins, and weights wait while one runs; a trajectory is
durable before its result is sent.
"""

import time
from collections import deque
from pathlib import Path

import msgspec

from assay.core.array import Array
from assay.core.chat import ChatFormat
from assay.core.engine import Completion, Engine, GenerateRequest, Sampling
from assay.core.error import AssayError, EngineError
from assay.core.message import Message
from assay.core.store import Store
from assay.core.task import Task
from assay.core.trajectory import Segment, Trace, Trajectory, Turn, WeightVersion
from assay.core.wire import (
    Cancel,
    EpisodeDone,
    EpisodeFailed,
    FailureCause,
    LeaseEpisode,
    Order,
    UseWeights,
    Weights,
)
from assay.dsl.program import Program
from assay.runtime.audit.answer import answer_digest
from assay.runtime.run.argument import bind
from assay.runtime.run.plan import RunPlan
from assay.runtime.stage.probe import Probe
from assay.runtime.stage.prompt import opening
from assay.runtime.verify.host import Outcome, VerifierHost, VerifierRef
from assay.runtime.verify.message import Job
from assay.runtime.wire.client import Client

# An episode without a written limit ends here; nothing is proved from it.
DEFAULT_MAX_TOKENS = 1024


class _Episode:
    """An episode being played."""

    def __init__(self, lease: LeaseEpisode, task: Task, messages: tuple[Message, ...], prompt_ids: Array) -> None:
        self.lease = lease
        self.task = task
        self.messages = messages
        self.prompt_ids = prompt_ids
        self.started_s = time.monotonic()
        self.completion: Completion | None = None
        self.text = ""


class RolloutStage:
    """See `assay.runtime.stage.worker.Stage`.

    Args:
        plan: Of the run.
        engine: With the weights of the plan's policy.
        chat: Of that policy.
        store: To write to.
        client: Connection.
        parsers: Where answer parsers run; None where no domain has one.
        temperature: Of training episodes.
        top_p: Of training episodes.
        eval_temperature: Of evaluations.
        probe: Compares new weights with the trainer's own log-probs.
    """

    def __init__(
        self,
        plan: RunPlan,
        engine: Engine,
        chat: ChatFormat,
        store: Store,
        client: Client,
        *,
        parsers: VerifierHost | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        eval_temperature: float = 0.0,
        probe: Probe | None = None,
    ) -> None:
        self._programs = {entry.name: entry.program for entry in plan.entries}
        self._leaves = {entry.name: entry.leaves for entry in plan.entries}
        self._engine = engine
        self._chat = chat
        self._store = store
        self._client = client
        self._parsers = parsers
        self._temperature, self._top_p, self._eval_temperature = temperature, top_p, eval_temperature
        self._probe = probe
        self._policy = plan.policy
        self._has_weights = False
        self._waiting: deque[LeaseEpisode] = deque()
        self._playing: dict[int, _Episode] = {}
        self._parsing: dict[int, _Episode] = {}
        self._next: Weights | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an episode is being played."""
        return bool(self._playing or self._parsing or self._next)

    def take(self, order: Order) -> None:
        """Queue an episode, cancel some, or remember newer weights."""
        if isinstance(order, LeaseEpisode):
            self._waiting.append(order)
        elif isinstance(order, UseWeights):
            self._next = order.weights
        elif isinstance(order, Cancel):
            self._cancel(frozenset(order.leases))

    def work(self) -> None:
        """Take weights and leases, sample one token of every episode, send what ended."""
        self._swap()
        self._begin()
        done = self._finish(self._engine.poll() if self._playing else [])
        if self._parsing and self._parsers is not None:
            # Sampling goes on; only a stage that samples nothing may wait.
            done += [self._parsed(outcome) for outcome in self._parsers.poll(0.0 if self._playing else 0.05)]
        results = [result for result in done if result is not None]
        if results:
            self._store.sync()
            for result in results:
                self._client.send(result)
        self._expire()

    def close(self) -> None:
        """Stop sampling; leases that were not answered go back."""
        self._engine.close()
        if self._parsers is not None:
            self._parsers.close()
        self._store.close()

    def _swap(self) -> None:
        weights = self._next
        if weights is None or any(episode.lease.pinned is not None for episode in self._playing.values()):
            return
        self._next = None
        if weights.version == self._engine.version and (self._has_weights or weights.folder == self._policy):
            # A run without a trainer says nothing but what the engine began with.
            self._has_weights = True
            return
        try:
            self._engine.update_weights(Path(weights.folder), weights.version)
        except EngineError:
            # A newer version has overwritten this one; its own order is on the way.
            if not self._has_weights:
                self._next = weights
                time.sleep(0.01)
            return
        self._has_weights = True
        if self._probe is not None:
            self._probe.check(self._engine, weights.version)

    def _begin(self) -> None:
        later: deque[LeaseEpisode] = deque()
        while self._waiting:
            lease = self._waiting.popleft()
            wanted = lease.pinned or lease.oldest
            if not self._has_weights or self._engine.version < wanted:
                later.append(lease)
            elif lease.pinned is not None and lease.pinned != self._engine.version:
                self._fail(lease, "engine", f"weights {lease.pinned} are gone, at {self._engine.version}")
            else:
                self._start(lease)
        self._waiting = later

    def _start(self, lease: LeaseEpisode) -> None:
        program = self._programs[lease.entry]
        try:
            task = msgspec.msgpack.decode(self._store.get(lease.body), type=Task)
            messages = opening(program, task.fields)
            prompt_ids = self._chat.encode(messages)
            self._engine.submit(GenerateRequest(lease.lease, prompt_ids, self._sampling(lease, program)))
        except EngineError as error:
            self._fail(lease, "engine", str(error))
        except AssayError as error:
            self._fail(lease, "lost_blob", str(error))
        else:
            self._playing[lease.lease] = _Episode(lease, task, messages, prompt_ids)

    def _sampling(self, lease: LeaseEpisode, program: Program) -> Sampling:
        is_evaluation = lease.pinned is not None
        return Sampling(
            max_tokens=program.episode.max_tokens or DEFAULT_MAX_TOKENS,
            temperature=self._eval_temperature if is_evaluation else self._temperature,
            top_p=1.0 if is_evaluation else self._top_p,
            seed=lease.seed,
            stop_ids=self._chat.stop_ids,
        )

    def _finish(self, completions: list[Completion]) -> list[EpisodeDone | None]:
        done: list[EpisodeDone | None] = []
        for completion in completions:
            episode = self._playing.pop(completion.request_id, None)
            if episode is None or completion.finish_reason == "aborted":
                continue
            episode.completion = completion
            episode.text = self._chat.decode(completion.sampled_ids)
            program = self._programs[episode.lease.entry]
            if program.answer is None:
                done.append(self._result(episode, episode.text))
                continue
            arguments = bind(program.answer, program.params, episode.task.fields)
            ref = self._leaves[episode.lease.entry][program.answer.leaf]
            assert self._parsers is not None
            self._parsers.submit(Job(completion.request_id, ref, arguments, answer=episode.text))
            self._parsing[completion.request_id] = episode
        return done

    def _parsed(self, outcome: Outcome) -> EpisodeDone | None:
        episode = self._parsing.pop(outcome.job_id, None)
        if episode is None:
            return None
        if outcome.measurement is None:
            self._fail(episode.lease, "infra", outcome.detail)
            return None
        answer = outcome.measurement.signals["answer"]
        return self._result(episode, answer if isinstance(answer, str) else None)

    def _result(self, episode: _Episode, answer: str | None) -> EpisodeDone:
        trajectory = build_trajectory(episode, answer)
        ref = self._store.put(msgspec.msgpack.encode(trajectory))
        first = WeightVersion.unpack(int(trajectory.segments[0].versions.to_list()[0]))
        lease = episode.lease
        num_trained = sum(sum(segment.loss_mask.data) for segment in trajectory.segments)
        told = answer_digest(answer)
        return EpisodeDone(lease.lease, lease.episode, ref, first, trajectory.trace, num_trained, told)

    def _expire(self) -> None:
        now = time.monotonic()
        for number, episode in list(self._playing.items()):
            if now - episode.started_s > episode.lease.max_runtime_s:
                self._engine.abort(number)
                del self._playing[number]
                self._fail(episode.lease, "timeout", f"not done after {episode.lease.max_runtime_s:g} s")

    def _cancel(self, leases: frozenset[int]) -> None:
        self._waiting = deque(lease for lease in self._waiting if lease.lease not in leases)
        for lease in leases:
            if self._playing.pop(lease, None) is not None:
                self._engine.abort(lease)
            self._parsing.pop(lease, None)

    def _fail(self, lease: LeaseEpisode, cause: FailureCause, detail: str) -> None:
        self._client.send(EpisodeFailed(lease.lease, lease.episode, cause, detail))


def build_trajectory(episode: _Episode, answer: str | None) -> Trajectory:
    """Return an episode of one turn as it is stored."""
    completion = episode.completion
    assert completion is not None
    num_sampled = len(completion.sampled_ids)
    segment = Segment(
        parent=None,
        prompt_ids=episode.prompt_ids,
        sampled_ids=completion.sampled_ids,
        loss_mask=Array("uint8", (num_sampled,), b"\x01" * num_sampled),
        behavior_logprobs=completion.logprobs,
        versions=completion.versions,
        finish_reason=completion.finish_reason,
    )
    trace = Trace(
        turns=1,
        tokens=num_sampled,
        prompt_tokens=len(episode.prompt_ids),
        truncated=completion.finish_reason == "length",
        parsed=answer is not None,
        wall_s=time.monotonic() - episode.started_s,
    )
    reply = Message.of_text("assistant", episode.text)
    turn = Turn(episode.messages, reply, 0)
    lease = episode.lease
    return Trajectory(lease.episode, lease.task, lease.seed, (segment,), (turn,), episode.text, answer, trace)


def parser_refs(plan: RunPlan) -> list[VerifierRef]:
    """Return the answer parsers of a run."""
    used = {entry.leaves[entry.program.answer.leaf] for entry in plan.entries if entry.program.answer is not None}
    return [VerifierRef(ref) for ref in sorted(used)]
