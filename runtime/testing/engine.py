"""The contract of an engine: tokens are sampled from the weights they name, and nothing else decides which.

The engine is given a small random policy in a folder, as a rollout worker gives it one, and weights as a trainer
publishes them. What is claimed of log-probs is that the engine agrees with itself; that it computes what the trainer
computes, the probe of every run shows.
"""

import math
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from assay.core.array import Array
from assay.core.engine import Completion, Engine, GenerateRequest, Sampling
from assay.core.error import EngineError
from assay.core.leaf import Factory
from assay.core.trajectory import WeightVersion
from assay.runtime.policy.architecture import Architecture
from assay.runtime.testing.factory import FactoryContract
from assay.runtime.testing.policy import MAX_CONTEXT, PolicyShelf

_PROMPTS = ((70, 71, 72), (70, 71, 72, 73), (80,), tuple(range(60, 90)), (70, 71, 72))
_LONG = 24
_NEW = WeightVersion(0, 7)


class EngineContract(FactoryContract):
    """What holds of an engine.

    Attributes:
        engine: Its factory, called as `factory(policy, **options)` with the folder of a policy.
        tolerance: Largest difference of a log-prob that rounding explains.
        patience_s: Until any request here must be done.
    """

    kind = "engine"
    engine: ClassVar[Factory]
    tolerance: ClassVar[float] = 1e-4
    patience_s: ClassVar[float] = 60.0

    def test_logprobs_are_those_of_the_sampled_tokens(self) -> None:
        """One log-prob and one version per token, none above 0, and what `logprobs` says of the same tokens."""
        engine = self._open()
        requests = [_request(number, prompt) for number, prompt in enumerate(_PROMPTS)]
        done = self._drain(engine, requests)
        for request in requests:
            found = done[request.request_id]
            shapes = {found.sampled_ids.shape, found.logprobs.shape, found.versions.shape}
            dtypes = (found.sampled_ids.dtype, found.logprobs.dtype, found.versions.dtype)
            self.require(len(shapes) == 1, "every token must have its log-prob and version", got=shapes)
            self.require(dtypes == ("int32", "float32", "int64"), "arrays must have their types", got=dtypes)
            logprobs = found.logprobs.to_list()
            self.require(all(math.isfinite(one) and one <= 0 for one in logprobs), "a log-prob must be", got=logprobs)
            tokens = _join(request.prompt_ids, found.sampled_ids)
            (again,) = engine.logprobs([tokens])
            expected = again.to_list()[len(request.prompt_ids) - 1 :]
            self._close(logprobs, expected, "log-probs must be those of the tokens that were sampled")
        engine.close()

    def test_same_seed_gives_the_same_tokens_whatever_else_runs(self) -> None:
        """Alone, among others, and in another order; another seed gives others."""
        engine = self._open()
        alone = self._drain(engine, [_request(1, _PROMPTS[0])])[1].sampled_ids.to_list()
        others = [_request(number, prompt) for number, prompt in enumerate(_PROMPTS, start=10)]
        for requests in ([_request(1, _PROMPTS[0]), *others], [*others, _request(1, _PROMPTS[0])]):
            among = self._drain(engine, requests)[1].sampled_ids.to_list()
            self.require(alone == among, "tokens must depend on seed, weights and prompt alone", got=among)
        other = self._drain(engine, [_request(2, _PROMPTS[0])])[2].sampled_ids.to_list()
        self.require(alone != other, "another seed must give other tokens", got=other)
        engine.close()

    def test_greedy_sampling_takes_no_notice_of_the_seed(self) -> None:
        """Temperature 0 gives the same tokens for every seed, and log-probs as of temperature 1."""
        engine = self._open()
        first = _request(1, _PROMPTS[0], temperature=0.0, seed=1)
        done = self._drain(engine, [first, _request(2, _PROMPTS[0], temperature=0.0, seed=2)])
        self.require(
            done[1].sampled_ids == done[2].sampled_ids, "greedy tokens must not depend on the seed", got=done[2]
        )
        (again,) = engine.logprobs([_join(first.prompt_ids, done[1].sampled_ids)])
        expected = again.to_list()[len(first.prompt_ids) - 1 :]
        self._close(done[1].logprobs.to_list(), expected, "greedy log-probs must be those of temperature 1")
        engine.close()

    def test_a_sample_ends_with_its_stop_token_or_at_its_length(self) -> None:
        """The first stop token is the last of the sample; without one there are exactly `max_tokens`."""
        engine = self._open()
        whole = self._drain(engine, [_request(1, _PROMPTS[0])])[1]
        ids = [int(one) for one in whole.sampled_ids.to_list()]
        got = (len(ids), whole.finish_reason)
        self.require(got == (_LONG, "length"), f"a sample must have its {_LONG} tokens", got=got)
        stop = ids[5]
        stopped = self._drain(engine, [_request(1, _PROMPTS[0], stop_ids=(stop,))])[1]
        expected = (ids[: ids.index(stop) + 1], "stop")
        actual = (stopped.sampled_ids.to_list(), stopped.finish_reason)
        self.require(expected == actual, f"a sample must end with the first stop token, {stop}", got=actual)
        engine.close()

    def test_requests_that_cannot_run_are_refused(self) -> None:
        """An empty prompt, an unknown token, no room for one more: EngineError, and nothing is in flight."""
        engine = self._open()
        vocab = Architecture.read(self._shelf().policy()).vocab_size
        for what, prompt in (("an empty prompt", ()), ("an unknown token", (vocab,)), ("a negative token", (-1,)),
                             ("a prompt that leaves no room", (70,) * MAX_CONTEXT)):  # fmt: skip
            try:
                engine.submit(_request(1, prompt))
            except EngineError:
                pass
            else:
                self.broken(f"an engine must refuse {what}", got="nothing said")
            self.require(engine.num_active == 0, "a refused request must not be in flight", got=engine.num_active)
        engine.close()

    def test_an_aborted_request_comes_out_with_what_it_has(self) -> None:
        """As `aborted`, out of the next poll; others go on; one that is unknown is left alone."""
        engine = self._open()
        engine.submit(_request(1, _PROMPTS[0]))
        engine.submit(_request(2, _PROMPTS[1]))
        self.require(engine.num_active == 2, "requests in flight must be counted", got=engine.num_active)
        engine.abort(99)
        engine.abort(1)
        done = self._drain(engine)
        self.require(1 in done, "an aborted request must come out", got=sorted(done))
        self.require(done[1].finish_reason == "aborted", "it must be said that it was", got=done[1].finish_reason)
        self.require(
            done[2].finish_reason == "length" and len(done[2].sampled_ids) == _LONG,
            "other requests must go on",
            got=done[2].finish_reason,
        )
        engine.close()

    def test_a_pause_changes_no_token(self) -> None:
        """While paused nothing finishes and nothing is lost; afterwards the same tokens come."""
        engine = self._open()
        expected = self._drain(engine, [_request(1, _PROMPTS[0])])[1].sampled_ids
        engine.submit(_request(1, _PROMPTS[0]))
        done = engine.poll()
        engine.pause()
        early = [one for _ in range(2 * _LONG) for one in engine.poll()]
        self.require(not early, "a paused engine must finish nothing", got=early)
        engine.resume()
        done += self._drain(engine).values()
        self.require([expected] == [one.sampled_ids for one in done], "a pause must change no token", got=done)
        engine.close()

    def test_new_weights_are_taken_between_two_tokens(self) -> None:
        """A request in flight goes on; each token names the version that sampled it, and new ones are of the new."""
        engine = self._open()
        before = engine.version
        folder = self._shelf().publish((_NEW, 1))
        engine.submit(_request(1, _PROMPTS[0]))
        early = engine.poll()
        engine.update_weights(folder, _NEW)
        self.require(engine.version == _NEW, "an engine must say the version it has", got=engine.version)
        found = {one.request_id: one for one in early} | self._drain(engine)
        versions = [WeightVersion.unpack(int(one)) for one in found[1].versions.to_list()]
        self.require(versions == sorted(versions), "versions must not go back", got=versions)
        self.require(set(versions) <= {before, _NEW}, "a token must name a version there was", got=versions)
        self.require(versions[-1] == _NEW, "a request in flight must go on under the new weights", got=versions)
        request = _request(2, _PROMPTS[1])
        fresh = self._drain(engine, [request])[2]
        self.require({_NEW.pack()} == set(fresh.versions.to_list()), "new tokens must name the new version", got=fresh)
        (said,) = engine.logprobs([_join(request.prompt_ids, fresh.sampled_ids)])
        of_new = self._open(self._shelf().policy(1))
        (expected,) = of_new.logprobs([_join(request.prompt_ids, fresh.sampled_ids)])
        self._close(said.to_list(), expected.to_list(), "log-probs must be those of the new weights")
        self._close(
            fresh.logprobs.to_list(),
            expected.to_list()[len(request.prompt_ids) - 1 :],
            "tokens must be sampled from the new weights",
        )
        engine.close()
        of_new.close()

    def test_a_bad_folder_leaves_the_old_weights(self) -> None:
        """An empty folder, and one without that version: EngineError, and tokens are still of the old weights."""
        engine = self._open()
        before = engine.version
        expected = self._drain(engine, [_request(1, _PROMPTS[0])])[1]
        for what, folder in (("an empty folder", self.new_folder()),
                             ("another version", self._shelf().publish((WeightVersion(0, 6), 1)))):  # fmt: skip
            try:
                engine.update_weights(folder, _NEW)
            except EngineError:
                pass
            else:
                self.broken(f"an engine must refuse {what}", got="nothing said")
            self.require(engine.version == before, "the old version must stay", got=engine.version)
            again = self._drain(engine, [_request(1, _PROMPTS[0])])[1]
            same = (expected.sampled_ids, expected.versions) == (again.sampled_ids, again.versions)
            self.require(same, "the old weights must stay", got=again)
        engine.close()

    def test_a_closed_engine_leaves_nothing_open(self) -> None:
        """No process, and no more open files than before it was made."""
        self._open().close()  # what a library opens once is its own
        before = _open_files()
        engine = self._open()
        engine.update_weights(self._shelf().publish((_NEW, 1)), _NEW)
        self._drain(engine, [_request(1, _PROMPTS[0])])
        engine.close()
        self._shelf().close()
        self.require(_open_files() <= before, "a closed engine must leave no file open", got=_open_files() - before)

    def _shelf(self) -> PolicyShelf:
        return self.resource("shelf", lambda: PolicyShelf(self.new_folder))

    def _open(self, policy: Path | None = None) -> Engine:
        engine: Engine = self.make(policy or self._shelf().policy())
        return engine

    def _drain(self, engine: Engine, requests: Iterable[GenerateRequest] = ()) -> dict[int, Completion]:
        for request in requests:
            engine.submit(request)
        done: dict[int, Completion] = {}
        deadline = time.monotonic() + self.patience_s
        while engine.num_active:
            done |= {one.request_id: one for one in engine.poll(0.05)}
            if time.monotonic() > deadline:
                self.broken(f"requests must be done within {self.patience_s:g} s", got=f"{engine.num_active} left")
        return done

    def _close(self, actual: Sequence[float], expected: Sequence[float], must: str) -> None:
        gap = max((abs(a - b) for a, b in zip(actual, expected, strict=True)), default=0.0)
        self.require(gap <= self.tolerance, must, got=f"a difference of {gap:.3g}")


def _request(
    number: int,
    prompt: Sequence[int],
    *,
    seed: int | None = None,
    temperature: float = 1.0,
    stop_ids: tuple[int, ...] = (),
) -> GenerateRequest:
    sampling = Sampling(_LONG, temperature=temperature, seed=number if seed is None else seed, stop_ids=stop_ids)
    return GenerateRequest(number, Array.of(prompt, "int32"), sampling)


def _join(prompt: Array, sampled: Array) -> Array:
    return Array("int32", (len(prompt) + len(sampled),), prompt.data + sampled.data)


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
