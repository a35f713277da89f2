"""`calculate(expression)`: exact arithmetic, never code."""

import ast
import operator
from collections.abc import Callable
from fractions import Fraction

import assay

_MAX_CHARACTERS = 200
_MAX_BITS = 2000
_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@assay.tool("calculate", version=1)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression, such as `(3 + 4) * 2 / 5`; gives a whole number or a fraction."""
    if len(expression) > _MAX_CHARACTERS:
        return f"error: an expression must have at most {_MAX_CHARACTERS} characters"
    try:
        return str(_value(ast.parse(expression.strip(), mode="eval").body))
    except ZeroDivisionError:
        return "error: division by zero"
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        return f"error: {str(error).splitlines()[0] if str(error) else 'no arithmetic expression'}"


def _value(node: ast.expr) -> Fraction:
    """Return the value of a node.

    Raises:
        ValueError: it is no arithmetic, or too large.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(Fraction(str(number)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
    raise ValueError("only numbers, + - * / ** and brackets are known")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(abs(base.numerator), base.denominator).bit_length()
    if exponent.denominator != 1 or abs(exponent) * bits > _MAX_BITS:
        raise ValueError("a power must be whole and its value small")
    return Fraction(base ** int(exponent))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise ValueError("a value must be small")
    return value
