"""Expressions in studies, and their measures of signals.

Expressions are arithmetic with names, evaluated by simpleeval, not by Python. Measures reduce signals to scalars.
Signals are linear between two rows, and integrals are exact for these lines.
"""

import ast
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ssptool.engine.trace import Floats, Trace
from ssptool.errors import counted, similar_names, studies_need

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
"""Largest length of an expression [characters]."""

DEEPEST = 150
"""Largest number of levels of an expression (a sum of n terms has n): Python evaluates it in nested calls, of which it
allows a thousand.
"""

MOST_BITS = 1024
"""Largest size of an integer [bit]. Floating-point numbers are not larger, and powers of integers grow without limit.
"""


class BadExpression(ValueError):
    """An expression is invalid, or has no value."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r}: {reason}")
        self.text = text
        self.reason = reason


class NoValue(ValueError):
    """The requested value does not exist, such as the time of a crossing that never happens."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function in an expression, with its string arguments (None for other arguments)."""

    function: str
    texts: tuple[str | None, ...]


class Expression:
    """Arithmetic, comparisons, `a if b else c` and calls of known functions over names.

    Attributes
    ----------
    names
        The names that it needs, without constants, in order of appearance.
    calls
        The functions that it calls.
    tree
        The parsed expression.

    Raises
    ------
    BadExpression
        The text is not a valid expression.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise BadExpression(text[:40] + "…", f"it has {len(text)} letters, at most {LONGEST} are allowed")
        self.text = text
        try:
            parsed = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise BadExpression(text, f"it is not an expression: {reason}") from None
        if (levels := _levels(parsed)) > DEEPEST:
            raise BadExpression(
                text[:40] + "…",
                f"it has {levels} levels (a sum of n terms has n), at most {DEEPEST} are allowed; "
                "give parts of it names of their own",
            )
        self.tree = parsed = _DottedNames().visit(parsed)
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
                if isinstance(node, ast.Attribute):
                    raise BadExpression(
                        self.text,
                        f'{what} needs quotation marks: final("{what}"), max("{what}") and others measure a signal, '
                        f'value("{what}") is that of a factor',
                    )
                raise BadExpression(
                    self.text,
                    f"{what!r} is not supported; there are numbers, names, + - * / // % **, "
                    "comparisons, and/or/not, `a if b else c`, and calls of functions",
                )
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
                raise BadExpression(self.text, f"{ast.unparse(node.func)!r} is not a function")

    def evaluate(self, names: Mapping[str, Any], functions: Mapping[str, Function] = FUNCTIONS) -> Any:
        """The value for these values of names.

        Raises
        ------
        BadExpression
            It has no value, for example because of a division by zero; or names and functions are missing.
        NoValue
            A function has no value.
        """
        simpleeval = studies_need("simpleeval")
        evaluator = simpleeval.SimpleEval(_operators(), dict(functions), {**CONSTANTS, **names})
        try:
            return evaluator.eval(self.text, previously_parsed=self.tree)
        except NoValue:
            raise
        except (simpleeval.InvalidExpression, ArithmeticError, ValueError, TypeError) as error:
            raise BadExpression(self.text, str(error)) from None


_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant,
)  # fmt: skip


_BITS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Pow: lambda base, exponent: (base.bit_length() - 1) * exponent + 1,
    ast.Mult: lambda one, other: one.bit_length() + other.bit_length() - 1,
    ast.LShift: lambda number, places: number.bit_length() + places,
}
"""Operators that can make large integers from small ones → lower bound of the size of the result [bit]."""


@cache
def _operators() -> dict[type[ast.AST], Function]:
    known = studies_need("simpleeval").DEFAULT_OPERATORS
    return {**known, **{kind: _bounded(known[kind], bits) for kind, bits in _BITS.items()}}


def _bounded(operator: Function, bits: Callable[[int, int], int]) -> Function:
    """The operator with an error for integers of more than `MOST_BITS`."""

    def bounded(one: Any, other: Any) -> Any:
        if isinstance(one, int) and isinstance(other, int) and (found := bits(one, other)) > MOST_BITS:
            raise ValueError(
                f"an integer would have {found} bits or more, at most {MOST_BITS} are allowed; write 2.0 for 2"
            )
        return operator(one, other)

    return bounded


class _DottedNames(ast.NodeTransformer):
    """Replaces names with dots in arguments of functions by strings: max(Motor.w) becomes max("Motor.w").

    A shell removes quotation marks, and an expression has no other use for such names.
    """

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [_dotted(one) for one in node.args]
        return node


def _dotted(node: ast.expr) -> ast.expr:
    """String for a chain of names and dots; any other expression is unchanged."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.Constant(ast.unparse(node)) if inner is not node and isinstance(inner, ast.Name) else node


def _levels(parsed: ast.expr) -> int:
    """Number of levels, found without recursion; the search stops above the limit."""
    levels, nodes = 0, [parsed]
    while nodes:
        levels += 1
        nodes = [child for node in nodes for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return levels


def _calls(parsed: ast.expr) -> Iterator[FunctionCall]:
    for node in ast.walk(parsed):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield FunctionCall(node.func.id, tuple(_source_text(argument) for argument in node.args))


def _source_text(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Message about an unknown name, with similar ones."""
    near = similar_names(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
    return f"no {what} is called {name!r}; {hint}"


def final(t: Floats, y: Floats) -> float:
    return float(y[-1])


def initial(t: Floats, y: Floats) -> float:
    return float(y[0])


def minimum(t: Floats, y: Floats) -> float:
    return float(np.min(y))


def maximum(t: Floats, y: Floats) -> float:
    return float(np.max(y))


def integral(t: Floats, y: Floats) -> float:
    """Integral over the interval of the run."""
    return float(np.trapezoid(y, t))


def mean(t: Floats, y: Floats) -> float:
    """Mean over time."""
    return integral(t, y) / _span(t)


def rms(t: Floats, y: Floats) -> float:
    """Root mean square over time: the integral of the square of a line from a to b is h (a² + ab + b²)/3."""
    a, b = y[:-1], y[1:]
    return float(np.sqrt(np.sum(np.diff(t) * (a * a + a * b + b * b)) / 3 / _span(t)))


def time_of_min(t: Floats, y: Floats) -> float:
    """Time of the first maximum [s]."""
    return float(t[np.argmin(y)])


def time_of_max(t: Floats, y: Floats) -> float:
    """Time of the first minimum [s]."""
    return float(t[np.argmax(y)])


def at(t: Floats, y: Floats, time: float) -> float:
    """Value at a time [s]."""
    if not t[0] <= time <= t[-1]:
        raise NoValue(f"at {time:g} s there is no value: the run is from {t[0]:g} s to {t[-1]:g} s")
    return float(np.interp(time, t, y))


def crossing(t: Floats, y: Floats, level: float, direction: str = "any", number: int = 1) -> float:
    """The time [s] at which the signal passes a level for the n-th time: "up", "down" or "any".

    `number` -1 is the last crossing. A signal that starts on the level and leaves it does not cross it.
    """
    if direction not in ("up", "down", "any"):
        raise ValueError(f"a crossing is 'up', 'down' or 'any', not {direction!r}")
    side = np.sign(y - level)
    # On the level, the signal still counts as on the side from which it came.
    last = np.maximum.accumulate(np.where(side != 0, np.arange(len(side)), 0))
    side = side[last]
    change = np.diff(side)
    wanted = {"up": change > 0, "down": change < 0, "any": change != 0}[direction] & (side[:-1] != 0)
    places = np.flatnonzero(wanted)
    if number == 0 or abs(number) > len(places):
        raise NoValue(_no_crossing(level, len(places), number))
    k = int(places[number - 1 if number > 0 else number])
    k = int(last[k])  # where the signal left the side; after that it may have stayed on the level
    first = k + 1
    share = (level - y[k]) / (y[first] - y[k])
    return float(t[k] + share * (t[first] - t[k]))


def _no_crossing(level: float, found: int, number: int) -> str:
    if number == 0:
        return "crossings are numbered 1, 2, … from the start, or -1, -2, … from the end; found 0"
    if found == 0:
        return f"the signal never crosses {level:g}"
    return f"the signal crosses the level {level:g} only {counted(found, 'time')}; there is no crossing {number}"


MEASURES: Mapping[str, Any] = {
    "final": final,
    "initial": initial,
    "min": minimum,
    "max": maximum,
    "mean": mean,
    "rms": rms,
    "integral": integral,
    "time_of_min": time_of_min,
    "time_of_max": time_of_max,
    "at": at,
    "crossing": crossing,
}
"""Name → function of the times (n,) [s], the values (n,), and further arguments."""

_MEANT: Mapping[str, str] = {
    **dict.fromkeys(("last", "end", "final_value"), "final"),
    **dict.fromkeys(("first", "start", "start_value"), "initial"),
    **dict.fromkeys(("average", "avg"), "mean"),
    **dict.fromkeys(("maximum", "peak"), "max"),
    **dict.fromkeys(("trapz", "trapezoid", "sum"), "integral"),
    **dict.fromkeys(("argmax", "time_max"), "time_of_max"),
    **dict.fromkeys(("argmin", "time_min"), "time_of_min"),
    "minimum": "min",
    "interp": "at",
}
"""Name of a measure in other programs → name here."""


def unknown_function(name: str, known: Collection[str]) -> str:
    """Message about an unknown function, with the function that has this name in other programs, or similar names."""
    meant = _MEANT.get(name.lower())
    hint = f"no function is called {name!r}; did you mean {meant}?"
    return hint if meant in known else unknown("function", name, known)


def functions_of(trace: Trace | None, values: Mapping[str, Any]) -> dict[str, Function]:
    """Functions for result expressions: `max("System1.x1")` of a signal, or `max(a, b)` of numbers."""
    measured = {name: partial(_measured, name, trace) for name in MEASURES}
    return {**FUNCTIONS, **measured, "value": lambda name: values[name]}


def _measured(name: str, trace: Trace | None, *arguments: Any) -> Any:
    if arguments and isinstance(arguments[0], str) and trace is not None:
        values = trace[arguments[0]]
        if values.dtype == object:
            raise NoValue(f"{arguments[0]} is a String or Binary signal; {name} takes numbers")
        return MEASURES[name](trace.t, values.astype(np.float64, copy=False), *arguments[1:])
    if name in FUNCTIONS:
        return FUNCTIONS[name](*arguments)
    raise ValueError(f'{name} wants the name of a signal in quotes, such as {name}("System1.x1")')


def _span(t: Floats) -> float:
    if not t[-1] > t[0]:
        raise NoValue("a mean over time needs a run of some length")
    return float(t[-1] - t[0])
