"""What Assay itself offers, through the same hooks as any package.

Importing this module declares and does nothing else; factories name their targets as text, so that an engine or a
trainer is imported by the process that makes one.
"""

from collections.abc import Sequence

from assay.core.hook import hookimpl
from assay.core.leaf import Factory, Parser, SourceLeaf, Verifier
from assay.core.sandbox import SandboxBackend
from assay.runtime.algorithm import GRPO
from assay.runtime.engine import ENGINES
from assay.runtime.judge import JUDGES
from assay.runtime.launch import LAUNCHERS
from assay.runtime.parser.diff import diff
from assay.runtime.parser.json import json_value
from assay.runtime.parser.text import after, boxed, fenced, last_number, tag
from assay.runtime.policy import CHAT_FORMATS, EXPORTERS
from assay.runtime.rule import STAGE_RULES
from assay.runtime.sampler import SAMPLERS
from assay.runtime.scheduler import SCHEDULERS
from assay.runtime.source.file import csv_file, json_file, jsonl
from assay.runtime.strategy import STRATEGIES
from assay.runtime.tracker import TRACKERS
from assay.runtime.trainer import MEGATRON
from assay.runtime.verifier.human import human_mark
from assay.runtime.verifier.json import json_equal
from assay.runtime.verifier.judge import judge_prefer, judge_score
from assay.runtime.verifier.number import number_equal
from assay.runtime.verifier.text import text_equal


@hookimpl
def assay_sources() -> Sequence[SourceLeaf]:
    """Offer the readers of local files."""
    return (jsonl, json_file, csv_file)


@hookimpl
def assay_parsers() -> Sequence[Parser]:
    """Offer the answer parsers."""
    return (boxed, after, tag, fenced, last_number, diff, json_value)


@hookimpl
def assay_verifiers() -> Sequence[Verifier]:
    """Offer the exact comparisons, what a model thinks, and what people say."""
    return (text_equal, number_equal, json_equal, judge_score, judge_prefer, human_mark)


@hookimpl
def assay_judges() -> Sequence[Factory]:
    """Offer judges behind OpenAI-compatible servers."""
    return JUDGES


@hookimpl
def assay_engines() -> Sequence[Factory]:
    """Offer the engine that needs no server."""
    return ENGINES


@hookimpl
def assay_samplers() -> Sequence[Factory]:
    """Offer the built-in samplers."""
    return SAMPLERS


@hookimpl
def assay_stage_rules() -> Sequence[Factory]:
    """Offer the built-in stage rules."""
    return STAGE_RULES


@hookimpl
def assay_strategies() -> Sequence[Factory]:
    """Offer the built-in strategies."""
    return STRATEGIES


@hookimpl
def assay_trainers() -> Sequence[Factory]:
    """Offer Megatron-core."""
    return (MEGATRON,)


@hookimpl
def assay_algorithms() -> Sequence[Factory]:
    """Offer GRPO."""
    return (GRPO,)


@hookimpl
def assay_schedulers() -> Sequence[Factory]:
    """Offer the built-in schedulers."""
    return SCHEDULERS


@hookimpl
def assay_launchers() -> Sequence[Factory]:
    """Offer this machine."""
    return LAUNCHERS


@hookimpl
def assay_trackers() -> Sequence[Factory]:
    """Offer a file of JSON lines."""
    return TRACKERS


@hookimpl
def assay_stores() -> Sequence[Factory]:
    """Offer segment files in the run folder."""
    return (Factory("local", "assay.runtime.store.local:LocalStore", "Segment files in one folder."),)


@hookimpl
def assay_exporters() -> Sequence[Factory]:
    """Offer the format of Hugging Face."""
    return EXPORTERS


@hookimpl
def assay_chat_formats() -> Sequence[Factory]:
    """Offer the two ways from messages to token ids."""
    return CHAT_FORMATS


@hookimpl
def assay_sandboxes() -> Sequence[SandboxBackend]:
    """Offer plain processes, for code that one trusts."""
    from assay.runtime.sandbox.process import ProcessBackend

    return (ProcessBackend(),)
