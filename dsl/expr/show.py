"""From nodes to text; the inverse of `parse`, with only the parentheses that are needed."""

from assay.dsl.expr.node import (
    Binary,
    Call,
    Choose,
    Compare,
    Expr,
    Items,
    Logic,
    Num,
    Ref,
    Signal,
    Text,
    Truth,
    Unary,
)

_CHOOSE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(9)


def show(node: Expr) -> str:
    """Return the text of an expression; parsing it gives the same node."""
    return _show(node)[0]


def _show(node: Expr) -> tuple[str, int]:
    match node:
        case Num():
            return node.text, _UNARY if node.text.startswith("-") else _ATOM
        case Text():
            return repr(node.value), _ATOM
        case Truth():
            return repr(node.value), _ATOM
        case Ref():
            return node.name, _ATOM
        case Signal():
            return f"{node.owner}.{node.name}", _ATOM
        case Unary(sign="not"):
            return f"not {_wrap(node.item, _NOT)}", _NOT
        case Unary():
            return f"{node.sign}{_wrap(node.item, _UNARY)}", _UNARY
        case Binary(sign="+" | "-"):
            return f"{_wrap(node.left, _SUM)} {node.sign} {_wrap(node.right, _PRODUCT)}", _SUM
        case Binary():
            return f"{_wrap(node.left, _PRODUCT)}{node.sign}{_wrap(node.right, _UNARY)}", _PRODUCT
        case Compare():
            text = _wrap(node.items[0], _SUM)
            for sign, item in zip(node.signs, node.items[1:], strict=True):
                text += f" {sign} {_wrap(item, _SUM)}"
            return text, _COMPARE
        case Logic():
            level = _AND if node.sign == "and" else _OR
            return f" {node.sign} ".join(_wrap(item, level + 1) for item in node.items), level
        case Choose():
            then, condition = _wrap(node.then, _OR), _wrap(node.condition, _OR)
            return f"{then} if {condition} else {_wrap(node.otherwise, _CHOOSE)}", _CHOOSE
        case Call():
            parts = [show(arg) for arg in node.args]
            parts += [f"{keyword.name}={show(keyword.value)}" for keyword in node.keywords]
            return f"{node.function}({', '.join(parts)})", _ATOM
        case Items():
            return f"[{', '.join(show(item) for item in node.items)}]", _ATOM


def _wrap(node: Expr, least: int) -> str:
    text, level = _show(node)
    return text if level >= least else f"({text})"
