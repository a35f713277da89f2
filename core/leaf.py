"""Leaves: the Python functions that the language calls, and what each declares.

A decorator reads the function once, at import: its parameters, what it returns, what it needs. It imports nothing heavy
and runs nothing. The decorated object stays callable, so that a test calls it like the plain function.
"""

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from assay.core.error import PluginError
from assay.core.kind import ANY, Kind, annotation_to_kind
from assay.core.name import is_dotted
from assay.core.quantity import parse_duration
from assay.core.signal import Signals, SignalSpec, check_signals, read_signals

Tier = Literal["auto", "judge", "human"]
Isolation = Literal["fresh", "shared", "worker", "fork"]
Ladder = Callable[..., Mapping[str, Sequence[Any]]]

# Parameters that the runtime supplies, by the kind of leaf.
SUPPLIED = {
    "verifier": frozenset({"answer", "episode", "task", "box", "artifacts", "judge"}),
    "source": frozenset({"base", "split"}),
    "parser": frozenset({"text"}),
    "tool": frozenset({"box", "episode", "task"}),
}


class Needs(msgspec.Struct, frozen=True):
    """What a leaf cannot do without.

    Attributes:
        sandbox: A box to run programs in.
        net: Network inside the box.
        gpu: Number of GPUs.
        memory: Such as `2GiB`; None for no demand.
        tests: `image` says that the tests it runs lie in the image the policy worked in (SB002).
        host: What the worker's machine must have, such as `blender`.
    """

    sandbox: bool = False
    net: bool = False
    gpu: int = 0
    memory: str | None = None
    tests: Literal["supplied", "image"] = "supplied"
    host: tuple[str, ...] = ()


class Parameter(msgspec.Struct, frozen=True, array_like=True):
    """One parameter of a leaf."""

    name: str
    kind: Kind
    is_required: bool
    is_supplied: bool
    is_variadic: bool = False
    is_keyword_only: bool = False


class OnError(msgspec.Struct, frozen=True, array_like=True):
    """What happens when a verifier raises: so many retries, then `unscored` or `fail` (end the run)."""

    retries: int
    then: Literal["unscored", "fail"]


class Leaf:
    """Base of decorated functions.

    Attributes:
        leaf: `verifier`, `source`, `parser`, `function` or `tool`.
        name: Registered name.
        version: Its own version; part of every digest that depends on it.
        function: The plain function.
        parameters: In order.
        doc: First line of its docstring.
    """

    leaf: str = ""

    def __init__(self, name: str, version: int, function: Callable[..., Any]) -> None:
        if not is_dotted(name):
            raise PluginError(f"a {self.leaf}'s name must be dotted identifiers", got=repr(name), at=_where(function))
        if version < 1:
            raise PluginError(f"a {self.leaf}'s version must be at least 1", got=version, at=_where(function))
        self.name = name
        self.version = version
        self.function = function
        self.parameters = _read_parameters(self.leaf, function)
        self.doc = (inspect.getdoc(function) or "").partition("\n")[0]
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__
        self.__wrapped__ = function

    @property
    def object_name(self) -> str:
        """`module:attribute`, under which a worker finds it again."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    @property
    def bound_parameters(self) -> tuple[Parameter, ...]:
        """Parameters that a call in the language binds."""
        return tuple(parameter for parameter in self.parameters if not parameter.is_supplied)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.leaf} {self.name} v{self.version}>"


class Verifier(Leaf):
    """A function from an episode to signals. Made by `assay.verifier`."""

    leaf = "verifier"

    def __init__(
        self,
        name: str,
        version: int,
        function: Callable[..., Any],
        *,
        tier: Tier,
        cost_s: float,
        is_deterministic: bool,
        needs: Needs,
        isolation: Isolation,
        is_isolation_explicit: bool,
        timeout_s: float,
        on_error: OnError,
        on_timeout: Signals | None,
        price_usd: float | None,
    ) -> None:
        super().__init__(name, version, function)
        self.tier = tier
        self.price_usd = price_usd
        self.cost_s = cost_s
        self.is_deterministic = is_deterministic
        self.needs = needs
        self.isolation = isolation
        self.is_isolation_explicit = is_isolation_explicit
        self.timeout_s = timeout_s
        self.on_error = on_error
        self.signals_type = _signals_type(function)
        self.signals: dict[str, SignalSpec] = read_signals(self.signals_type)
        self.is_async = inspect.iscoroutinefunction(function)
        if self.asks_judge and not (self.is_async and tier == "judge"):
            raise PluginError(
                "a verifier that takes a `judge` must be async and of tier judge",
                got=f"{'an async' if self.is_async else 'a plain'} function of tier {tier}",
                at=_where(function),
            )
        # What a timeout that the policy caused earns; None: a timeout is unscored.
        self.on_timeout = None if on_timeout is None else check_signals(self.signals, on_timeout, name)

    @property
    def asks_judge(self) -> bool:
        """Whether the runtime must supply a judge."""
        return any(parameter.name == "judge" and parameter.is_supplied for parameter in self.parameters)


class SourceLeaf(Leaf):
    """A function from arguments to a `Source`. Made by `assay.source`."""

    leaf = "source"

    def __init__(
        self, name: str, version: int, function: Callable[..., Any], *, is_local: bool, levels: Ladder | None
    ) -> None:
        super().__init__(name, version, function)
        self.is_local = is_local
        self._levels = levels
        self._asked = frozenset() if levels is None else frozenset(inspect.signature(levels).parameters)

    def ladder(self, arguments: Mapping[str, Any]) -> Mapping[str, Sequence[Any]] | None:
        """Return the attributes of difficulty of one call with their values from easy to hard; None where unstated.

        Raises:
            Exception: whatever the source's own function raises.
        """
        if self._levels is None:
            return None
        return self._levels(**{name: value for name, value in arguments.items() if name in self._asked})


class Parser(Leaf):
    """A function from the final text to the answer, or None where it refuses. Made by `assay.parser`."""

    leaf = "parser"


class Tool(Leaf):
    """A function the policy may call. Made by `assay.tool`."""

    leaf = "tool"

    def __init__(self, name: str, version: int, function: Callable[..., Any], *, needs: Needs) -> None:
        super().__init__(name, version, function)
        self.needs = needs


Direction = Literal["up", "down", "neither"]


class Function(Leaf):
    """A pure function for expressions. Made by `assay.function`.

    Attributes:
        direction: Per parameter, whether the value rises, falls or does neither as the argument rises.
        unit: `keep` (that of the arguments, which must agree) or `none`.
        range: From the (lo, hi) of each argument to the (lo, hi) of the value; derived from `direction` where absent.
        domain: Smallest allowed value per parameter; outside is RX005.
        column: The same function over numpy columns; absent: applied row by row.
    """

    leaf = "function"

    def __init__(
        self,
        name: str,
        version: int,
        function: Callable[..., Any],
        *,
        direction: tuple[Direction, ...],
        unit: Literal["keep", "none"],
        range: Callable[..., tuple[float, float]] | None,
        domain: tuple[float | None, ...],
        column: Callable[..., Any] | None,
    ) -> None:
        super().__init__(name, version, function)
        where = _where(function)
        if len(direction) != len(self.parameters):
            raise PluginError(
                "a function must state one direction per parameter",
                got=f"{len(direction)} for {len(self.parameters)}",
                at=where,
            )
        if range is None and "neither" in direction:
            raise PluginError(
                "a function that is not monotone in each parameter must state its range",
                at=where,
                todo="Pass range=, a function from (lo, hi) pairs to a (lo, hi) pair",
            )
        if domain and len(domain) != len(self.parameters):
            raise PluginError("a function must state one domain bound per parameter, or none", at=where)
        self.direction = direction
        self.unit = unit
        self.range = range
        self.domain = domain or (None,) * len(self.parameters)
        self.column = column


class Factory(msgspec.Struct, frozen=True):
    """A named way to make an engine, trainer, scheduler, sampler, store and the like.

    Attributes:
        name: Unique among installed factories of its hook.
        target: A class or function, or `module:attribute` where importing it is heavy.
        doc: One line.
        options: Keyword arguments it takes, with their kinds; read from the signature where empty.
    """

    name: str
    target: Callable[..., Any] | str
    doc: str = ""

    @property
    def object_name(self) -> str:
        """`module:attribute` of the target."""
        if isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters; a target that is named as text is not imported for it, and takes any keyword."""
        if isinstance(self.target, str):
            return (Parameter("options", ANY, False, False, is_variadic=True, is_keyword_only=True),)
        return _read_parameters("factory", self.target)


def verifier(
    name: str,
    *,
    version: int,
    tier: Tier = "auto",
    cost: str = "10ms",
    deterministic: bool = True,
    needs: Needs | None = None,
    isolation: Isolation | None = None,
    timeout: str = "10s",
    on_error: str = "unscored",
    on_timeout: Signals | Literal["unscored"] = "unscored",
    price: str | None = None,
) -> Callable[[Callable[..., Signals | Awaitable[Signals]]], Verifier]:
    """Declare a verifier.

    Args:
        name: Such as `tests.pytest`.
        version: Raise it whenever the same input may give other signals.
        tier: `auto` a program decides, `judge` a model, `human` a person.
        cost: First guess of its duration; measured costs replace it.
        deterministic: Whether equal input always gives equal signals.
        needs: What it cannot do without.
        isolation: With a sandbox `fresh` (default) or `shared`; without one `worker` (default) or `fork`.
        timeout: After which its process is killed.
        on_error: `[retry(n) then] unscored | fail`.
        on_timeout: `unscored`, or the signals that a timeout earns which the policy caused.
        price: First guess of what one call is charged, such as `0.01 USD`; measured prices replace it.

    Raises:
        PluginError: a declaration cannot be meant.
    """
    wanted = needs or Needs()

    def decorate(function: Callable[..., Signals | Awaitable[Signals]]) -> Verifier:
        allowed = ("fresh", "shared") if wanted.sandbox else ("worker", "fork")
        if isolation is not None and isolation not in allowed:
            raise PluginError(
                f"isolation {'with' if wanted.sandbox else 'without'} a sandbox must be {' or '.join(allowed)}",
                got=isolation,
                at=_where(function),
            )
        if tier not in typing.get_args(Tier):
            raise PluginError("tier must be auto, judge or human", got=repr(tier), at=_where(function))
        return Verifier(
            name,
            version,
            function,
            tier=tier,
            cost_s=_duration("cost", cost, function),
            is_deterministic=deterministic,
            needs=wanted,
            isolation=isolation or ("fresh" if wanted.sandbox else "worker"),
            is_isolation_explicit=isolation is not None,
            timeout_s=_duration("timeout", timeout, function),
            on_error=_parse_on_error(on_error, function),
            on_timeout=None if isinstance(on_timeout, str) else on_timeout,
            price_usd=_price(price, function),
        )

    return decorate


def source(
    name: str, *, version: int, local: bool = False, levels: Ladder | None = None
) -> Callable[[Callable[..., Any]], SourceLeaf]:
    """Declare a source of task rows.

    Args:
        name: Such as `jsonl`.
        version: Raise it whenever the same arguments may give other rows.
        local: Rows are cheap to read from local files, so `assay check` reads them.
        levels: From the arguments of a call that it names to the attributes of difficulty, each with its values from
            easy to hard. `assay check` calls it: it imports nothing heavy.
    """
    return lambda function: SourceLeaf(name, version, function, is_local=local, levels=levels)


def parser(name: str, *, version: int) -> Callable[[Callable[..., str | None]], Parser]:
    """Declare an answer parser: `text` and bound arguments in, the answer or None out."""
    return lambda function: Parser(name, version, function)


def tool(name: str, *, version: int, needs: Needs | None = None) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a tool that the policy may call."""
    return lambda function: Tool(name, version, function, needs=needs or Needs())


def function(
    name: str,
    *,
    version: int,
    direction: Sequence[Direction],
    unit: Literal["keep", "none"] = "none",
    range: Callable[..., tuple[float, float]] | None = None,
    domain: Sequence[float | None] = (),
    column: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., float]], Function]:
    """Declare a pure function for expressions; see `Function` for the arguments.

    Raises:
        PluginError: directions and parameters do not match, or a range is missing.
    """
    return lambda plain: Function(
        name,
        version,
        plain,
        direction=tuple(direction),
        unit=unit,
        range=range,
        domain=tuple(domain),
        column=column,
    )


def _read_parameters(leaf: str, function: Callable[..., Any]) -> tuple[Parameter, ...]:
    where = _where(function)
    try:
        hints = typing.get_type_hints(
            inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
        )
    except NameError as error:
        raise PluginError(f"annotations must be importable at run time: {error}", at=where) from None
    supplied = SUPPLIED.get(leaf, frozenset())
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if leaf == "verifier" and parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PluginError("a verifier must name its parameters", got=f"*{parameter.name}", at=where)
        is_supplied = parameter.name in supplied
        kind = ANY
        if not is_supplied or parameter.name == "answer":
            try:
                kind = annotation_to_kind(hints.get(parameter.name, Any))
            except TypeError as error:
                if leaf != "factory":
                    raise PluginError(f"parameter `{parameter.name}` {error}", at=where) from None
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        required = parameter.default is parameter.empty and not variadic
        keyword_only = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        parameters.append(Parameter(parameter.name, kind, required, is_supplied, variadic, keyword_only))
    return tuple(parameters)


def _signals_type(function: Callable[..., Any]) -> type[Signals]:
    returned = typing.get_type_hints(function).get("return")
    if not (isinstance(returned, type) and issubclass(returned, Signals)) or returned is Signals:
        raise PluginError(
            "a verifier must be annotated to return its own subclass of assay.Signals",
            got=repr(returned),
            at=_where(function),
        )
    return returned


def _parse_on_error(text: str, function: Callable[..., Any]) -> OnError:
    match = re.fullmatch(r"(?:retry\((\d+)\)\s+then\s+)?(unscored|fail)", text.strip())
    if match is None:
        raise PluginError("on_error must be `[retry(n) then] unscored | fail`", got=repr(text), at=_where(function))
    return OnError(int(match[1] or 0), "fail" if match[2] == "fail" else "unscored")


def _duration(what: str, text: str, function: Callable[..., Any]) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise PluginError(f"{what} {error}", at=_where(function)) from None


def _price(text: str | None, function: Callable[..., Any]) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*USD\s*", text)
    if match is None:
        raise PluginError("price must be an amount such as `0.01 USD`", got=repr(text), at=_where(function))
    return float(match[1])


def _where(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
