"""`assay fmt`: declared files in one style."""

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path

from assay.core.error import SourceError
from assay.dsl.format import format_text
from assay.dsl.source.diagnostic import Finding
from assay.runtime.cli.job import print_findings
from assay.runtime.cli.terminal import Terminal, plural

DESCRIPTION = """\
Rewrite domain and curriculum files in one style: keys in the order of the schema, block style for expressions, quotes
where YAML would misread one. Comments and meaning stay."""

EPILOG = """\
exit status: 0 done; 1 a file cannot be formatted, or with --check or --diff would change; 2 wrong usage

examples:
  assay fmt conf/domain/*.yaml
  assay fmt --check conf/domain/*.yaml
  assay fmt - < draft.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files to rewrite; `-` reads stdin, writes stdout")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="change nothing, name the files that would change")
    group.add_argument("--diff", action="store_true", help="change nothing, show what would change")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Format the files; one that cannot be read keeps no other from being formatted."""
    changed = failed = 0
    for name in arguments.files:
        try:
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
            text = format_text(data, "<stdin>" if name == "-" else name)
            is_changed = text.encode() != data
            changed += is_changed
            if arguments.diff and is_changed:
                terminal.print(_diff(data.decode("utf-8-sig"), text, name).rstrip("\n"))
            elif arguments.check and is_changed:
                terminal.print(f"would change {name}")
            elif name == "-" and not arguments.check and not arguments.diff:
                terminal.out.write(text)
            elif is_changed and not arguments.check:
                _replace(Path(name), text)
        except SourceError as error:
            failed += 1
            findings = [found for found in error.findings if isinstance(found, Finding)]
            print_findings(findings, terminal, err=True)
            if not findings:
                terminal.complain(f"{terminal.paint('error', 'error', err=True)}: {error}")
        except OSError as error:
            failed += 1
            reason = error.strerror or type(error).__name__
            terminal.complain(f"{terminal.paint('error', 'error', err=True)}: a file must be readable and writable, "
                              f"got {reason} - at {name}")  # fmt: skip
    is_dry = arguments.check or arguments.diff
    verb = "would change" if is_dry else "changed"
    terminal.complain(
        f"{plural(changed, 'file')} {verb}, {len(arguments.files) - changed - failed} left, {failed} failed"
    )
    return int(failed > 0 or (is_dry and changed > 0))


def _diff(before: str, after: str, name: str) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (formatted)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all; links and permissions stay."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode & 0o7777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
