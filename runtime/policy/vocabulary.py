"""A tokenizer made from a declaration: whole words that templates use, and single characters for the rest.

It is not trained on anything. Spaces separate words and are dropped; a word of the vocabulary inside a longer one is
spelt; a character that was not declared becomes `[unk]`. Without declared characters every byte of the UTF-8 text is a
token, spaces too, and nothing is unknown. The result is a plain `tokenizer.json`.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.core.error import ConfigError

PAD, UNKNOWN, SEPARATOR, END = SPECIALS = ("[pad]", "[unk]", "[sep]", "[end]")

# The plain chat format in Jinja, so that transformers' `apply_chat_template` gives the same tokens.
TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}[end]"
    "{% elif loop.last or messages[loop.index0 + 1]['role'] == 'assistant' %}[sep]{% else %} {% endif %}{% endfor %}"
)


def vocabulary(words: Sequence[str], characters: str) -> dict[str, int]:
    """Return token -> id: specials, words, characters, in the order given.

    Raises:
        ConfigError: a token is declared twice, or a word holds a space.
    """
    tokens = [*SPECIALS, *words, *characters]
    if len(set(tokens)) != len(tokens):
        twice = sorted({token for token in tokens if tokens.count(token) > 1})
        raise ConfigError("tokens must be declared once", got=", ".join(twice), at="policy.words, policy.characters")
    if any(len(word.split()) != 1 for word in words) or any(character.isspace() for character in characters):
        raise ConfigError("tokens must hold no space", got=list(words), at="policy.words")
    return {token: index for index, token in enumerate(tokens)}


def write_tokenizer(folder: Path, words: Sequence[str], characters: str | None, max_context: int) -> dict[str, int]:
    """Write `tokenizer.json` and `tokenizer_config.json`; return token -> id.

    Raises:
        ConfigError: see `vocabulary`; or there are words beside bytes.
    """
    from tokenizers import AddedToken

    tokens, tokenizer = _of_bytes(words) if characters is None else _of_words(words, characters)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "sep_token": SEPARATOR,
        "eos_token": END,
        "model_max_length": max_context,
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return tokens


def _of_words(words: Sequence[str], characters: str) -> tuple[dict[str, int], Any]:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokens = vocabulary(words, characters)
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token=UNKNOWN))
    whole = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pattern = rf"^(?:{whole})$|." if whole else "."
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(pattern), "isolated")]
    )
    tokenizer.decoder = decoders.Fuse()
    return tokens, tokenizer


def _of_bytes(words: Sequence[str]) -> tuple[dict[str, int], Any]:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    if words:
        todo = "Name characters too, or no words"
        raise ConfigError("words must have characters beside them", got=list(words), at="policy.words", todo=todo)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = {token: index for index, token in enumerate([*SPECIALS, *alphabet])}
    tokenizer = Tokenizer(models.BPE(tokens, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokens, tokenizer
