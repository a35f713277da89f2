"""Faults: findings of one expression before they have a place in a file."""

import msgspec

from assay.dsl.expr.node import Expr
from assay.dsl.expr.parse import SyntaxFault
from assay.dsl.source.diagnostic import Finding, finding
from assay.dsl.source.mark import Scalar


class Fault(msgspec.Struct, frozen=True):
    """One finding at one node."""

    code: str
    node: Expr
    message: str
    hint: str = ""


def place(fault: Fault, scalar: Scalar, at: str) -> Finding:
    """Return the finding at the fault's place inside the scalar that holds the expression."""
    return finding(fault.code, scalar.part(fault.node.start, fault.node.end), fault.message, fault.hint, at)


def place_syntax(fault: SyntaxFault, scalar: Scalar, at: str) -> Finding:
    """Return RX002 for a text that is no expression."""
    return finding("RX002", scalar.part(fault.start, fault.end), fault.message, fault.hint, at)
