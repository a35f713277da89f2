"""Linear form: whether an expression is a multiple of one signal plus a constant."""

from assay.dsl.expr.narrow import constant
from assay.dsl.expr.node import Binary, Expr, Ref, Signal, Truth, Unary
from assay.dsl.expr.scope import Scope, key

Linear = tuple[float, dict[str, float]]  # constant, factor per name


def linear_form(node: Expr, scope: Scope) -> Linear | None:
    """Return constant and factors of an affine expression; None for any other."""
    value = constant(node, scope)
    if value is not None:
        return value, {}
    match node:
        case Truth():
            return float(node.value), {}
        case Ref(name="success") if scope.success is not None:
            return linear_form(scope.success, scope)
        case Ref() | Signal():
            kind = scope.kind(node)
            return (0.0, {key(node): 1.0}) if kind is not None and kind.is_number else None
        case Unary():
            form = linear_form(node.item, scope)
            if form is None or node.sign == "+":
                return form
            negated = _scaled(form, -1.0)
            return negated if node.sign == "-" else (negated[0] + 1.0, negated[1])
        case Binary():
            return _binary(node, scope)
    return None


def only_signal(node: Expr, scope: Scope) -> str | None:
    """Return the one name that an affine expression depends on; None where there is not exactly one."""
    form = linear_form(node, scope)
    names = [name for name, factor in form[1].items() if factor != 0.0] if form is not None else []
    return names[0] if len(names) == 1 else None


def _binary(node: Binary, scope: Scope) -> Linear | None:
    left, right = linear_form(node.left, scope), linear_form(node.right, scope)
    if left is None or right is None:
        return None
    match node.sign:
        case "+" | "-":
            other = right if node.sign == "+" else _scaled(right, -1.0)
            names = dict.fromkeys((*left[1], *other[1]))
            return left[0] + other[0], {name: left[1].get(name, 0.0) + other[1].get(name, 0.0) for name in names}
        case "*":
            if not right[1]:
                return _scaled(left, right[0])
            return _scaled(right, left[0]) if not left[1] else None
    return _scaled(left, 1.0 / right[0]) if not right[1] and right[0] != 0.0 else None


def _scaled(form: Linear, by: float) -> Linear:
    return form[0] * by, {name: factor * by for name, factor in form[1].items()}
