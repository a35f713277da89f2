"""Hook specifications: what a plugin package may bring.

A package names its module under the entry-point group `assay` and implements any of these functions with
`@assay.hookimpl`. Each is called once, when the registry is built, in every process that needs it; it must be quick,
import nothing heavy and have no effect. Each returns a list. **Who wins:** nobody overrides anybody; a name offered
twice is PL001, naming both distributions. The order of packages means nothing.
"""

from collections.abc import Sequence

import pluggy

from assay.core.declare import Domain, DomainFile
from assay.core.leaf import Factory, Function, Parser, SourceLeaf, Tool, Verifier
from assay.core.sandbox import SandboxBackend

hookspec = pluggy.HookspecMarker("assay")
hookimpl = pluggy.HookimplMarker("assay")


@hookspec
def assay_domains() -> Sequence[Domain | DomainFile]:
    """Offer domains: `assay.domain_files(__name__)`, or `assay.Domain(...)` objects."""
    return ()


@hookspec
def assay_verifiers() -> Sequence[Verifier]:
    """Offer verifiers: functions marked `@assay.verifier`, named in `verify:`."""
    return ()


@hookspec
def assay_sources() -> Sequence[SourceLeaf]:
    """Offer sources of rows: functions marked `@assay.source`, named in `data:`."""
    return ()


@hookspec
def assay_parsers() -> Sequence[Parser]:
    """Offer answer parsers: functions marked `@assay.parser`, named in `answer:`."""
    return ()


@hookspec
def assay_functions() -> Sequence[Function]:
    """Offer pure functions for expressions: functions marked `@assay.function`."""
    return ()


@hookspec
def assay_tools() -> Sequence[Tool]:
    """Offer tools: functions marked `@assay.tool`, named in `episode.tools`."""
    return ()


@hookspec
def assay_judges() -> Sequence[Factory]:
    """Offer judges: models that are asked, chosen by `judge=`; made once in each verify worker."""
    return ()


@hookspec
def assay_sandboxes() -> Sequence[SandboxBackend]:
    """Offer sandbox backends; `capabilities()` must answer without asking a daemon."""
    return ()


@hookspec
def assay_engines() -> Sequence[Factory]:
    """Offer rollout engines, chosen by `engine=`; made once in each rollout worker."""
    return ()


@hookspec
def assay_schedulers() -> Sequence[Factory]:
    """Offer schedulers, chosen by `scheduler=`; made once per queue, rollout and verify, in the coordinator."""
    return ()


@hookspec
def assay_samplers() -> Sequence[Factory]:
    """Offer samplers, called in `sampler:` with literals; made once per mix entry in the coordinator."""
    return ()


@hookspec
def assay_algorithms() -> Sequence[Factory]:
    """Offer algorithms, chosen by `algorithm=`; made once in rank 0 of update."""
    return ()


@hookspec
def assay_trainers() -> Sequence[Factory]:
    """Offer trainers, chosen by `trainer=`; made once in each trainer rank."""
    return ()


@hookspec
def assay_launchers() -> Sequence[Factory]:
    """Offer launchers, chosen by `launcher=`; made once by `assay train` from the processes that it is to start."""
    return ()


@hookspec
def assay_trackers() -> Sequence[Factory]:
    """Offer experiment trackers, chosen by `tracker=`; each is made once in a process of its own beside the run."""
    return ()


@hookspec
def assay_stores() -> Sequence[Factory]:
    """Offer blob stores, chosen by `store=`; each process opens its own handle."""
    return ()


@hookspec
def assay_chat_formats() -> Sequence[Factory]:
    """Offer chat formats: from messages to token ids and back; by `policy.chat_format` or the policy itself."""
    return ()


@hookspec
def assay_strategies() -> Sequence[Factory]:
    """Offer test-time strategies, chosen by `eval.strategy=`; made where an evaluation's answers are picked from."""
    return ()


@hookspec
def assay_exporters() -> Sequence[Factory]:
    """Offer exporters of checkpoints to other formats, chosen by `assay export --to`."""
    return ()


@hookspec
def assay_stage_rules() -> Sequence[Factory]:
    """Offer stage rules, called in `until:` with signals and literals; made once per stage in the coordinator."""
    return ()


@hookspec
def assay_config_dirs() -> Sequence[str]:
    """Offer folders of Hydra config groups, as `package/relative/folder`, searched after the built-in ones."""
    return ()


# Hooks whose items have names of their own, and the attribute that holds the name.
NAMED = {
    "assay_domains": "domain",
    "assay_verifiers": "verifier",
    "assay_sources": "source",
    "assay_parsers": "parser",
    "assay_functions": "function",
    "assay_tools": "tool",
    "assay_judges": "judge",
    "assay_sandboxes": "sandbox",
    "assay_engines": "engine",
    "assay_schedulers": "scheduler",
    "assay_samplers": "sampler",
    "assay_algorithms": "algorithm",
    "assay_trainers": "trainer",
    "assay_launchers": "launcher",
    "assay_trackers": "tracker",
    "assay_stores": "store",
    "assay_chat_formats": "chat_format",
    "assay_strategies": "strategy",
    "assay_exporters": "exporter",
    "assay_stage_rules": "stage_rule",
    "assay_config_dirs": "config_dir",
}
