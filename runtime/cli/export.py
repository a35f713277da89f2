"""`assay export`: a run's checkpoint in another format."""

import argparse
from pathlib import Path
from typing import Any

from assay.core.error import ConfigError
from assay.core.exporter import Exporter
from assay.core.name import suggestion
from assay.core.registry import Registry, installed, resolve
from assay.core.trajectory import WeightVersion
from assay.runtime.cli.evaluate import choose_checkpoint
from assay.runtime.cli.terminal import Terminal, plural
from assay.runtime.config.option import parameters
from assay.runtime.observe.reading import Reading
from assay.runtime.policy.export import export, read_state
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.prepare import find_run

DESCRIPTION = """\
Write a checkpoint of a run in another format. `huggingface` makes a folder that transformers loads, and that another
run starts from with `policy=folder`. A folder that exists is never written into."""

EPILOG = """\
exit status: 0 done; 1 there is no such run, checkpoint or format, or the folder exists; 2 wrong usage

examples:
  assay export latest --to huggingface my-policy
  assay export latest --checkpoint 400 --to huggingface my-policy --set dtype=bfloat16
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name; `latest` is the newest")
    parser.add_argument("folder", metavar="FOLDER", help="to make")
    parser.add_argument("--to", required=True, metavar="FORMAT", help="registered exporter, such as huggingface")
    parser.add_argument(
        "--checkpoint", default="last", metavar="N", help="step, or LINEAGE.STEP; default `last`, the newest"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of the format")
    parser.add_argument("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Export and say where to."""
    exporter = make_exporter(arguments.to, arguments.set, installed())
    source = find_run(arguments.run, Path(arguments.runs))
    version, checkpoint = find_checkpoint(source, arguments.checkpoint)
    folder = export(exporter, Path(arguments.folder), read_state(checkpoint), checkpoint)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    terminal.print(f"checkpoint {version} of {source.path.name} as {arguments.to} in {folder}: "
                   f"{plural(len(files), 'file')}, {size:.1f} MB")  # fmt: skip
    return 0


def find_checkpoint(source: RunFolder, wanted: str) -> tuple[WeightVersion, Path]:
    """Return a checkpoint: `last`, a step of the newest lineage that has it, or `LINEAGE.STEP`.

    Raises:
        ConfigError: the run has no such checkpoint.
        StoreError: its ledger cannot be read.
    """
    with Reading(source.ledger) as reading:
        checkpoints = reading.checkpoints()
    if wanted.isdecimal():
        found = [version for version in checkpoints if version.step == int(wanted)]
        wanted = str(max(found)) if found else wanted
    return choose_checkpoint(checkpoints, None if wanted == "last" else wanted, source)


def make_exporter(name: str, words: list[str], registry: Registry) -> Exporter:
    """Return the exporter of a name.

    Args:
        name: Of the format.
        words: Options as `KEY=VALUE`; values are JSON where they can be read as such, and text otherwise.
        registry: What is installed.

    Raises:
        PluginError: nobody offers it.
        ConfigError: it takes no such option, or refuses its value.
    """
    offer = registry.find("exporter", name)
    known = parameters(offer.value)
    options: dict[str, Any] = {}
    for word in words:
        key, mark, text = word.partition("=")
        if not mark or (known is not None and key not in known):
            todo = suggestion(key, known or ()) or None
            raise ConfigError(f"an option must be KEY=VALUE, and one that `{name}` takes", got=word, todo=todo)
        options[key] = _value(text)
    exporter: Exporter = resolve(offer.ref)(**options)
    return exporter


def _value(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text
