"""Which chat format a policy has, and that a package's format is found by the registry."""

import json
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.core.error import PluginError
from assay.core.leaf import Factory
from assay.core.registry import Registry
from assay.runtime import builtin
from assay.runtime.policy.chat import read_chat
from assay.runtime.policy.choice import chat_name
from assay.runtime.run.build import _chat_ref


def settings(path: Path | None, chat_format: str | None) -> Any:
    return SimpleNamespace(policy=SimpleNamespace(path=None if path is None else str(path), chat_format=chat_format))


@pytest.fixture
def registry() -> Registry:
    found = Registry()
    found.add(builtin, "assay-rl", version("assay-rl"))
    offer = assay.hookimpl(lambda: [Factory("shouting", "assay.runtime.policy.chat:PlainChat", "Loud.")])
    found.add(SimpleNamespace(assay_chat_formats=offer), "assay-loud", "1.0")
    return found


def test_wish_comes_before_the_folder_and_the_folder_before_a_guess(tmp_path: Path) -> None:
    assert "plain" == chat_name(tmp_path)
    (tmp_path / "chat_template.jinja").touch()
    assert "template" == chat_name(tmp_path)
    (tmp_path / "assay.json").write_text(json.dumps({"chat_format": "shouting"}))
    assert ("shouting", "plain") == (chat_name(tmp_path), chat_name(tmp_path, "plain"))


def test_format_of_a_package_is_found_by_its_name(registry: Registry, tmp_path: Path) -> None:
    assert "assay-loud:1.0:assay.runtime.policy.chat:PlainChat" == _chat_ref(settings(None, "shouting"), registry)
    (tmp_path / "assay.json").write_text(json.dumps({"chat_format": "shouting"}))
    assert _chat_ref(settings(tmp_path, None), registry).startswith("assay-loud:1.0:")
    with pytest.raises(PluginError, match=r"unknown chat.format `shoutin`"):
        _chat_ref(settings(None, "shoutin"), registry)


def test_new_policy_gets_the_plain_format(registry: Registry) -> None:
    assert _chat_ref(settings(None, None), registry).endswith("assay.runtime.policy.chat:PlainChat")


def test_reference_of_a_plan_decides_alone(policy: Path) -> None:
    ref = f"assay-rl:{version('assay-rl')}:assay.runtime.policy.chat:TemplateChat"
    assert "TemplateChat" == type(read_chat(policy, "plain", ref)).__name__
