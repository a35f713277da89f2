"""The engine in this process: continuous batching over one cache, on the CPU or one GPU.

Each poll gives one token to every request: waiting prompts join between two steps, identical prompts are computed
once, and a prompt that begins like another row's tokens starts from a copy of that row's keys and values.

Invariants
* The same seed, weights and prompt give the same tokens whatever else runs (bit for bit only with `is_deterministic`).
* A token carries the version that sampled it. `update_weights` happens between two polls, all or nothing; requests in
  flight go on with the keys and values they have, which the old weights made, and no new prompt starts from those.
* `num_active` counts every request that was submitted and whose completion was not returned yet.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.array import Array
from assay.core.engine import Completion, GenerateRequest
from assay.core.error import AssayError, EngineError
from assay.core.trajectory import FinishReason, WeightVersion
from assay.runtime.engine.admission import Admission, Prompt, plan_admissions
from assay.runtime.engine.block import find_block_rows
from assay.runtime.engine.cache import Cache
from assay.runtime.engine.request import check_request, check_sequence
from assay.runtime.engine.sampler import sample, uniforms
from assay.runtime.engine.table import Table
from assay.runtime.policy.model import Model, Weights
from assay.runtime.weight.reader import State, WeightReader

_CHUNK_TOKENS = 1024

FIRST_VERSION = WeightVersion(0, 0)


class EngineStats(msgspec.Struct):
    """Counters since the start.

    Attributes:
        polls: That computed something.
        prompt_tokens: Of all prompts that joined.
        shared_tokens: Prompt tokens whose keys and values were copied, not computed.
        sampled_tokens: Of all requests.
        weight_updates: Versions taken.
    """

    polls: int = 0
    prompt_tokens: int = 0
    shared_tokens: int = 0
    sampled_tokens: int = 0
    weight_updates: int = 0


class EmbeddedEngine:
    """See `assay.core.engine.Engine`.

    Args:
        policy: Hugging Face folder.
        version: Of the weights in it.
        max_active: Most requests that sample at once; more wait.
        max_context: Most tokens of prompt and sample; at most those of the policy.
        device: Such as `cpu` or `cuda:0`.
        dtype: `float32`; `bfloat16` or `float16` on a GPU.
        is_deterministic: Tokens and log-probs do not depend on what else runs, bit for bit. Several times slower.
        max_retained: Finished rows kept for prompts that begin like them, such as the next turn of an episode.
        min_shared_tokens: Shorter common prefixes are computed again, which is quicker; 0 shares whole prompts only.
        max_prefill_tokens: Most prompt tokens that join in one poll; one longer prompt joins alone.

    Raises:
        ConfigError: the folder is not a policy this project can run.
        EngineError: a half-precision dtype on a CPU, no row, or more rows than fit into memory.
    """

    def __init__(
        self,
        policy: Path,
        *,
        version: WeightVersion = FIRST_VERSION,
        max_active: int = 256,
        max_context: int | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        is_deterministic: bool = False,
        max_retained: int = 32,
        min_shared_tokens: int = 16,
        max_prefill_tokens: int = 8192,
    ) -> None:
        if max_active < 1:
            raise EngineError("max_active must be at least 1", got=max_active, todo="Set engine.max_active")
        if dtype not in ("float32", "bfloat16", "float16"):
            raise EngineError("dtype must be float32, bfloat16 or float16", got=dtype, todo="Set engine.dtype")
        if torch.device(device).type == "cpu" and dtype != "float32":
            raise EngineError("a policy on a CPU must be float32", got=dtype, todo="Set engine.dtype=float32")
        self._model = Model.load(Path(policy), device, getattr(torch, dtype), max_context)
        self._spare: Weights | None = None
        self._version = version
        self._epoch = 0
        self._max_context = self._model.max_context
        self._max_prefill_tokens = max_prefill_tokens
        self._min_shared_tokens = min_shared_tokens
        self._is_deterministic = is_deterministic
        self._block_rows = find_block_rows(self._model) if is_deterministic else 0
        max_retained = 0 if is_deterministic else max_retained
        # A block of fixed height may reach past the last active row.
        num_rows = max_active + max(max_retained, self._block_rows)
        self._cache = Cache(self._model.shape, num_rows, self._max_context, self._model.device, self._model.dtype)
        self._table = Table(max_active, max_retained, self._max_context)
        self._waiting: deque[tuple[GenerateRequest, NDArray[np.int32]]] = deque()
        self._in_flight: set[int] = set()
        self._aborted: set[int] = set()
        self._is_paused = False
        self._reader: WeightReader | None = None
        self.stats = EngineStats()

    @property
    def version(self) -> WeightVersion:
        """Weights that sample the next token."""
        return self._version

    @property
    def num_active(self) -> int:
        """Requests submitted and not finished."""
        return len(self._in_flight)

    def submit(self, request: GenerateRequest) -> None:
        """Queue a request; see `Engine`."""
        prompt_P = check_request(request, self._model.shape.vocab_size, self._max_context)
        if request.request_id in self._in_flight:
            raise EngineError("a request in flight must have an id of its own", got=request.request_id)
        self._in_flight.add(request.request_id)
        self._waiting.append((request, prompt_P))

    def poll(self, timeout_s: float = 0.0) -> list[Completion]:
        """Compute one token for every request; return those that finished. `timeout_s` is for servers.

        Raises:
            EngineError: the policy's scores are not finite; what is in flight is lost, close the engine.
        """
        done = self._take_aborted()
        if self._is_paused or not (self._waiting or self._table.num_active):
            return done
        with torch.inference_mode():
            joined = self._table.num_active
            finished = [self._join(), self._step(joined)]
        done += self._finish(np.sort(np.concatenate(finished)))
        self.stats.polls += 1
        return done

    def abort(self, request_id: int) -> None:
        """End a request; one that is not in flight any more is left alone."""
        if request_id in self._in_flight:
            self._aborted.add(request_id)

    def pause(self) -> None:
        """Stop sampling and keep every request where it is."""
        self._is_paused = True

    def resume(self) -> None:
        """Go on."""
        self._is_paused = False

    def update_weights(self, folder: Path, version: WeightVersion) -> None:
        """Take a published version; see `Engine`.

        The weights are copied once, into a second set of tensors that takes the place of the first when all is there.
        """
        if self._reader is None or self._reader.folder != Path(folder):
            self._close_reader()
        spare = self._spare or Weights(self._model.shape, self._model.device, self._model.dtype)
        try:
            if self._reader is None:
                self._reader = WeightReader(Path(folder))
            with torch.inference_mode():
                self._reader.read(version, lambda state: self._model.put(_tensors(state), spare, at=folder))
                _check_finite(spare, version, folder)
        except AssayError as error:
            raise EngineError(error.must, got=error.got, at=error.at, todo="The old weights stay") from error
        self._spare, self._model.weights = self._model.weights, spare
        self._version = version
        self._epoch += 1
        self.stats.weight_updates += 1

    def logprobs(self, sequences: Sequence[Array]) -> list[Array]:
        """Return log-probs of each token after the first; see `Engine`."""
        checked = [check_sequence(sequence, self._model.shape.vocab_size, self._max_context) for sequence in sequences]
        order = sorted(range(len(checked)), key=lambda index: len(checked[index]))
        found: dict[int, Array] = {}
        with torch.inference_mode():
            while order:
                length = len(checked[order[-1]])
                rows = 1 if self._is_deterministic else max(1, self._max_prefill_tokens // length)
                batch, order = order[-rows:], order[:-rows]
                ids_BT = np.zeros((len(batch), length), np.int64)
                for row, index in enumerate(batch):
                    ids_BT[row, : len(checked[index])] = checked[index]
                values_BT = self._model.sequence_logprobs(self._on_device(ids_BT)).cpu().numpy()
                for row, index in enumerate(batch):
                    found[index] = _array(values_BT[row, : len(checked[index]) - 1], "float32")
        return [found[index] for index in range(len(checked))]

    def close(self) -> None:
        """Release memory and files; requests in flight are lost."""
        self._close_reader()
        self._waiting.clear()
        self._in_flight.clear()
        self._table.num_active = 0
        del self._cache, self._spare, self._model

    def _join(self) -> NDArray[np.int64]:
        """Let waiting prompts in and sample their first token; return the rows that are done with it."""
        wave: list[Prompt] = []
        num_tokens = 0
        while self._waiting and len(wave) < self._table.num_free:
            num_tokens += len(self._waiting[0][1])
            if wave and num_tokens > self._max_prefill_tokens:
                break
            wave.append(self._waiting.popleft())
        min_shared = 0 if self._is_deterministic else self._min_shared_tokens
        finished = [rows_to_index([])]
        pending = wave
        while pending:
            admissions, pending = plan_admissions(self._table, pending, self._epoch, min_shared)
            finished.append(self._fill(admissions))
        return np.concatenate(finished)

    def _fill(self, admissions: list[Admission]) -> NDArray[np.int64]:
        """Compute the prompts of new neighbouring rows, one per distinct prompt, and sample for all of them."""
        table, cache = self._table, self._cache
        first = admissions[0].row
        for admission in admissions:
            if admission.shared:
                table.touch(admission.donor)
                cache.share(admission.donor, admission.row, admission.row + 1, admission.shared)
        starts_B = rows_to_index([admission.shared for admission in admissions])
        counts_B = rows_to_index([len(admission.prompt) for admission in admissions]) - starts_B
        if self._is_deterministic:
            rows = range(len(admissions))
            logits_BV = torch.cat([self._prefill(first + i, starts_B[i : i + 1], counts_B[i : i + 1]) for i in rows])
        else:
            logits_BV = self._prefill(first, starts_B, counts_B)
        order = list(range(len(admissions)))
        requests = [admission.requests[0] for admission in admissions]
        for index, admission in enumerate(admissions):
            length, further = len(admission.prompt), admission.requests[1:]
            if further:
                row = table.add(admission.prompt, self._epoch, len(further))
                cache.share(admission.row, row, row + len(further), length)
                order += [index] * len(further)
                requests += further
            self.stats.prompt_tokens += length * len(admission.requests)
            self.stats.shared_tokens += admission.shared + length * len(further)
        table.assign(first, requests)
        return self._sample(first, logits_BV if len(order) == len(admissions) else logits_BV[order])

    def _prefill(self, first: int, starts_B: NDArray[np.int64], counts_B: NDArray[np.int64]) -> Tensor:
        """Compute the prompts of neighbouring rows from `starts_B` on; return the scores after each."""
        rows = range(first, first + len(starts_B))
        ends_B = starts_B + counts_B
        logits_BV: Tensor | None = None
        # In chunks, so that a mask is never as large as the square of a long prompt.
        for chunk in range(0, int(counts_B.max()), _CHUNK_TOKENS):
            from_B = np.minimum(starts_B + chunk, ends_B)
            new_B = np.minimum(ends_B - from_B, _CHUNK_TOKENS)
            tokens = [self._table.tokens[row, s : s + c] for row, s, c in zip(rows, from_B, new_B, strict=True)]
            positions_N, attend = self._cache.attend(first, from_B, new_B)
            ids_N, last_B = self._on_device(np.concatenate(tokens)), self._on_device(np.cumsum(new_B) - 1)
            hidden_BH = self._model.hidden(ids_N, positions_N, attend, last_B.clamp_(min=0))
            found_BV = self._model.logits(hidden_BH)
            if logits_BV is None:
                logits_BV = found_BV
            else:
                is_here_B1 = self._on_device(new_B > 0).unsqueeze(1)
                logits_BV = torch.where(is_here_B1, found_BV, logits_BV)
        assert logits_BV is not None
        return logits_BV

    def _step(self, end: int) -> NDArray[np.int64]:
        """Compute and sample one token for the rows before `end`; return the rows that are done."""
        if not end:
            return rows_to_index([])
        table = self._table
        if not self._is_deterministic:
            logits_BV = self._decode(0, end, None)
        else:
            blocks = range(0, end, self._block_rows)
            logits_BV = torch.cat([self._decode(row, row + self._block_rows, self._max_context) for row in blocks])
        table.length[:end] += 1
        return self._sample(0, logits_BV[:end])

    def _decode(self, first: int, end: int, context: int | None) -> Tensor:
        """Return the scores after the last token of neighbouring rows; rows past the active ones are padding."""
        table = self._table
        starts_B = np.zeros(end - first, np.int64)
        ids_B = np.zeros(end - first, np.int32)
        live = min(end, table.max_active) - first
        rows = slice(first, first + live)
        starts_B[:live] = table.length[rows]
        last = np.maximum(table.prompt[rows] + table.count[rows] - 1, 0)
        ids_B[:live] = table.tokens[np.arange(first, first + live), last]
        positions_B, attend = self._cache.attend(first, starts_B, np.ones(end - first, np.int64), context)
        return self._model.logits(self._model.hidden(self._on_device(ids_B), positions_B, attend))

    def _sample(self, first: int, logits_BV: Tensor) -> NDArray[np.int64]:
        table, end = self._table, first + len(logits_BV)
        rows = slice(first, end)
        draws_B = uniforms(table.seed[rows], table.prompt[rows] + table.count[rows])
        tokens_B, logprobs_B = sample(logits_BV, table.temperature[rows], table.top_p[rows], draws_B)
        if not np.isfinite(logprobs_B).all():
            raise EngineError("scores must be finite", got="NaN or infinity", at=f"weights {self._version}")
        self.stats.sampled_tokens += end - first
        return table.record(first, end, tokens_B, logprobs_B, self._version.pack())

    def _finish(self, rows: NDArray[np.int64]) -> list[Completion]:
        if not len(rows):
            return []
        table = self._table
        stopped = table.are_stopped(rows).tolist()
        reasons: list[FinishReason] = ["stop" if is_stopped else "length" for is_stopped in stopped]
        completions = [self._complete(row, reason) for row, reason in zip(rows.tolist(), reasons, strict=True)]
        if table.max_retained:
            # Keys of a row that lived through new weights are of no use to a new prompt.
            is_useful = (table.length[rows] >= self._min_shared_tokens) & (table.epoch[rows] == self._epoch)
            for row in rows[is_useful].tolist():
                self._retain(row)
        self._remove(rows)
        return completions

    def _retain(self, row: int) -> None:
        """Keep a finished row for prompts that begin like it."""
        table = self._table
        if (kept := table.retain(row)) is not None:
            self._cache.share(row, kept, kept + 1, int(table.length[row]))
            table.copy(rows_to_index([row]), rows_to_index([kept]))
            table.touch(kept)

    def _complete(self, row: int, reason: FinishReason) -> Completion:
        table = self._table
        request_id = int(table.request_id[row])
        self._in_flight.discard(request_id)
        self._aborted.discard(request_id)
        span = slice(int(table.prompt[row]), int(table.prompt[row] + table.count[row]))
        return Completion(
            request_id,
            _array(table.tokens[row, span], "int32"),
            _array(table.logprobs[row, span], "float32"),
            _array(table.versions[row, span], "int64"),
            reason,
        )

    def _take_aborted(self) -> list[Completion]:
        if not self._aborted:
            return []
        table, active = self._table, self._table.num_active
        rows = np.flatnonzero(np.isin(table.request_id[:active], list(self._aborted)))
        done = [self._complete(row, "aborted") for row in rows.tolist()]
        self._remove(rows)
        for request_id in sorted(self._aborted):
            self._in_flight.discard(request_id)
            none = (Array.of((), "int32"), Array.of((), "float32"), Array.of((), "int64"))
            done.append(Completion(request_id, *none, "aborted"))
        self._waiting = deque(item for item in self._waiting if item[0].request_id not in self._aborted)
        self._aborted.clear()
        return done

    def _remove(self, rows: NDArray[np.int64]) -> None:
        sources, targets = self._table.remove(rows)
        if len(targets):
            self._cache.move(sources, targets, int(self._table.length[targets].max()))

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _on_device(self, values: NDArray) -> Tensor:
        return torch.from_numpy(values).to(self._model.device)


def rows_to_index(rows: Sequence[int]) -> NDArray[np.int64]:
    """Return rows as an index array."""
    return np.asarray(rows, np.int64)


def _check_finite(weights: Weights, version: WeightVersion, folder: Path) -> None:
    # A sum is one pass, and what is not finite stays in it.
    for name, tensor in weights.targets.items():
        if not torch.isfinite(tensor.sum(dtype=torch.float32)):
            raise EngineError(f"weights {version} must be finite", got=f"NaN or infinity in {name}", at=folder)


def _tensors(state: State) -> Iterator[tuple[str, Tensor]]:
    for spec, view in state:
        yield spec.name, torch.frombuffer(view, dtype=getattr(torch, spec.dtype)).view(spec.shape)


def _array(values: NDArray, dtype: str) -> Array:
    return Array(dtype, values.shape, values.tobytes())
