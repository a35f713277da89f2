"""Which chat format a policy has: what a plan is made from, before anybody reads a tokenizer."""

import json
from pathlib import Path
from typing import Any

from assay.core.error import ConfigError


def chat_name(folder: Path, name: str | None = None) -> str:
    """Return the name of a policy's chat format: the one asked for, the one its `assay.json` names, or the likely one.

    Args:
        folder: Of the policy; where there is none yet, it will be made for the plain format.
        name: Asked for; None for no wish.

    Raises:
        ConfigError: `assay.json` or the tokenizer's configuration is no JSON.
    """
    folder = Path(folder)
    has_template = (folder / "chat_template.jinja").exists() or "chat_template" in read_json(
        folder / "tokenizer_config.json"
    )
    named = name or read_json(folder / "assay.json").get("chat_format")
    return str(named or ("template" if has_template else "plain"))


def read_json(path: Path) -> dict[str, Any]:
    """Return what a JSON file of a policy folder holds; nothing where there is none.

    Raises:
        ConfigError: it is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{path.name} must be JSON", got=error, at=path) from None
