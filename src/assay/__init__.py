"""Assay: reinforcement-learning post-training that verifies first and trains second.

What a plugin author needs, and nothing else. Each name is imported on first use, so that
`import assay` stays cheap; type checkers read the same names from the real imports below.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay.core.declare import Domain, DomainFile, domain_files
    from assay.core.episode import Episode
    from assay.core.error import AssayError, JudgeError, JudgeOutage, JudgeRefused
    from assay.core.hook import hookimpl, hookspec
    from assay.core.judge import Judge, JudgeBackend, JudgeReply, JudgeRequest
    from assay.core.leaf import Needs, function, parser, source, tool, verifier
    from assay.core.sandbox import Sandbox
    from assay.core.signal import Signals, signal

__all__ = [
    "AssayError",
    "Domain",
    "DomainFile",
    "Episode",
    "Judge",
    "JudgeBackend",
    "JudgeError",
    "JudgeOutage",
    "JudgeRefused",
    "JudgeReply",
    "JudgeRequest",
    "Needs",
    "Sandbox",
    "Signals",
    "__version__",
    "domain_files",
    "function",
    "hookimpl",
    "hookspec",
    "parser",
    "signal",
    "source",
    "tool",
    "verifier",
]

_PUBLIC = {
    "AssayError": "assay.core.error:AssayError",
    "Domain": "assay.core.declare:Domain",
    "DomainFile": "assay.core.declare:DomainFile",
    "Episode": "assay.core.episode:Episode",
    "Judge": "assay.core.judge:Judge",
    "JudgeBackend": "assay.core.judge:JudgeBackend",
    "JudgeError": "assay.core.error:JudgeError",
    "JudgeOutage": "assay.core.error:JudgeOutage",
    "JudgeRefused": "assay.core.error:JudgeRefused",
    "JudgeReply": "assay.core.judge:JudgeReply",
    "JudgeRequest": "assay.core.judge:JudgeRequest",
    "Needs": "assay.core.leaf:Needs",
    "Sandbox": "assay.core.sandbox:Sandbox",
    "Signals": "assay.core.signal:Signals",
    "domain_files": "assay.core.declare:domain_files",
    "function": "assay.core.leaf:function",
    "hookimpl": "assay.core.hook:hookimpl",
    "hookspec": "assay.core.hook:hookspec",
    "parser": "assay.core.leaf:parser",
    "signal": "assay.core.signal:signal",
    "source": "assay.core.leaf:source",
    "tool": "assay.core.leaf:tool",
    "verifier": "assay.core.leaf:verifier",
}


if not TYPE_CHECKING:  # a type checker that sees a module's __getattr__ reports no misspelt name

    def __getattr__(name: str) -> object:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'assay' has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _PUBLIC[name].partition(":")
        value = getattr(import_module(module), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
