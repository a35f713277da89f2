"""The contract of a stage rule: it decides from what it is shown and what it is handed back, and from nothing else.

A rule is tried on the author's cases, step by step, and on sampled values with a fixed seed.
"""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from assay.core.leaf import Factory
from assay.core.registry import installed
from assay.core.stage_rule import Mean, StageView
from assay.runtime.testing.call import call_text, refusal_of
from assay.runtime.testing.factory import FactoryContract

_STEPS = 300


class Course(msgspec.Struct, frozen=True):
    """One case of a stage rule.

    Attributes:
        means: Values of each signal, by a name such as `a.pass_rate`, one per step; None where nobody measured it yet.
        ends: Step of the stage, from 1, with which it ends; None where it goes on.
    """

    means: Mapping[str, Sequence[float | None]]
    ends: int | None


class StageRuleContract(FactoryContract):
    """What holds of a stage rule.

    Attributes:
        stage_rule: Factory of the rule.
        signals: Arguments that are signals, by position, such as `("a.pass_rate",)`.
        options: Its other arguments, by name.
        cases: Courses of a stage, and where it ends; at least one that ends and one that does not.
        is_final: Asked again with nothing changed, a rule that ended its stage says so again; False where it may not.
        look_s: Seconds that one look may take, in the median.
        memory_bytes: It remembers at most so much, as JSON; that is written with every step.
    """

    kind = "stage_rule"
    stage_rule: ClassVar[Factory]
    signals: ClassVar[Sequence[str]] = ()
    cases: ClassVar[Sequence[Course]] = ()
    is_final: ClassVar[bool] = True
    look_s: ClassVar[float] = 0.002
    memory_bytes: ClassVar[int] = 16384

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out the end that stays where it may not."""
        return () if cls.is_final else ("test_an_end_stays_an_end",)

    def rule(self) -> Any:
        """Return a new rule with the contract's arguments."""
        return self.make(*(Mean(*name.split(".", 1)) for name in self.signals))

    def test_cases_end_where_they_must(self) -> None:
        """Each of the author's cases."""
        ends = {case.ends is None for case in self.cases}
        self.require(
            ends == {True, False},
            "a contract must have a case that ends and one that goes on",
            todo='Add `cases=[Course({"a.pass_rate": [0.5, 0.5]}, ends=2), ...]`',
        )
        for case in self.cases:
            found = self._end(_views(case.means))
            self.require(found == case.ends, f"a stage with {dict(case.means)} must end at {case.ends}", got=found)

    def test_a_curriculum_can_call_it(self) -> None:
        """`until:` takes a call with the contract's signals and options."""
        text = call_text(self.name, self.signals, self.options)
        refusal = refusal_of("stage_rule", text, self.signals, self.registry or installed())
        self.require(
            not refusal,
            f"`until: {text}` must hold",
            got=refusal,
            todo="Annotate parameters that are signals with `assay.core.stage_rule.Mean`, others with their types",
        )

    def test_it_goes_on_after_a_kill_as_if_nothing_had_happened(self) -> None:
        """With a new rule at every step, and what it remembers read back from JSON, it ends at the same step."""
        for views in self._courses():
            plain, killed = self._end(views), self._end(views, is_killed=True)
            self.require(
                plain == killed,
                "a stage rule must end a stage at the same step after a kill",
                got=f"step {plain}, and {killed} after kills",
                todo="Return all that it must know as plain JSON values, and read it from `memory` alone",
            )

    def test_the_same_look_says_the_same(self) -> None:
        """Asked twice, and asked of a new one, it says and remembers the same, and changes neither view nor memory."""
        for views in self._courses():
            rule, memory = self.rule(), None
            for view in views[:40]:
                before = msgspec.json.encode((view, memory))
                first = rule.look(view, memory)
                self.require(
                    before == msgspec.json.encode((view, memory)),
                    "a stage rule must leave what it is shown as it is",
                    todo="Return a new memory instead of changing the one it got",
                )
                for again in (rule, self.rule()):
                    second = again.look(view, memory)
                    self.require(
                        first == second, "a stage rule must say the same for the same look", got=(first, second)
                    )
                memory = _through_json(first[1])

    def test_it_answers_with_a_truth(self) -> None:
        """The first thing it returns is a bool."""
        for views in self._courses():
            said = self.rule().look(views[0], None)
            is_pair = isinstance(said, tuple) and len(said) == 2 and isinstance(said[0], bool)
            self.require(is_pair, "a stage rule must return a bool and what it remembers", got=said)

    def test_what_nobody_measured_is_no_fault(self) -> None:
        """Before the first group of an entry its signals are absent, and later on steps may be left out."""
        rule, memory = self.rule(), None
        for view in [StageView(step, step, {}) for step in range(1, 4)] + self._courses()[0][::7]:
            try:
                _, memory = rule.look(view, memory)
            except Exception as error:
                self.broken("a stage rule must not raise", got=repr(error), todo="`Mean.of(view)` may be None")
            memory = _through_json(memory)

    def test_an_end_stays_an_end(self) -> None:
        """Asked once more about the step that ended its stage, it still says so."""
        for views in self._courses():
            rule, memory = self.rule(), None
            for view in views:
                over, memory = rule.look(view, memory)
                if over:
                    self.require(rule.look(view, memory)[0], "a stage that has ended must not go on")
                    break

    def test_it_remembers_little_and_is_quick(self) -> None:
        """Its memory is written with every step, and the coordinator does nothing else while it looks."""
        rule, memory, times = self.rule(), None, []
        for view in self._courses()[-1]:
            begun_s = time.perf_counter()
            _, memory = rule.look(view, memory)
            times.append(time.perf_counter() - begun_s)
        size, median_s = len(msgspec.json.encode(memory)), statistics.median(times)
        self.require(
            size <= self.memory_bytes,
            f"a stage rule must remember at most {self.memory_bytes} bytes",
            got=f"{size} after {_STEPS} steps",
        )
        self.require(median_s <= self.look_s, f"a look must take at most {self.look_s:g} s", got=f"{median_s:.4f} s")

    def _courses(self) -> list[list[StageView]]:
        """Return the author's cases, and sampled courses: rising, level and noisy."""
        names = self.signals or ("a.pass_rate",)
        shapes = [
            {name: _values(kind, number) for number, name in enumerate(names)} for kind in ("rise", "level", "noise")
        ]
        return [list(_views(means)) for means in (*(case.means for case in self.cases), *shapes)]

    def _end(self, views: Sequence[StageView] | Iterator[StageView], *, is_killed: bool = False) -> int | None:
        rule, memory = self.rule(), None
        for view in views:
            over, memory = (self.rule() if is_killed else rule).look(view, memory)
            memory = _through_json(memory) if is_killed else memory
            if over:
                return view.stage_step
        return None


def _values(kind: str, seed: int) -> list[float | None]:
    rng = random.Random(f"{kind}:{seed}")
    shape = {"rise": lambda step: step / _STEPS, "level": lambda step: 0.5, "noise": lambda step: rng.random()}[kind]
    return [None, None, *(shape(step) for step in range(_STEPS))]


def _views(means: Mapping[str, Sequence[float | None]]) -> Iterator[StageView]:
    """Yield one view per step, beginning in the middle of a run."""
    for index in range(max(map(len, means.values()), default=0)):
        found: dict[str, dict[str, float]] = {}
        for name, values in means.items():
            entry, signal = name.split(".", 1)
            value = values[index] if index < len(values) else None
            if value is not None:
                found.setdefault(entry, {})[signal] = value
        yield StageView(101 + index, 1 + index, found)


def _through_json(memory: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(memory))
