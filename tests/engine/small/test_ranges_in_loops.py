"""Which of several solutions of an algebraic loop is found: start values, and the ranges of inputs, decide."""

import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

SETTINGS = ssptool.Settings(stop_time=0.1, step_size=0.1)


def started(tmp_path, u, y="", parameters=""):
    """u = y = u² − 2, whose solutions are −1 and 2, from u = 3, where y = 7."""
    variables = (
        Var("u", "input", start=3.0, attributes=u),
        Var("y", "output", start=7.0, initial="approx", needs=["u"], attributes=y),
    )
    step = "v->time = t + h; return OK;"
    make_fmu(tmp_path / "Square.fmu", variables, me=None, calc="v->y = v->u * v->u - 2;", step=step)
    system = write_system(tmp_path / "system", tmp_path, {"A": "Square"}, [("A.y", "A.u")], parameters)
    return ssptool.simulate(system, settings=SETTINGS)


def real(name, value):
    return f'<ssv:Parameter name="{name}"><ssv:Real value="{value}"/></ssv:Parameter>'


@pytest.mark.parametrize("ends", [("", 'max="0"'), ('max="0"', ""), ('min="-10" max="0"', 'max="1"')])
def test_the_range_of_an_input_is_kept_like_that_of_an_output(tmp_path, ends):
    result = started(tmp_path, *ends)
    assert result.status == "completed", result.failure
    assert result.trace["A.u"] == pytest.approx(-1.0, abs=1e-11)


def test_without_a_range_the_other_solution_is_found(tmp_path):
    assert started(tmp_path, "").trace["A.u"] == pytest.approx(2.0, abs=1e-11)


def test_a_loop_without_solution_in_the_range_of_an_input_is_refused(tmp_path):
    result = started(tmp_path, 'min="-0.5" max="0"')
    assert result.status == "an algebraic loop was not solved"
    assert "A.y is at -0.5, its min or that of an input that it feeds" in str(result.failure)
    assert "its max" not in str(result.failure)


@pytest.mark.parametrize("name", ["A.u", "A.y"])
@pytest.mark.parametrize(("guess", "solution"), [(-3.0, -1.0), (0.0, -1.0), (1.0, 2.0), (9.0, 2.0)])
def test_a_start_value_that_the_system_gives_is_the_first_guess(tmp_path, name, guess, solution):
    """Be it that of the input or that of the output, if that is one that takes a guess."""
    result = started(tmp_path, "", parameters=real(name, guess))
    assert result.trace["A.y"] == pytest.approx(solution, abs=1e-11)
