"""Exit status 2: the command was called in a wrong way, and nothing is wrong with the system."""

import pytest

from tests.cli.test_commands import SYSTEM


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--output", "x.hdf5"], ".parquet"),
        (["--record", ""], "no signal"),
        (["--record", "System1.zz"], "System1.x1"),
        (["--set", "A.zz=1"], "A.zz"),
        (["--set", "System1.m1=heavy"], "a number"),
        (["--variant", "no"], "DualMassOscillatorFMI3"),
    ],
    ids=lambda value: "=".join(value) if isinstance(value, list) else "",
)
def test_names_that_are_not_there_are_wrong_usage(ssptool, tmp_path, arguments, hint):
    status, out, err = ssptool("run", SYSTEM, *arguments)
    assert (status, out) == (2, "")
    assert hint in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--output-step", "--step-size"])
@pytest.mark.parametrize("value", ["1e-300", "1e-15", "0", "-1", "nan", "inf"])
def test_steps_that_cannot_be_are_refused_with_what_can(ssptool, option, value):
    """Between 0 and 10 s, neighbouring doubles are up to 1.8e-15 s apart."""
    status, _, err = ssptool("run", SYSTEM, f"{option}={value}")
    assert status == 2
    assert f"{option[2:].replace('-', ' ')} must be " in err.replace("the step size", "step size")
    assert f"found {float(value):g} s" in " ".join(err.split())


@pytest.mark.parametrize("option", ["--start-time", "--stop-time"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_times_are_finite(ssptool, option, value):
    status, _, err = ssptool("run", SYSTEM, f"{option}={value}")
    assert (status, "must be a finite number" in err) == (2, True)


@pytest.mark.parametrize("value", ["0", "-3"])
def test_every_none_of_the_rows_is_refused(ssptool, value):
    status, _, err = ssptool("run", SYSTEM, f"--every={value}")
    assert (status, "n must be at least 1" in err) == (2, True)


@pytest.mark.parametrize(("verb", "arguments"), [("explain", ["nosuch"]), ("remove", ["nosuch"]), ("rule", ["XYZ"])])
def test_other_commands_do_so_too(ssptool, verb, arguments):
    given = arguments if verb == "rule" else [SYSTEM, *arguments]
    status, _, err = ssptool(verb, *given)
    assert (status, arguments[0] in err) == (2, True)
