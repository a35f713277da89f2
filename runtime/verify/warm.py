"""Warm up: what a leaf imports inside its functions is imported before its first call.

Plugin modules import heavy libraries inside functions, so that declaring them is cheap. Left alone, the first call
would pay for that inside its time limit, and a forked child would pay each time. The import statements are read from
the code; no function is run.
"""

import contextlib
import dis
from collections.abc import Iterator
from types import CodeType, FunctionType

from assay.core.leaf import Leaf


def import_all(leaf: Leaf) -> None:
    """Import what the leaf's function names in import statements, and every function of its package that it reaches."""
    package = leaf.function.__module__.partition(".")[0]
    todo: list[object] = [leaf.function]
    seen = set[FunctionType]()
    while todo:
        function = todo.pop()
        if not isinstance(function, FunctionType) or function in seen:
            continue
        if function.__module__.partition(".")[0] != package:
            continue
        seen.add(function)
        for code in _codes(function.__code__):
            for name, names, level in _imports(code):
                # An import that fails here may be one that the function itself copes with.
                with contextlib.suppress(Exception):
                    module = __import__(name, function.__globals__, {}, names, level)
                    todo += [getattr(module, wanted, None) for wanted in names]
            for name in code.co_names:
                value = function.__globals__.get(name)
                todo.append(value.function if isinstance(value, Leaf) else value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _imports(code: CodeType) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield module, names and level of each import statement."""
    steps = list(dis.get_instructions(code))
    for index, step in enumerate(steps):
        if step.opname == "IMPORT_NAME" and index >= 2:
            level, names = steps[index - 2].argval, steps[index - 1].argval
            yield step.argval, names or (), level if isinstance(level, int) else 0
