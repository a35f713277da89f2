"""Tools that break one clause each, and one that breaks none."""

import os
import time

import assay


@assay.tool("wrong.none", version=1)
def right(query: str, most: int = 3) -> str:
    """Say how long the query is."""
    return f"{len(query)} of {most}"


@assay.tool("wrong.bare", version=1)
def bare(query) -> str:
    """Take something of no type."""
    return str(query)


@assay.tool("wrong.number", version=1)
def number(query: str) -> int:
    """Return no text."""
    return len(query)


@assay.tool("wrong.odd", version=1)
def odd(query: str, where: object = None) -> str:
    """Ask for what a policy cannot write."""
    return query


@assay.tool("wrong.other", version=1)
def other(query: str) -> str:
    """Say something else."""
    return query.upper()


@assay.tool("wrong.raising", version=1)
def raising(query: str) -> str:
    """Raise where there is no number."""
    return str(int(query))


@assay.tool("wrong.dying", version=1)
def dying(query: str) -> str:
    """Run what it is told to."""
    if "_exit" in query:
        os._exit(3)
    return query


@assay.tool("wrong.hanging", version=1)
def hanging(query: str) -> str:
    """Never end."""
    if not query:
        time.sleep(600)
    return query
