"""Errors in a command line have the form of all errors, and name the option that is meant."""

import pytest
import typer

from ssptool.cli.app import SUMMARIES, app
from ssptool.cli.usage import nearest_options
from ssptool.option_words import OPTION_SYNONYMS, kebab
from tests.cli.test_commands import SYSTEM


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--stopTime", "--stop-time"),
        ("--stop", "--stop-time"),
        ("--startTime", "--start-time"),
        ("--dt", "--step-size"),
        ("--step", "--step-size"),
        ("--stepSize", "--step-size"),
        ("--out", "--output"),
        ("--outputFile", "--output"),
        ("--result-file", "--output"),
        ("--resultFile", "--output"),
        ("--intervals", "--step-size"),
        ("--solver", "--integrator"),
        ("--relative-tolerance", "--tolerance"),
        ("--log-level", "--fmu-log-level"),
        ("--logLevel", "--fmu-log-level"),
        ("--output_step", "--output-step"),
        ("--quite", "--quiet"),
        ("--toleranse", "--tolerance"),
        ("--max-iter", "--max-iterations"),
        ("--fixedStep", "--step-size"),
        ("--numberOfIntervals", "--output-step"),
        ("--solverStats", "--statistics"),
        ("-D", "--set"),
        ("-j", "--threads"),
    ],
)
def test_the_best_option_comes_first(ssptool, typed, meant):
    status, out, err = ssptool("run", SYSTEM, f"{typed}=1")
    assert (status, out) == (2, "")
    assert f"error: there is no option {typed}; did you mean {meant}" in " ".join(err.split())


def test_words_of_other_programs_belong_to_options_of_a_run():
    known = {name for one in typer.main.get_command(app).commands["run"].params for name in one.opts}
    assert set(OPTION_SYNONYMS) <= known
    words = [word for several in OPTION_SYNONYMS.values() for word in several]
    assert len(words) == len(set(words))
    assert not {f"--{word}" for word in words} & known
    assert [kebab(name) for name in ("stopTime", "stop_time", "FMULog", "dt")] == [
        "stop-time",
        "stop-time",
        "fmulog",
        "dt",
    ]
    assert nearest_options("--zzzzzz", known) == ()


WRONG = [
    (["run"], "SYSTEM"),
    (["run", SYSTEM, "--every", "x"], "--every: 'x' is not a whole number"),
    (["run", SYSTEM, "--output"], "--output needs a value"),
    (["run", SYSTEM, "--stop-time", "abc"], "--stop-time"),
    (["run", SYSTEM, "--master", "foo"], "--master"),
    (["run", SYSTEM, "--set", "a"], "--set"),
    (["run", SYSTEM, "--input", "in.csv"], "given with --inputs"),
    (["run", SYSTEM, "--plot", "a.png", "--plot", "b.png"], "--plot"),
    (["run", SYSTEM, SYSTEM], "SYSTEM".lower()),
    (["run", SYSTEM, "--in-process", "--timeout", "5"], "--timeout: cannot be combined with --in-process"),
    (["run", SYSTEM, "--record", "zz"], "zz"),
    (["run", "nothing.ssp"], "nothing.ssp"),
    (["study", "foo"], "there is no command foo, and no such file. Commands are run, new,"),
    (["study", "foo", SYSTEM], "there is no command foo, and no such file"),
    (["study", "sobol", SYSTEM], f"`ssptool study new {SYSTEM} --design sobol`"),
    (["study", "reslts", SYSTEM], "Did you mean results?"),
    (["run", SYSTEM, "--inputs", "no.csv"], "no.csv"),
    (["plan", SYSTEM, "--fmi", "7"], "--fmi"),
    (["runn", SYSTEM], "there is no command runn; did you mean run?"),
    (["--quiet", "run", SYSTEM], "options of a command follow its name"),
    (["graph", SYSTEM, "--format", "foo"], "--format"),
    (["validate", SYSTEM, "--for", "foo"], "foo"),
    (["compare", "a.csv"], "REFERENCE"),
    (["plot", "no.csv"], "no.csv"),
    (["report", SYSTEM, "no.csv"], "no.csv"),
    (["study", "no.toml"], "no.toml"),
    (["study", "foo"], "foo"),
    (["dictionary", "foo"], "foo"),
    (["set", SYSTEM], "values to set"),
    (["connect", SYSTEM, "System1"], "B"),
    (["export", SYSTEM, "x.zip"], ".fmu"),
    (["rule", "XYZ-1"], "XYZ-1"),
    (["new", SYSTEM], "dual_mass_oscillator"),
    (["variant", "add", SYSTEM], "NAME"),
    (["draw", SYSTEM, "-o", "x.bmp"], ".svg"),
    (["reproduce", "no.csv"], "no.csv"),
]


@pytest.mark.parametrize(
    ("words", "told"), WRONG, ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, list) else ""
)
def test_errors_of_all_commands_look_alike(ssptool, words, told):
    status, out, err = ssptool(*words)
    assert (status, out) == (2, "")
    first, *others = err.splitlines()
    assert first.startswith("error: ") and told in err
    assert not first.endswith(".") and all(line.startswith("  ") for line in others)
    assert not any(word in err for word in ("Errno", "Usage:", "╭", "Invalid value", "No such", "Traceback"))


@pytest.mark.parametrize("name", SUMMARIES)
def test_each_command_proposes_the_same_form_for_an_unknown_option(ssptool, name):
    status, _, err = ssptool(name, "--nosuchoption")
    assert status == 2
    assert err.startswith("error: there is no option --nosuchoption") and f"`ssptool {name}" in err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["run", SYSTEM, "--plot"], "--plot FILE"),
        (["plot", "r.csv", "--variables", "a"], "--signals"),
        (["connect", SYSTEM, "A", "B", "Cee"], "Cee; two elements"),
        (["sweep", SYSTEM, "System1.c1=1,2", "--set", "System1.m1=2"], "values are arguments"),
        (["sweep", SYSTEM, "System1.c1=1,2", "--dt", "0.1"], "step_size=VALUE"),
        (["study", "calibrate", SYSTEM, "m.csv"], f"ssptool study new {SYSTEM} --data FILE"),
        (["study", "calibrate", SYSTEM], "ssptool study new"),
        (["sweep", SYSTEM, "System1.c1=1,2", "--result", "System1.x1"], 'max("System1.x1")'),
        (["validate", SYSTEM, "--exclude", "X"], "did you mean --ignore?"),
        (["info", SYSTEM, "--all"], "--variables '*'"),
        (["compare", "a.csv", "b.csv", "--rtol", "1"], "did you mean --relative?"),
        (["export", SYSTEM, "--output", "x.fmu"], f"`ssptool export {SYSTEM} FILE.fmu`"),
        (["draw", SYSTEM, "x.svg"], "`--output x.svg` writes the file"),
        (["example", "--list"], "`ssptool example`"),
        (["run", SYSTEM, "--dry-run"], f"`ssptool plan {SYSTEM}`"),
        (["run", SYSTEM, "--force"], "replaces earlier results"),
        (["set", SYSTEM, "System1.m1=2", "--dry-run"], "did you mean --diff?"),
        (["plot", "r.csv", "--variable", "x"], "did you mean --signals?"),
        (["calibrate", SYSTEM, "--data", "m.csv"], f"`ssptool study new {SYSTEM} --data FILE`"),
        (["sweep", SYSTEM, "System1.m1=1..3"], "NAME=low:high:count or NAME=1,2,5"),
        (["convert", SYSTEM, "x.fmu"], "`ssptool export`"),
    ],
)
def test_a_guess_leads_to_what_is_meant(ssptool, line, told):
    status, out, err = ssptool(*line)
    assert (status in (1, 2), out) == (True, "")
    assert told in " ".join(err.split())


@pytest.mark.parametrize("typed", ["--visible", "--suppressPath"])
def test_an_option_that_resembles_none_gets_no_proposal(ssptool, typed):
    assert "did you mean" not in ssptool("run", SYSTEM, typed)[2]


def test_signals_after_results_are_named_as_they_were_typed(ssptool):
    ssptool("run", SYSTEM, "--stop-time", "0.01", "--step-size", "0.001", "--output", "r.csv")
    status, _, err = ssptool("plot", "r.csv", "System1.x1")
    assert status == 2 and "error: System1.x1" in err and "--signals System1.x1" in err
    assert ssptool("plot", "r.csv", "--signals", "system1.X1,System1.v1", "-o", "p.svg")[0] == 0
