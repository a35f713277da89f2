"""The completion script for zsh 5.8 and newer."""

from collections.abc import Iterable

from assay.runtime.completion.vocabulary import Slot, Vocabulary

_SCRIPT = """\
#compdef assay
# Tab completion of `assay` for zsh. In ~/.zshrc, after compinit:  source <(assay completion zsh)

_assay_domains() { compadd -- @DOMAINS@ }
_assay_files() { _files -g '*.(yaml|yml)' }
_assay_folders() { _files -/ }

_assay_runs() {
  local -a names=(runs/*(/N))
  compadd -- ${names#runs/} $names
}

_assay_overrides() {
  case $PREFIX in
@GROUPS@
  *=*) ;;
  *) compadd -S '' -- @KEYS@ ;;
  esac
}

_assay() {
  local -a verbs=(
@VERBS@
  )
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
@CASES@
  esac
}

# Sourced, it takes effect at once; in a folder of $fpath it is called.
if [[ $funcstack[1] == _assay ]]; then _assay "$@"; else compdef _assay assay; fi
"""


def zsh_script(vocabulary: Vocabulary) -> str:
    """Return the script."""
    groups = []
    for group, names in vocabulary.groups.items():
        files = f"; compset -P '{group}='; _assay_files" if group == "curriculum" else ""
        groups.append(f"  {group}=*) compadd -- {_words(f'{group}={name}' for name in names)}{files} ;;")
    cases = []
    for verb in vocabulary.verbs:
        specs = []
        for flag in verb.flags:
            # Of several spellings one excludes the others: '(-m --multirun)'{-m,--multirun}'[...]'.
            is_many = len(flag.names) > 1
            spelling = f"'({' '.join(flag.names)})'{{{','.join(flag.names)}}}" if is_many else "".join(flag.names)
            text = f"[{_escape(flag.help)}]" + ("" if flag.slot is None else f":value:{_action(flag.slot)}")
            specs.append(f"{spelling}{_quote(text)}")
        if verb.slot.kinds or verb.slot.choices:
            specs.append(_quote(f"*:word:{_action(verb.slot)}"))
        cases.append(f"  {verb.name}) _arguments {' '.join(specs)} ;;")
    parts = {
        "DOMAINS": _words(vocabulary.domains),
        "GROUPS": "\n".join(groups),
        "KEYS": _words(f"{key}=" for key in (*vocabulary.groups, *vocabulary.keys)),
        "VERBS": "\n".join(f"    {_quote(f'{v.name}:{_escape(v.help)}')}" for v in vocabulary.verbs),
        "CASES": "\n".join(cases),
    }
    script = _SCRIPT
    for name, text in parts.items():
        script = script.replace(f"@{name}@", text)
    return script


def _action(slot: Slot) -> str:
    """Return what `_arguments` runs in a place; in braces, so that it passes no arguments of its own."""
    calls = [f"compadd -- {' '.join(slot.choices)}"] if slot.choices else []
    calls += [f"_assay_{kind}s" for kind in slot.kinds]
    return f"{{{'; '.join(calls)}}}" if calls else " "


def _words(words: Iterable[str]) -> str:
    return " ".join(_quote(word) for word in words)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
