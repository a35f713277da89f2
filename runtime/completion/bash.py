"""The completion script for bash 4.4 and newer."""

import shlex
from collections.abc import Iterable

from assay.runtime.completion.vocabulary import Slot, Vocabulary

_SCRIPT = """\
# Tab completion of `assay` for bash. In ~/.bashrc:  source <(assay completion bash)

_assay() {
  # Bash breaks words at `=`; the one under the cursor is put together again.
  local i=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev verb=${COMP_WORDS[1]} word words='' kinds='' cut=''
  while ((i > 1)) && [[ ${COMP_WORDS[i]} == '=' || ${COMP_WORDS[i-1]} == '=' ]]; do
    ((--i))
    cur=${COMP_WORDS[i]}$cur
  done
  prev=${COMP_WORDS[i-1]}
  COMPREPLY=()
  if ((i == 1)); then
    COMPREPLY=($(compgen -W @VERBS@ -- "$cur"))
    return
  fi
  if [[ $cur == --*=* ]]; then
    prev=${cur%%=*} cut=${cur%%=*}=
  fi
  if [[ $cur == -* && -z $cut ]]; then
    case $verb in
@FLAGS@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$verb $prev" in
@VALUES@
  *)
    case $verb in
@SLOTS@
    esac
  esac
  local value=${cur#"$cut"}
  [[ $kinds == *domain* ]] && words+=' '@DOMAINS@
  if [[ $kinds == *run* ]]; then
    for word in runs/*/; do
      [[ -d $word ]] && word=${word%/} && words+=" ${word#runs/} $word"
    done
  fi
  if [[ $kinds == *override* ]]; then
    case $value in
@GROUPS@
    *=*) ;;
    *) words+=' '@KEYS@; compopt -o nospace 2>/dev/null ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$value"))
  if [[ $kinds == *file* || $kinds == *run* ]] && [[ $value != *=* ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      [[ -d $word || $word == *.yaml || $word == *.yml ]] && COMPREPLY+=("$word")
    done < <(compgen -f -- "$value")
  elif [[ $kinds == *folder* ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$value")
  elif [[ $value == curriculum=* ]]; then
    while IFS= read -r word; do
      [[ -d $word || $word == *.yaml || $word == *.yml ]] && COMPREPLY+=("curriculum=$word")
    done < <(compgen -f -- "${value#curriculum=}")
  fi
  # What stands before a break is kept by bash, so that a reply holds only what follows.
  if [[ -n $cut && $COMP_WORDBREAKS != *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$cut}")
  elif [[ $value == *=* && $COMP_WORDBREAKS == *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${value%%=*}="}")
  fi
}

complete -F _assay assay
"""


def bash_script(vocabulary: Vocabulary) -> str:
    """Return the script."""
    flags, values, slots = [], [], []
    for verb in vocabulary.verbs:
        flags.append(f"    {verb.name}) words={_words(name for flag in verb.flags for name in flag.names)} ;;")
        slots.append(f"    {verb.name}) {_assign(verb.slot)} ;;")
        for flag in verb.flags:
            if flag.slot is not None:
                pattern = " | ".join(f"{shlex.quote(f'{verb.name} {name}')}" for name in flag.names)
                values.append(f"  {pattern}) {_assign(flag.slot)} ;;")
    groups = [
        f"    {group}=*) words+=' '{_words(f'{group}={name}' for name in names)} ;;"
        for group, names in vocabulary.groups.items()
    ]
    parts = {
        "VERBS": _words(verb.name for verb in vocabulary.verbs),
        "FLAGS": "\n".join(flags),
        "VALUES": "\n".join(values),
        "SLOTS": "\n".join(slots),
        "DOMAINS": _words(vocabulary.domains),
        "GROUPS": "\n".join(groups),
        "KEYS": _words(f"{key}=" for key in (*vocabulary.groups, *vocabulary.keys)),
    }
    script = _SCRIPT
    for name, text in parts.items():
        script = script.replace(f"@{name}@", text)
    return script


def _assign(slot: Slot) -> str:
    return f"words={_words(slot.choices)} kinds={_words(slot.kinds)}"


def _words(words: Iterable[str]) -> str:
    return "'" + " ".join(words).replace("'", "'\\''") + "'"
