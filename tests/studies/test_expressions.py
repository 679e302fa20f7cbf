"""Expressions compute, and reach nothing but what they are given."""

import pickle

import pytest
from pytest import approx

from ssptool.studies.expressions import MEASURES, BadExpression, Expression, unknown_function


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * k + 1", 7.0),
        ("k ** 2 / 4", 2.25),
        ("k if k > 2 else 0", 3.0),
        ("sqrt(k + 1) - 2", 0.0),
        ("min(k, 2) + max(1, 2, k)", 5.0),
        ("sin(pi / 2)", 1.0),
        ("-k % 2", 1.0),
    ],
)
def test_arithmetic_is_that_of_python(text, value):
    assert Expression(text).evaluate({"k": 3.0}) == approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(1).__class__",
        "[1, 2]",
        "k = 3",
        "lambda: 3",
        "[x for x in y]",
        "f'{k}'",
        "a.b",
        "x[0]",
        "1 +",
        "",
        "(" * 5000,
        "k(1)(2)",
    ],
)
def test_what_is_not_arithmetic_is_refused_before_it_is_evaluated(text):
    with pytest.raises(BadExpression):
        Expression(text)


@pytest.mark.parametrize("text", ["1 / 0", "unknown", "log(-1)", "eval('1')", "9 ** 9 ** 9 ** 9", "'a' * 1000000"])
def test_an_expression_without_a_value_says_why(text):
    with pytest.raises(BadExpression) as caught:
        Expression(text).evaluate({})
    assert caught.value.reason


def test_names_and_calls_are_known_without_evaluation():
    expression = Expression('max("A.y") - k * crossing("B.y", level) + pi')
    assert expression.names == ("k", "level")
    assert [(call.function, call.texts[0]) for call in expression.calls] == [("max", "A.y"), ("crossing", "B.y")]


def test_an_expression_travels_between_processes():
    again = pickle.loads(pickle.dumps(Expression("2 * k")))
    assert again == Expression("2 * k") and again.evaluate({"k": 2}) == 4


@pytest.mark.parametrize(("typed", "meant"), [("last", "final"), ("average", "mean"), ("Peak", "max"), ("maxx", "max")])
def test_a_measure_that_other_programs_call_otherwise_is_named(typed, meant):
    assert f"did you mean {meant}" in unknown_function(typed, MEASURES)
