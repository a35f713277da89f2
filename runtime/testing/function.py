"""The contract of a function for expressions: the compiler proves rewards from what it declares.

Declarations are tried on sampled values and intervals with a fixed seed. What was not tried is not proved.
"""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from assay.core.leaf import Function
from assay.dsl.expr.function import BUILTIN, plugin_entry
from assay.dsl.expr.interval import Interval
from assay.runtime.testing.contract import Contract

_SLACK = 1e-9
_WIDE = 100.0


class FunctionContract(Contract):
    """What holds of a function.

    Attributes:
        function: The function.
        cases: Value by arguments, such as `{(0.0, 1.0): 0.5}`.
        between: Smallest and largest argument to try, by parameter; a declared lower end is kept to by itself.
        samples: How many values and intervals are tried.
    """

    kind = "function"
    function: ClassVar[Function]
    cases: ClassVar[Mapping[tuple[float, ...], float]] = {}
    between: ClassVar[Mapping[str, tuple[float, float]]] = {}
    samples: ClassVar[int] = 200

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Leave out columns where it has none."""
        return () if cls.function.column is not None else ("test_columns_have_the_values_of_rows",)

    def test_its_name_is_not_one_of_the_language(self) -> None:
        """A function of the language cannot be offered again."""
        self.require(self.name not in BUILTIN, "a function's name must not belong to the language", got=self.name)

    def test_cases_give_the_values_they_must(self) -> None:
        """Each of the author's cases."""
        self.require(self.cases, "a contract must have cases", todo="Add `cases = {(1.0,): 0.5}`")
        for arguments, value in self.cases.items():
            found = self._value(arguments)
            self.require(_is_close(found, value), f"{self._called(arguments)} must be {value!r}", got=found)

    def test_every_value_is_a_number_and_stays_the_same(self) -> None:
        """Inside the declared domain every value is a finite number, the same at a second call."""
        for arguments in self._points():
            value = self._value(arguments)
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            self.require(is_number, f"{self._called(arguments)} must be a finite number", got=value)
            self.require(value == self._value(arguments), f"{self._called(arguments)} must stay the same")

    def test_direction_is_as_declared(self) -> None:
        """A larger argument never lowers the value where its direction is `up`, never raises it where it is `down`."""
        for arguments, larger in zip(self._points(), self._points(1), strict=True):
            for place, direction in enumerate(self.function.direction):
                if direction == "neither":
                    continue
                low, high = sorted((arguments[place], larger[place]))
                below, above = _put(arguments, place, low), _put(arguments, place, high)
                first, second = self._value(below), self._value(above)
                slack = _SLACK * max(1.0, abs(first), abs(second))
                holds = first <= second + slack if direction == "up" else second <= first + slack
                name = self.function.parameters[place].name
                self.require(
                    holds,
                    f"a function must keep to direction `{direction}` in `{name}`",
                    got=f"{self._called(below)} = {first!r}, {self._called(above)} = {second!r}",
                    todo='Declare "neither" and a range',
                )

    def test_range_holds_every_value(self) -> None:
        """For sampled intervals of arguments, every value lies in the interval that the compiler derives."""
        fact = plugin_entry(self.function).fact
        for one, other, between in zip(self._points(), self._points(1), self._points(2), strict=True):
            ends = [sorted(pair) for pair in zip(one, other, strict=True)]
            derived, _ = fact([(Interval(low, high), {}) for low, high in ends])
            inside = tuple(min(max(value, low), high) for value, (low, high) in zip(between, ends, strict=True))
            corners = list(itertools.islice(itertools.product(*ends), 16))
            for arguments in (inside, *corners):
                value = self._value(arguments)
                slack = _SLACK * max(1.0, abs(value))
                self.require(
                    derived.lo - slack <= value <= derived.hi + slack,
                    f"for arguments within {ends} every value must lie within {derived}, as declared",
                    got=f"{self._called(arguments)} = {value!r}",
                    todo="Widen `range`",
                )

    def test_columns_have_the_values_of_rows(self) -> None:
        """`column` over numpy columns gives what the function gives row by row, up to rounding."""
        import numpy as np

        assert self.function.column is not None
        points = self._points()
        columns = [np.array(values, dtype=np.float64) for values in zip(*points, strict=True)]
        found = np.asarray(self.function.column(*columns))
        self.require(found.shape == (len(points),), "a column must have one value per row", got=found.shape)
        for arguments, value in zip(points, found.tolist(), strict=True):
            expected = self._value(arguments)
            self.require(
                _is_close(value, expected), f"column{arguments} must be {expected!r}, as row by row", got=value
            )

    def _points(self, seed: int = 0) -> list[tuple[float, ...]]:
        """Return arguments to try: the ends, whole numbers and reals; equal for equal seeds."""
        draw = random.Random(seed)
        spans = []
        for parameter, least in zip(self.function.parameters, self.function.domain, strict=True):
            low, high = self.between.get(parameter.name, (-_WIDE, _WIDE))
            low = low if least is None else max(low, least)
            spans.append((low, max(low, high)))
        points = [tuple(low for low, _ in spans), tuple(high for _, high in spans)]
        while len(points) < self.samples:
            values = [draw.uniform(low, high) for low, high in spans]
            if len(points) % 2:
                whole = [float(round(value)) for value in values]
                values = [min(max(value, low), high) for value, (low, high) in zip(whole, spans, strict=True)]
            points.append(tuple(values))
        return points

    def _value(self, arguments: tuple[float, ...]) -> Any:
        __tracebackhide__ = True
        try:
            return self.function(*arguments)
        except Exception as error:  # whatever it raises is the fault that is looked for
            self.broken(
                "a function must have a value everywhere in its domain",
                got=f"{type(error).__name__} at {self._called(arguments)}: {error}",
                todo="Declare the smallest allowed arguments as `domain`",
            )

    def _called(self, arguments: tuple[float, ...]) -> str:
        return f"{self.name}({', '.join(f'{value:g}' for value in arguments)})"


def _put(arguments: tuple[float, ...], place: int, value: float) -> tuple[float, ...]:
    return (*arguments[:place], value, *arguments[place + 1 :])


def _is_close(value: float, expected: float) -> bool:
    return math.isclose(value, expected, rel_tol=_SLACK, abs_tol=_SLACK)
