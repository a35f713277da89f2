"""Errors of verifiers that ask for what a run does not have."""

from assay.core.error import ConfigError, PluginError


def no_box(verifier: str) -> PluginError:
    """Return the error of a verifier that asks for a box where there is no sandbox backend."""
    return PluginError(
        "a verifier that asks for a box must have a sandbox backend",
        got=f"none for {verifier}",
        todo="Choose one, such as sandbox=docker",
    )


def no_judge(verifier: str, at: str | None = None) -> ConfigError:
    """Return the error of a verifier that asks a judge where none is chosen."""
    return ConfigError(
        f"`{verifier}` asks a judge, and a judge must be chosen for that",
        got="judge=none",
        at=at,
        todo="Add judge=openai judge.base_url=http://HOST:PORT/v1",
    )
