"""Expressions in studies: arithmetic over names, evaluated by simpleeval, which is no Python and reaches nothing."""

import ast
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.studies.missing_extra import studies_need

Function = Callable[..., Any]

CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf}
FUNCTIONS: Mapping[str, Function] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
    **{name: getattr(math, name) for name in ("log10", "hypot", "floor", "ceil", "degrees", "radians")},
    "log": math.log,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
}
LONGEST = 10_000
"""Letters of an expression at most."""


class BadExpression(ValueError):
    """An expression that cannot be understood, or has no value."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r}: {reason}")
        self.text = text
        self.reason = reason


class NoValue(ValueError):
    """There is nothing to be had, such as the time of a crossing that never comes."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function in an expression, with those of its arguments that are texts (None: another argument)."""

    function: str
    texts: tuple[str | None, ...]


class Expression:
    """Arithmetic, comparisons, `a if b else c` and calls of known functions over names.

    Attributes
    ----------
    names
        The names that it needs, constants left out; in order of appearance.
    calls
        The functions that it calls.
    tree
        The whole, parsed.

    Raises
    ------
    BadExpression
        The text is no expression.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise BadExpression(text[:40] + "…", f"it has {len(text)} letters, at most {LONGEST} are allowed")
        self.text = text
        try:
            parsed = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise BadExpression(text, f"it is no expression: {reason}") from None
        self.tree = parsed
        self._refuse_others(parsed)
        self.calls = tuple(_calls(parsed))
        called = {id(node.func) for node in ast.walk(parsed) if isinstance(node, ast.Call)}
        found = (n.id for n in ast.walk(parsed) if isinstance(n, ast.Name) and id(n) not in called)
        self.names = tuple(dict.fromkeys(name for name in found if name not in CONSTANTS))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[type["Expression"], tuple[str]]:
        return Expression, (self.text,)

    def _refuse_others(self, parsed: ast.expr) -> None:
        for node in ast.walk(parsed):
            if isinstance(node, ast.expr) and not isinstance(node, _ALLOWED):
                what = ast.unparse(node)
                raise BadExpression(
                    self.text,
                    f"{what!r} is not supported; there are numbers, names, + - * / // % **, "
                    "comparisons, and/or/not, `a if b else c`, and calls of functions",
                )
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
                raise BadExpression(self.text, f"{ast.unparse(node.func)!r} is no function")

    def evaluate(self, names: Mapping[str, Any], functions: Mapping[str, Function] = FUNCTIONS) -> Any:
        """The value for these names.

        Raises
        ------
        BadExpression
            It has none, as for a division by zero; or names and functions are missing.
        NoValue
            A function says so.
        """
        simpleeval = studies_need("simpleeval")
        evaluator = simpleeval.SimpleEval(names={**CONSTANTS, **names}, functions=dict(functions))
        try:
            return evaluator.eval(self.text, previously_parsed=self.tree)
        except NoValue:
            raise
        except (simpleeval.InvalidExpression, ArithmeticError, ValueError, TypeError) as error:
            raise BadExpression(self.text, str(error)) from None


_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant,
)  # fmt: skip


def _calls(parsed: ast.expr) -> Iterator[Call]:
    for node in ast.walk(parsed):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield Call(node.func.id, tuple(_text(argument) for argument in node.args))


def _text(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """That there is no such thing, and what may have been meant."""
    near = get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
    return f"no {what} is called {name!r}; {hint}"
