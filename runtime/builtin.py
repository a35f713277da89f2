"""What Assay itself offers, through the same hooks as any package.

Importing this module declares and does nothing else; factories name their targets as text, so that an engine or a
trainer is imported by the process that makes one.
"""

from collections.abc import Sequence

from assay.core.hook import hookimpl
from assay.core.leaf import Parser, SourceLeaf, Verifier
from assay.runtime.parser.diff import diff
from assay.runtime.parser.json import json_value
from assay.runtime.parser.text import after, boxed, fenced, last_number, tag
from assay.runtime.source.file import csv_file, json_file, jsonl
from assay.runtime.verifier.json import json_equal
from assay.runtime.verifier.number import number_equal
from assay.runtime.verifier.text import text_equal


@hookimpl
def assay_sources() -> Sequence[SourceLeaf]:
    """Offer the readers of local files."""
    return (jsonl, json_file, csv_file)


@hookimpl
def assay_parsers() -> Sequence[Parser]:
    """Offer the answer parsers."""
    return (boxed, after, tag, fenced, last_number, diff, json_value)


@hookimpl
def assay_verifiers() -> Sequence[Verifier]:
    """Offer the exact comparisons."""
    return (text_equal, number_equal, json_equal)
