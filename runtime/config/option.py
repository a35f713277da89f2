"""Options of registered things: keys of a group that are arguments of what its `name` stands for.

Signatures are read from source text, because importing an engine or a trainer to look at it would import torch.
"""

import ast
import importlib.util
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.error import AssayError, ConfigError, PluginError
from assay.core.leaf import Factory
from assay.core.registry import Offer, Registry, resolve
from assay.core.sandbox import SandboxBackend
from assay.runtime.config.setting import Misfit, Settings
from assay.runtime.strategy.sight import check_samples

# Groups whose name may be `none`.
OPTIONAL = frozenset({"sandbox", "judge", "tracker", "strategy"})
# What runs where nothing heavy may be imported, so that it can be made to see whether it takes its options.
LIGHT = frozenset({"scheduler", "strategy"})
_SUPPLIED = frozenset({"self", "cls"})


def check_options(settings: Settings, registry: Registry) -> list[Misfit]:
    """Return a misfit for each unknown name and for each option that the named thing does not take."""
    misfits: list[Misfit] = []
    for field in msgspec.structs.fields(Settings):
        group = getattr(settings, field.name)
        if field.name == "eval":
            try:
                check_samples(group.samples, group.temperature, has_strategy=group.strategy != "none")
            except ConfigError as error:
                misfits.append(Misfit(error.at or "eval", "CF001", f"{error.must}, got {error.got}: {error.todo}"))
                continue
        options: dict[str, object] | None = getattr(group, "options", None)
        if options is None:
            continue
        kind, key = ("strategy", "strategy") if field.name == "eval" else (field.name, "name")
        name = str(getattr(group, key))
        if kind in OPTIONAL and name == "none":
            known: tuple[str, ...] | None = ()
        else:
            try:
                offer = registry.find(kind, name)
            except PluginError as error:
                reason = error.must if error.todo is None else f"{error.must}: {error.todo}"
                misfits.append(Misfit(f"{field.name}.{key}", error.error_code, reason))
                continue
            known = parameters(offer.value)
            if known is not None and kind in LIGHT and set(options) <= set(known):
                misfits += refused(offer, options, field.name, key)
        read = tuple(one.name for one in msgspec.structs.fields(type(group)) if one.name != "options")
        for key in options:
            if known is not None and key not in known:
                where = f"{field.name}.{key}"
                reason = f"nothing reads the key `{where}`: {field.name} `{name}` takes no such argument"
                misfits.append(Misfit(where, "CF001", reason, (*read, *known)))
    return misfits


def refused(offer: Offer, options: Mapping[str, object], group: str, key: str) -> list[Misfit]:
    """Return a misfit for each option whose value the named thing refuses, or one for all of them together."""

    def refusal(given: Mapping[str, object]) -> str:
        try:
            make = resolve(offer.ref)
            if reason := _mistyped(make, given):
                return reason
            make(**given)
        except AssayError as error:
            return error.must if error.got is None else f"{error.must}, got {error.got}"
        except Exception as error:
            return f"{offer.kind} `{offer.name}` refuses its options: {type(error).__name__}: {error}"
        return ""

    whole = refusal(options)
    if not whole:
        return []
    alone = {name: refusal({name: value}) for name, value in options.items()}
    found = [Misfit(f"{group}.{name}", "YM003", reason) for name, reason in alone.items() if reason]
    return found or [Misfit(f"{group}.{key}", "YM003", whole)]


def _mistyped(make: Any, given: Mapping[str, object]) -> str:
    """Return which option is not of the type that its parameter is annotated with; empty where all are."""
    try:
        taken = inspect.signature(make, eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return ""
    for name, value in given.items():
        if name not in taken or taken[name].annotation is inspect.Parameter.empty:
            continue
        try:
            msgspec.convert(value, taken[name].annotation)
        except msgspec.ValidationError as error:
            kind = str(error).partition("Expected `")[2].partition("`")[0]
            return f"`{name}` must be {kind}, got {value!r}"
        except TypeError:
            continue  # no type of plain values
    return ""


def parameters(factory: object) -> tuple[str, ...] | None:
    """Return the names of a factory's parameters; None where it takes any, or where its source cannot be found."""
    if isinstance(factory, SandboxBackend):
        # Offered made, with its defaults; a run makes one of its class with the options that are given.
        return tuple(inspect.signature(type(factory)).parameters)
    if not isinstance(factory, Factory):
        return ()
    if not isinstance(factory.target, str):
        found = inspect.signature(factory.target).parameters.values()
        return None if any(one.kind is one.VAR_KEYWORD for one in found) else tuple(one.name for one in found)
    module, _, attribute = factory.target.partition(":")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    for node in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == attribute:
            return _names(node)
        if isinstance(node, ast.ClassDef) and node.name == attribute:
            return _class_names(node)
    return None


def _names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...] | None:
    arguments = node.args
    if arguments.kwarg is not None:
        return None
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return tuple(one.arg for one in every if one.arg not in _SUPPLIED)


def _class_names(node: ast.ClassDef) -> tuple[str, ...] | None:
    """Return the parameters of `__init__`, or the annotated attributes of a struct; None for an inherited one."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            return _names(child)
    attributes = [child.target.id for child in node.body
                  if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)]  # fmt: skip
    return None if node.bases and not attributes else tuple(attributes)
