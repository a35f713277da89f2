"""Contracts that plugin authors run on their own plugins; each name is imported on first use.

    from assay.testing import Case, VerifierContract

    TestMatch = VerifierContract.of(match, cases=[Case("two one", {"expected": "two one"}, {"equal": True})])

See `assay.runtime.testing` for what a contract is, and docs/testing.md for all of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.runtime.testing.algorithm import AlgorithmContract
    from assay.runtime.testing.case import Case
    from assay.runtime.testing.chat_format import ChatFormatContract
    from assay.runtime.testing.config_dir import ConfigDirContract
    from assay.runtime.testing.contract import Contract, ContractBroken
    from assay.runtime.testing.domain import DomainContract
    from assay.runtime.testing.engine import EngineContract
    from assay.runtime.testing.exporter import ExporterContract
    from assay.runtime.testing.function import FunctionContract
    from assay.runtime.testing.hostile import HOSTILE
    from assay.runtime.testing.judge import JudgeContract
    from assay.runtime.testing.launcher import LauncherContract
    from assay.runtime.testing.parser import ParserContract
    from assay.runtime.testing.sampler import SamplerContract
    from assay.runtime.testing.sandbox import SandboxContract
    from assay.runtime.testing.scheduler import SchedulerContract
    from assay.runtime.testing.source import SourceContract
    from assay.runtime.testing.stage_rule import Course, StageRuleContract
    from assay.runtime.testing.store import StoreContract
    from assay.runtime.testing.strategy import Picked, StrategyContract
    from assay.runtime.testing.tool import ToolCase, ToolContract
    from assay.runtime.testing.tracker import TrackerContract
    from assay.runtime.testing.trainer import TrainerContract
    from assay.runtime.testing.verifier import VerifierContract

__all__ = [
    "HOSTILE",
    "AlgorithmContract",
    "Case",
    "ChatFormatContract",
    "ConfigDirContract",
    "Contract",
    "ContractBroken",
    "Course",
    "DomainContract",
    "EngineContract",
    "ExporterContract",
    "FunctionContract",
    "JudgeContract",
    "LauncherContract",
    "ParserContract",
    "Picked",
    "SamplerContract",
    "SandboxContract",
    "SchedulerContract",
    "SourceContract",
    "StageRuleContract",
    "StoreContract",
    "StrategyContract",
    "ToolCase",
    "ToolContract",
    "TrackerContract",
    "TrainerContract",
    "VerifierContract",
]

_PUBLIC = {
    "HOSTILE": "assay.runtime.testing.hostile:HOSTILE",
    "AlgorithmContract": "assay.runtime.testing.algorithm:AlgorithmContract",
    "Case": "assay.runtime.testing.case:Case",
    "ChatFormatContract": "assay.runtime.testing.chat_format:ChatFormatContract",
    "ConfigDirContract": "assay.runtime.testing.config_dir:ConfigDirContract",
    "Contract": "assay.runtime.testing.contract:Contract",
    "ContractBroken": "assay.runtime.testing.contract:ContractBroken",
    "Course": "assay.runtime.testing.stage_rule:Course",
    "DomainContract": "assay.runtime.testing.domain:DomainContract",
    "EngineContract": "assay.runtime.testing.engine:EngineContract",
    "ExporterContract": "assay.runtime.testing.exporter:ExporterContract",
    "FunctionContract": "assay.runtime.testing.function:FunctionContract",
    "JudgeContract": "assay.runtime.testing.judge:JudgeContract",
    "LauncherContract": "assay.runtime.testing.launcher:LauncherContract",
    "ParserContract": "assay.runtime.testing.parser:ParserContract",
    "Picked": "assay.runtime.testing.strategy:Picked",
    "SamplerContract": "assay.runtime.testing.sampler:SamplerContract",
    "SandboxContract": "assay.runtime.testing.sandbox:SandboxContract",
    "SchedulerContract": "assay.runtime.testing.scheduler:SchedulerContract",
    "SourceContract": "assay.runtime.testing.source:SourceContract",
    "StageRuleContract": "assay.runtime.testing.stage_rule:StageRuleContract",
    "StoreContract": "assay.runtime.testing.store:StoreContract",
    "StrategyContract": "assay.runtime.testing.strategy:StrategyContract",
    "ToolCase": "assay.runtime.testing.tool:ToolCase",
    "ToolContract": "assay.runtime.testing.tool:ToolContract",
    "TrackerContract": "assay.runtime.testing.tracker:TrackerContract",
    "TrainerContract": "assay.runtime.testing.trainer:TrainerContract",
    "VerifierContract": "assay.runtime.testing.verifier:VerifierContract",
}


if not TYPE_CHECKING:  # a type checker that sees a module's __getattr__ reports no misspelt name

    def __getattr__(name: str) -> object:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'assay.testing' has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _PUBLIC[name].partition(":")
        value = getattr(import_module(module), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
