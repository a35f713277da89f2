"""From text to nodes. Python's own parser reads the text; what lies outside the subset is RX002.

Bounded: at most 10,000 code points and 100 levels, checked before anything recurses.
"""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable
from typing import Literal

import msgspec

from assay.dsl.expr.node import (
    ArithmeticOp,
    Binary,
    Call,
    Choose,
    Compare,
    CompareOp,
    Expr,
    Items,
    Keyword,
    Logic,
    Num,
    Ref,
    Signal,
    Text,
    Truth,
    Unary,
    number_text,
)

MAX_LENGTH = 10_000
MAX_DEPTH = 100
# Python refuses to read an int of more digits; as a number of the language it is infinite.
_LONG_INT = re.compile(r"(?<![\w.])[0-9]{4000,}(?![\w.])")

_ARITHMETIC: dict[type, ArithmeticOp] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARE: dict[type, CompareOp] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_UNARY: dict[type, Literal["-", "+", "not"]] = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_CONSTRUCTS: dict[type, str] = {
    ast.Pow: "power",
    ast.Mod: "remainder",
    ast.FloorDiv: "floor division",
    ast.MatMult: "matrix product",
    ast.BitAnd: "bit operation",
    ast.BitOr: "bit operation",
    ast.BitXor: "bit operation",
    ast.LShift: "shift",
    ast.RShift: "shift",
    ast.Invert: "bit operation",
    ast.Lambda: "lambda",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.DictComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.Subscript: "indexing",
    ast.JoinedStr: "formatting",
    ast.NamedExpr: "assignment",
    ast.Tuple: "tuple",
    ast.Dict: "dictionary",
    ast.Set: "set",
    ast.Await: "await",
    ast.Starred: "unpacking",
    ast.In: "membership test",
    ast.NotIn: "membership test",
    ast.Is: "identity test",
    ast.IsNot: "identity test",
}


class SyntaxFault(msgspec.Struct, frozen=True):
    """Why a text is no expression, and where (code points into the text)."""

    message: str
    start: int
    end: int
    hint: str = ""


def parse_expression(text: str) -> tuple[Expr | None, tuple[SyntaxFault, ...]]:
    """Parse an expression.

    Returns:
        The node and no fault, or None and every outermost construct outside the subset.
    """
    return _parse(text)


def parse_call(text: str) -> tuple[Call | None, tuple[SyntaxFault, ...]]:
    """Parse `dotted.name(arguments)` as in `verify:`, `data:`, `answer:` and `sampler:`."""
    node, faults = _parse(text)
    if faults or isinstance(node, Call):
        return (node if isinstance(node, Call) else None), faults
    hint = f"write {text.strip()}()" if isinstance(node, (Ref, Signal)) else "write name(arguments)"
    return None, (SyntaxFault("must be a call", 0, len(text), hint),)


def _parse(text: str) -> tuple[Expr | None, tuple[SyntaxFault, ...]]:
    if len(text) > MAX_LENGTH:
        return None, (SyntaxFault(f"an expression must have at most {MAX_LENGTH} characters, got {len(text)}", 0, 1),)
    if any(char in "\0\r\f\v" or (char == "\\" and text[i + 1 : i + 2] == "\n") for i, char in enumerate(text)):
        return None, (SyntaxFault("control characters have no place in an expression", 0, len(text)),)
    # One line for the parser: a folded expression is one expression, and a column is an offset.
    line = text.replace("\n", " ").replace("\t", " ")
    lead = len(line) - len(line.lstrip())
    body = _LONG_INT.sub(lambda match: "1e".ljust(len(match[0]), "9"), line.strip())
    if not body:
        return None, (SyntaxFault("must be an expression, got nothing", 0, max(1, len(text))),)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(body, mode="eval").body
    except SyntaxError as error:
        # An expression that ends too early is reported at its last character.
        is_early = (error.lineno or 1) > 1 or not error.offset
        at = (len(body) - 1 if is_early else min(max((error.offset or 1) - 1, 0), len(body) - 1)) + lead
        end = (error.end_offset or 0) - 1 + lead
        return None, (SyntaxFault(_syntax_message(error), at, end if end > at else at + 1),)
    except (ValueError, RecursionError, MemoryError) as error:
        return None, (SyntaxFault(f"not readable as an expression: {error}", lead, lead + len(body)),)
    if (comment := _comment(body)) is not None:
        message = "a comment has no place in an expression: what follows # would be lost"
        return None, (SyntaxFault(message, lead + comment, lead + len(body), "remove it"),)
    if _depth(tree) > MAX_DEPTH:
        message = f"an expression must nest at most {MAX_DEPTH} levels"
        return None, (SyntaxFault(message, lead, lead + len(body), "name parts of it as terms"),)
    builder = _Builder(body, lead)
    node = builder.build(tree)
    return (None, tuple(builder.faults)) if builder.faults else (node, ())


class _Builder:
    def __init__(self, body: str, lead: int) -> None:
        self.lead = lead
        self.body = body
        self.is_ascii = body.isascii()
        self.bytes = body.encode()
        self.faults: list[SyntaxFault] = []

    def build(self, tree: ast.expr) -> Expr | None:
        """Return the node of a tree, or None where it, or a part, is outside the subset."""
        at = {"start": self.offset(tree.col_offset), "end": self.offset(tree.end_col_offset or 0)}
        match tree:
            case ast.Constant():
                return self.constant(tree, at)
            case ast.Name() | ast.Attribute():
                return self.name(tree, at)
            case ast.UnaryOp() if type(tree.op) in _UNARY:
                item = self.build(tree.operand)
                return None if item is None else Unary(sign=_UNARY[type(tree.op)], item=item, **at)
            case ast.BinOp() if type(tree.op) in _ARITHMETIC:
                left, right = self.build(tree.left), self.build(tree.right)
                if left is None or right is None:
                    return None
                return Binary(sign=_ARITHMETIC[type(tree.op)], left=left, right=right, **at)
            case ast.BoolOp():
                items = self.all(tree.values)
                sign: Literal["and", "or"] = "and" if isinstance(tree.op, ast.And) else "or"
                return None if items is None else Logic(sign=sign, items=items, **at)
            case ast.Compare() if all(type(op) in _COMPARE for op in tree.ops):
                items = self.all([tree.left, *tree.comparators])
                signs: tuple[CompareOp, ...] = tuple(_COMPARE[type(op)] for op in tree.ops)
                return None if items is None else Compare(signs=signs, items=items, **at)
            case ast.IfExp():
                parts = self.all([tree.test, tree.body, tree.orelse])
                return None if parts is None else Choose(condition=parts[0], then=parts[1], otherwise=parts[2], **at)
            case ast.Call():
                return self.call(tree, at)
            case ast.List():
                return self.fault("a list may only be an argument", tree)
        return self.fault(f"{_construct(tree)} is not part of the language", tree)

    def all(self, trees: Iterable[ast.expr]) -> tuple[Expr, ...] | None:
        """Return the nodes of all trees, or None where one is faulty; every fault is kept."""
        nodes = [self.build(tree) for tree in trees]
        kept = tuple(node for node in nodes if node is not None)
        return kept if len(kept) == len(nodes) else None

    def constant(self, tree: ast.Constant, at: dict[str, int]) -> Expr | None:
        value = tree.value
        if isinstance(value, bool):
            return Truth(value=value, **at)
        if isinstance(value, (int, float)):
            return Num(text=number_text(value), **at)
        if isinstance(value, str):
            return Text(value=value, **at)
        what = "None" if value is None else "..." if value is ... else f"a {type(value).__name__} literal"
        return self.fault(f"{what} is not part of the language", tree)

    def name(self, tree: ast.expr, at: dict[str, int]) -> Expr | None:
        parts = _dotted(tree)
        if parts is None:
            return self.fault("a name must be `name` or `verifier.signal`", tree)
        if len(parts) > 2:
            return self.fault(f"a name must have one or two parts, got `{'.'.join(parts)}`", tree)
        if any(part.startswith("_") for part in parts):
            return self.fault(f"a name must not begin with an underscore, got `{'.'.join(parts)}`", tree)
        return Ref(name=parts[0], **at) if len(parts) == 1 else Signal(owner=parts[0], name=parts[1], **at)

    def call(self, tree: ast.Call, at: dict[str, int]) -> Expr | None:
        parts = _dotted(tree.func)
        if parts is None or any(part.startswith("_") for part in parts):
            return self.fault("only a registered name can be called", tree)
        args = [self.argument(arg) for arg in tree.args]
        keywords: list[Keyword | None] = []
        for keyword in tree.keywords:
            value = self.argument(keyword.value)
            if keyword.arg is None:
                return self.fault("unpacking is not part of the language", tree)
            keywords.append(None if value is None else Keyword(keyword.arg, value))
        good = tuple(arg for arg in args if arg is not None)
        named = tuple(keyword for keyword in keywords if keyword is not None)
        if len(good) != len(args) or len(named) != len(keywords):
            return None
        return Call(function=".".join(parts), args=good, keywords=named, **at)

    def argument(self, tree: ast.expr) -> Expr | None:
        if not isinstance(tree, ast.List):
            return self.build(tree)
        items = self.all(tree.elts)
        if items is None:
            return None
        if not all(_is_literal(item) for item in items):
            return self.fault("a list must hold literals", tree)
        return Items(items=items, start=self.offset(tree.col_offset), end=self.offset(tree.end_col_offset or 0))

    def fault(self, message: str, tree: ast.expr) -> Expr | None:
        start, end = self.offset(tree.col_offset), self.offset(tree.end_col_offset or 0)
        # Of nested constructs outside the subset the outermost is reported.
        self.faults = [other for other in self.faults if not (start <= other.start and other.end <= end)]
        self.faults.append(SyntaxFault(message, start, end))
        return None

    def offset(self, column: int) -> int:
        """Code point of a byte column."""
        return self.lead + (column if self.is_ascii else len(self.bytes[:column].decode()))


def _is_literal(node: Expr) -> bool:
    return isinstance(node, (Num, Text, Truth)) or (
        isinstance(node, Unary) and node.sign != "not" and isinstance(node.item, Num)
    )


def _dotted(tree: ast.expr) -> list[str] | None:
    parts: list[str] = []
    while isinstance(tree, ast.Attribute):
        parts.append(tree.attr)
        tree = tree.value
    return [tree.id, *reversed(parts)] if isinstance(tree, ast.Name) else None


def _construct(tree: ast.expr) -> str:
    op = getattr(tree, "op", None)
    if isinstance(tree, ast.Compare):
        op = next(op for op in tree.ops if type(op) not in _COMPARE)
    for part in (op, tree):
        if type(part) in _CONSTRUCTS:
            return _with_article(_CONSTRUCTS[type(part)])
    return _with_article(type(tree).__name__.lower())


def _with_article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _comment(body: str) -> int | None:
    """Return where a comment begins in a text of one line that Python can parse."""
    if "#" not in body:
        return None
    tokens = tokenize.generate_tokens(io.StringIO(body).readline)
    return next((token.start[1] for token in tokens if token.type == tokenize.COMMENT), None)


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level and depth <= MAX_DEPTH:
        level = [child for parent in level for child in ast.iter_child_nodes(parent) if isinstance(child, ast.expr)]
        depth += 1
    return depth


def _syntax_message(error: SyntaxError) -> str:
    message = (error.msg or "invalid syntax").partition(". Perhaps")[0]
    return f"not an expression: {message}"
