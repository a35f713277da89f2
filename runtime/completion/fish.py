"""The completion script for fish 3 and newer."""

from collections.abc import Iterable

from assay.runtime.completion.vocabulary import Slot, Vocabulary

_HEAD = """\
# Tab completion of `assay` for fish:  assay completion fish > ~/.config/fish/completions/assay.fish

function __assay_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1 && test "$words[2]" = $argv[1]
end

function __assay_first
    test (count (commandline -opc)) -eq 1
end

function __assay_runs
    for run in runs/*/
        echo (string trim --right --chars=/ $run)
        echo (string replace runs/ '' (string trim --right --chars=/ $run))
    end
end

function __assay_files
    __fish_complete_suffix .yaml
    __fish_complete_suffix .yml
end

function __assay_overrides
    switch (commandline -ct)
@GROUPS@
        case '*=*'
        case '*'
            printf '%s\\n' @KEYS@
    end
end

set -g __assay_domains @DOMAINS@

complete -c assay -e
complete -c assay -f
"""

_CALLS = {
    "domain": "$__assay_domains",
    "file": "(__assay_files)",
    "override": "(__assay_overrides)",
    "run": "(__assay_runs)",
    "folder": "(__fish_complete_directories (commandline -ct))",
}


def fish_script(vocabulary: Vocabulary) -> str:
    """Return the script."""
    groups = []
    for group, names in vocabulary.groups.items():
        groups.append(f"        case '{group}=*'")
        groups.append(f"            printf '%s\\n' {_words(f'{group}={name}' for name in names)}")
        if group == "curriculum":
            groups.append("            for file in *.yaml")
            groups.append("                echo curriculum=$file")
            groups.append("            end")
    parts = {
        "GROUPS": "\n".join(groups),
        "KEYS": _words(f"{key}=" for key in (*vocabulary.groups, *vocabulary.keys)),
        "DOMAINS": _words(vocabulary.domains),
    }
    script = _HEAD
    for name, text in parts.items():
        script = script.replace(f"@{name}@", text)
    lines = [f"complete -c assay -n __assay_first -a {verb.name} -d {_quote(verb.help)}" for verb in vocabulary.verbs]
    for verb in vocabulary.verbs:
        condition = _quote(f"__assay_verb {verb.name}")
        if offered := _offer(verb.slot):
            lines.append(f"complete -c assay -n {condition} -a {_quote(offered)}")
        for flag in verb.flags:
            spelled = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in flag.names)
            value = "" if flag.slot is None else " -x" + (f" -a {_quote(o)}" if (o := _offer(flag.slot)) else "")
            lines.append(f"complete -c assay -n {condition} {spelled}{value} -d {_quote(flag.help)}")
    return script + "\n" + "\n".join(lines) + "\n"


def _offer(slot: Slot) -> str:
    return " ".join([*slot.choices, *(_CALLS[kind] for kind in slot.kinds)])


def _words(words: Iterable[str]) -> str:
    return " ".join(_quote(word) for word in words)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
