"""A package of plugins that each break one clause of their contract; its hooks offer them all."""

import importlib

import assay


def leaves(kind: str) -> list[object]:
    """Return the leaves of the module of their kind."""
    module = importlib.import_module(f"assay_wrong.{kind}")
    found = {value.name: value for value in vars(module).values() if getattr(value, "leaf", "") == kind}
    return list(found.values())


@assay.hookimpl
def assay_verifiers() -> list[object]:
    return leaves("verifier")


@assay.hookimpl
def assay_parsers() -> list[object]:
    return leaves("parser")


@assay.hookimpl
def assay_sources() -> list[object]:
    return leaves("source")


@assay.hookimpl
def assay_functions() -> list[object]:
    return leaves("function")


@assay.hookimpl
def assay_tools() -> list[object]:
    return leaves("tool")
