"""Units of results, as far as their expressions say them without doubt."""

import ast
from collections.abc import Mapping
from typing import Final

from ssptool.studies.expressions import Expression

_OF_SIGNAL: Final = {"final", "initial", "min", "max", "mean", "rms", "at"}
_OF_TIME: Final = {"time_of_min", "time_of_max", "crossing"}
_KEEPING: Final = {"min", "max", "abs", "hypot"}
"""Functions of numbers whose value is in the unit that all of them have."""


def result_unit(
    expression: Expression, names: Mapping[str, str | None], signals: Mapping[str, str | None]
) -> str | None:
    """The unit of the value of an expression; None where it has none or it is not certain.

    Measures of a signal have its unit or are times; sums and differences have that of both sides. A product is taken
    for a conversion of which nothing is known.

    Parameters
    ----------
    names
        The units of what it may name: factors and earlier results.
    signals
        Those of what it may measure.
    """

    def unit(node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id="value"), args=[ast.Constant(value=str(name))]):
                return names.get(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return unit(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return common(left, right)
            case ast.IfExp(body=one, orelse=other):
                return common(one, other)
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(signal)), *_]):
                return "s" if function in _OF_TIME else signals.get(signal) if function in _OF_SIGNAL else None
            case ast.Call(func=ast.Name(id=function), args=arguments) if function in _KEEPING:
                return common(*arguments)
            case _:
                return None

    def common(*nodes: ast.expr) -> str | None:
        found = {unit(node) for node in nodes}
        return found.pop() if len(found) == 1 else None

    return unit(expression.tree)
