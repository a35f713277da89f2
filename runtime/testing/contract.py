"""The base of all contracts: whose plugin it is, how a broken clause is reported, and what holds of every kind."""

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, Self, TypeVar, cast

from assay.core.error import AssayError
from assay.core.registry import Offer, Registry, installed, resolve
from assay.runtime.testing.load import HEAVY, Loaded, load_afresh

T = TypeVar("T")
_MAX_SHOWN = 300


class ContractBroken(AssertionError):
    """A plugin does not keep the contract of its kind.

    Attributes:
        must: What must hold.
        got: What came instead; None where there is nothing to show.
        at: Whose it is.
        todo: The way out; None where the rest says it.
    """

    def __init__(self, must: str, *, got: object | None = None, at: str, todo: str | None = None) -> None:
        error = AssayError(must, got=got, at=at, todo=todo)
        self.must, self.got, self.at, self.todo = error.must, error.got, error.at, error.todo
        super().__init__(error.render())


class Contract:
    """What holds of every plugin that has a name.

    Attributes:
        kind: Kind of plugin, as in `assay.core.hook.NAMED`; also the attribute that holds the plugin.
        registry: Where the plugin must be found; None for what is installed.
        load_s: Seconds of processor time that declaring its package may take, beyond `import assay`.
        heavy: Libraries that declaring it must not load.
    """

    kind: ClassVar[str] = ""
    registry: ClassVar[Registry | None] = None
    load_s: ClassVar[float] = 0.5
    heavy: ClassVar[frozenset[str]] = HEAVY
    _resources: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._resources = {}
        if hasattr(cls, cls.kind):
            for name in cls.left_out():
                setattr(cls, name, None)

    @classmethod
    def of(cls, plugin: Any, **attributes: Any) -> type[Self]:
        """Return this contract for one plugin: `TestWords = VerifierContract.of(words, cases=[...])`.

        Args:
            plugin: What the package offers: a leaf, a factory, a backend, a declaration.
            attributes: Class attributes of the contract, by name.

        Raises:
            TypeError: the contract has no attribute of that name.
        """
        if unknown := [name for name in attributes if not hasattr(cls, name)]:
            raise TypeError(f"{cls.__name__} has no attribute {', '.join(unknown)}")
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        module = caller.f_globals.get("__name__", __name__) if caller is not None else __name__
        body = {cls.kind: plugin, "__module__": module, "__doc__": cls.__doc__, **attributes}
        made: Any = type(f"{cls.__name__}Of", (cls,), body)
        return cast(type[Self], made)

    @classmethod
    def left_out(cls) -> Sequence[str]:
        """Name the clauses that say nothing about this plugin."""
        return ()

    @property
    def plugin(self) -> Any:
        """What the contract is about.

        Raises:
            TypeError: the class does not set it.
        """
        try:
            return getattr(type(self), self.kind)
        except AttributeError:
            raise TypeError(f"{type(self).__name__} must set `{self.kind}` to the plugin it is about") from None

    @property
    def name(self) -> str:
        """Name under which it is offered."""
        return str(self.plugin.name)

    @property
    def offer(self) -> Offer:
        """The one offer of this plugin.

        Raises:
            ContractBroken: nobody offers it, or somebody else does too.
        """
        registry = installed() if self.registry is None else self.registry
        named = [offer for offer in registry.of_kind(self.kind) if offer.name == self.name]
        own = [offer for offer in named if offer.value is self.plugin or self._is_same(offer.value)]
        if not own:
            failed = "; ".join(f"{one.dist} {one.version} did not load: {one.reason}" for one in registry.failures)
            self.broken(
                f"a {self.kind} must be offered by an installed package",
                got=failed or ("another one of that name" if named else "none of that name"),
                todo="Return it from the package's hook, name the package under `[project.entry-points.assay]`, and "
                "run `pip install --editable .`",
                at=self._described(),
            )
        if len(named) > 1:
            self.broken(
                f"a {self.kind}'s name must be offered once",
                got=" and ".join(f"{offer.dist} {offer.version}" for offer in named),
                todo="Begin the name with that of your package, such as `mine.words`",
                at=self._described(),
            )
        return own[0]

    @property
    def culprit(self) -> str:
        """Kind, name and distribution, for messages."""
        offer = self.offer
        return f"{self._described()} of {offer.dist} {offer.version}"

    def require(self, holds: object, must: str, *, got: object = None, todo: str | None = None) -> None:
        """Break the contract unless something holds.

        Args:
            holds: What must be true.
            must: The same in words, as a statement without a full stop.
            got: What came instead.
            todo: The way out, as a sentence without a full stop.

        Raises:
            ContractBroken: it does not hold.
        """
        __tracebackhide__ = True
        if not holds:
            self.broken(must, got=got, todo=todo)

    def broken(self, must: str, *, got: object = None, todo: str | None = None, at: str | None = None) -> NoReturn:
        """Break the contract; see `require`. `at` stands for the plugin where it cannot be asked for its own place.

        Raises:
            ContractBroken: always.
        """
        __tracebackhide__ = True
        raise ContractBroken(must, got=None if got is None else shown(got), at=at or self.culprit, todo=todo)

    def resource(self, name: str, make: Callable[[], T]) -> T:
        """Return what all clauses of this class share, made at the first call; its `close` is called after the last."""
        resources = type(self)._resources
        if name not in resources:
            resources[name] = make()
        found: T = resources[name]
        return found

    @classmethod
    def teardown_class(cls) -> None:
        """Close what clauses shared; pytest calls it."""
        resources, cls._resources = cls._resources, {}
        with contextlib.ExitStack() as stack:
            for made in resources.values():
                if hasattr(made, "close"):
                    stack.callback(made.close)

    def test_it_is_installed_and_its_name_is_its_own(self) -> None:
        """The package is installed, its hook returns the plugin, and nobody else offers that name."""
        assert self.offer.dist

    def test_a_worker_finds_it_again(self) -> None:
        """`dist:version:module:attribute` leads back to it, in whatever process."""
        offer = self.offer
        if not offer.ref:
            return
        try:
            found = resolve(offer.ref)
        except AssayError as error:
            self.broken(
                f"a {self.kind} must be found again by its reference",
                got=error,
                todo="Keep it under its function's own name at the top of a module",
            )
        # A factory that names its target as text leads to the target, not to itself.
        self.require(
            found is self.plugin or not hasattr(found, "leaf"),
            f"a {self.kind} must be found again by its reference",
            got=f"{found!r} at {offer.ref}",
            todo="Keep it under its function's own name at the top of a module",
        )

    def test_it_says_what_it_does(self) -> None:
        """One line of documentation, which `assay plugins` shows."""
        self.require(self._doc().strip(), f"a {self.kind} must say in one line what it does", todo="Add a docstring")

    def test_declaring_it_is_light(self) -> None:
        """Importing the package and calling its hooks takes little time and loads no heavy library.

        Measured in a fresh interpreter, once per distribution. What a call imports later is no part of it.
        """
        loaded = self._loaded()
        heavy = sorted(self.heavy & loaded.modules)
        self.require(
            not heavy,
            "declaring a plugin must load no heavy library",
            got=", ".join(heavy),
            todo="Import it inside the function that uses it",
        )
        self.require(
            loaded.cpu_s <= self.load_s,
            f"declaring a package must take at most {self.load_s:g} s of processor time",
            got=f"{loaded.cpu_s:.2f} s",
            todo="Import what is slow inside the function that uses it",
        )

    def _loaded(self) -> Loaded:
        offer = self.offer
        loaded = load_afresh(offer.dist)
        if loaded.error:
            self.broken("a package must load in a fresh interpreter", got=loaded.error)
        return loaded

    def _doc(self) -> str:
        return str(getattr(self.plugin, "doc", "") or inspect.getdoc(self.plugin) or "")

    def _is_same(self, value: Any) -> bool:
        """Whether an offered value is the plugin, where the hook makes a new one at each call."""
        return False

    def _described(self) -> str:
        version = getattr(self.plugin, "version", None)
        return f"{self.kind} `{self.name}`" + (f" v{version}" if isinstance(version, int) else "")


def shown(value: object) -> str:
    """Return a value for a message, cut where it is long and safe to print."""
    if isinstance(value, BaseException):
        text = str(value) if isinstance(value, AssayError) else f"{type(value).__name__}: {value}"
    else:
        text = value if isinstance(value, str) else repr(value)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}... ({len(text)} characters)"
