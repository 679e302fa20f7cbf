"""Exit status 2: the command was called in a wrong way, and nothing is wrong with the system."""

import re
from shutil import copytree

import pytest

from ssptool import __version__
from ssptool.cli.app import PACKAGE
from ssptool.documents.diagnostics import InvalidDocument, Position, error
from ssptool.exceptions import WrongUsage
from tests.cli.test_commands import SYSTEM


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--output", "x.hdf5"], ".parquet"),
        (["--record", ""], "no signal"),
        (["--record", "System1.zz"], "System1.x1"),
        (["--set", "A.zz=1"], "A.zz"),
        (["--set", "System1.m1=heavy"], "a number"),
        (["--set", "System1.m1=1e400"], "up to 1.8e308"),
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
    assert (status, "every must be a whole number of at least 1" in err) == (2, True)


@pytest.mark.parametrize(("verb", "arguments"), [("explain", ["nosuch"]), ("remove", ["nosuch"]), ("rule", ["XYZ"])])
def test_other_commands_do_so_too(ssptool, verb, arguments):
    given = arguments if verb == "rule" else [SYSTEM, *arguments]
    status, _, err = ssptool(verb, *given)
    assert (status, arguments[0] in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--parameters", "nothere.ssv"], "error: nothere.ssv does not exist"),
        (["--inputs", "nothere.csv"], "error: nothere.csv does not exist"),
        (["--scenario", "."], "error: .: is a directory"),
        (["--output", "."], "found"),
        (["--timeout", "-5"], "the timeout must be greater than 0, found -5"),
        (["--tolerance", "-1"], "the tolerance must be positive, found -1"),
        (["--convergence", "absolute=-1"], "the absolute limit of convergence must be positive, found -1"),
        (["--substeps", "System2=0"], "error: --substeps System2 must be a whole number of at least 1; found 0"),
        (["--processes", "no"], "error: --processes must be 'each' or a whole number of at least 1; found 'no'"),
        (["--set", "System1=1"], "did you mean System1.F or "),
        (["--set", "Zz=1"], f"`ssptool explain {SYSTEM} --all` lists"),
    ],
    ids=lambda value: "=".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_told_in_the_words_of_the_command(ssptool, arguments, told):
    status, out, err = ssptool("run", SYSTEM, *arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert "Errno" not in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--integrator", "adams"], "integrator adams without model exchange"),
        (["--integrator", "bdf"], "integrator bdf without model exchange"),
        (["--approximation", "hold", "--input-order", 2], "input order 2 with approximation hold"),
        (["--implementation", "me", "--master", "iterated"], "error: master iterated with model exchange"),
        (["--implementation", "me", "--iterations", 3, "--substeps", "System1=2"], "iterations 3, substeps with model"),
    ],
    ids=str,
)
def test_options_that_exclude_each_other_are_told_by_name(ssptool, arguments, told):
    status, out, err = ssptool("run", SYSTEM, *arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert "leave" in err  # what to try


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--master", "jacobi", "--max-iterations", 3], "--max-iterations 3 with master jacobi: "),
        (["--implementation", "me", "--max-iterations", 3], "--max-iterations 3 with model exchange: "),
        (["--iterations", 2, "--max-iterations=3"], "leave out iterations or --max-iterations"),
        (["--fmu-log-level", "ok"], "error: --fmu-log-level without --fmu-log: "),
        (["--fmu-log-categories", "logAll"], "name the file with --fmu-log, or leave out --fmu-log-categories"),
    ],
    ids=str,
)
def test_settings_that_were_typed_are_called_as_their_options(ssptool, arguments, told):
    status, _, err = ssptool("run", SYSTEM, *arguments)
    assert (status, told in err) == (2, True), err
    assert "_" not in err


def test_settings_of_a_study_are_called_as_in_its_file(ssptool, tmp_path):
    settings = 'master = "jacobi"\nmax_iterations = 3'
    text = f'system = "{SYSTEM.as_posix()}"\n[factors]\n"System1.m1" = [1, 2]\n[settings]\n{settings}\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    assert "max_iterations" in ssptool("study", "s.toml", "--allow-outside", SYSTEM)[2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", SYSTEM, "--plot", "p1.png", "--plot", "p2.png"], "--plot"),
        (["run", SYSTEM, "--stop-time", "1", "--stop-time=2"], "--stop-time"),
        (["graph", SYSTEM, "-o", "a.svg", "--output", "b.svg"], "--output"),
        (["study", "run", "a.toml", "--workers", "1", "--workers", "2"], "--workers"),
        (["dictionary", "add", "--variant", "a", "--variant", "b", SYSTEM], "--variant"),
    ],
    ids=str,
)
def test_options_that_take_one_value_are_not_given_twice(ssptool, tmp_path, arguments, told):
    status, out, err = ssptool(*arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert "given 2 times, and takes one value" in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["plot", "compare"])
def test_a_system_in_the_place_of_results_is_told(ssptool, tmp_path, command):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    status, _, err = ssptool(command, *["notes.txt"] * (1 if command == "plot" else 2))
    assert (status, "results are files of type .csv, .parquet, .mat, .h5, .mf4; found 'notes.txt'" in err) == (2, True)
    status, _, err = ssptool("compare", SYSTEM, SYSTEM)
    assert (status, f"found the folder '{SYSTEM.name}'" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["align", "osc", "System1", "System2", "--to", "middl"], "middle"),
        (["place", "osc", "System1", "--at", "0", "0", "--size", "0", "0"], "a size above 0"),
        (["new", "other", "--ssp", "3.0"], "1.0 and 2.0"),
        (["study", "status", "nope.study"], "there is no such folder"),
        (["run", "osc", "--output", "taken/r.csv"], "taken: no such folder for the results"),
        (["draw", "osc", "--output", "taken/r.svg"], "taken"),
        (["validate", "osc", "--output", "taken/r.txt"], "taken"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_as_asked_is_wrong_usage(ssptool, tmp_path, monkeypatch, arguments, told):
    """The system has no error. `taken` is a file, so it holds no others, whatever rights the user has."""
    copytree(SYSTEM, tmp_path / "osc")
    (tmp_path / "taken").write_text("", encoding="utf-8")
    status, _, err = ssptool(*arguments)
    assert (status, told in err) == (2, True), err


@pytest.mark.parametrize(
    ("file", "content", "arguments"),
    [
        ("in.csv", "time,System1.zz\n0,1\n1,2\n", ["run", SYSTEM, "--inputs", "in.csv"]),
        (
            "s.yaml",
            "events:\n- {time: 1, variable: System1.zz, action: override, value: 1}\n",
            ["run", SYSTEM, "--scenario", "s.yaml"],
        ),
        (
            "s.toml",
            f'system = "{SYSTEM.as_posix()}"\n[factors]\n"System1.zz" = [1, 2]\n',
            ["study", "s.toml", "--allow-outside", SYSTEM],
        ),
    ],
    ids=["inputs", "scenario", "study"],
)
def test_mistakes_in_the_files_of_a_run_are_findings(ssptool, tmp_path, file, content, arguments):
    """With file and line, as those in a system."""
    (tmp_path / file).write_text(content, encoding="utf-8")
    status, out, err = ssptool(*arguments)
    assert (status, out) == (1, "")
    assert re.search(rf"{file}:\d+: .*System1\.zz", err), err


@pytest.mark.parametrize("limit", ["inf", "1e30"])
def test_a_timeout_may_be_as_long_as_one_likes(ssptool, limit):
    assert ssptool("run", SYSTEM, "--stop-time", "0.01", "--timeout", limit)[0] == 0


def test_a_folder_that_is_not_there_is_told_as_such(ssptool, tmp_path):
    status, _, err = ssptool("run", SYSTEM, "--stop-time", "0.01", "--fmu-log", "nowhere/log.csv")
    assert (status, err) == (2, "error: nowhere: no such folder; make it first\n")


def test_the_folder_of_a_report_is_made(ssptool, tmp_path):
    assert ssptool("validate", SYSTEM, "--output", tmp_path / "made/report.txt")[0] == 0
    assert (tmp_path / "made/report.txt").is_file()


def test_a_file_that_is_no_system_is_told_what_one_is(ssptool, tmp_path):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    status, _, err = ssptool("info", "notes.txt")
    assert (status, "a system is an .ssp file, the folder of an unpacked one, or an .ssd file" in err) == (1, True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("base.csv", "a table of results, inputs or parameters"),
        ("Motor.py", "a program in Python"),
        ("notes.txt", "a file of another kind"),
        ("params.ssv", "a parameter set"),
    ],
)
@pytest.mark.parametrize("command", ["run", "info"])
def test_a_file_of_another_kind_is_told_as_such(ssptool, tmp_path, command, name, kind):
    (tmp_path / name).write_text("hello", encoding="utf-8")
    status, _, err = ssptool(command, name)
    assert (status, err.startswith(f"error: {name}: PKG-001: {kind}, not a system (a system is an .ssp")) == (1, True)
    assert (f"`ssptool validate {name}` checks the document" in err) is name.endswith(".ssv")
    assert err.count("error") == 1


def test_a_folder_that_is_no_study_is_told_what_it_lacks(ssptool, tmp_path):
    assert "not a result folder of a study: it has no study.json" in ssptool("study", "status", tmp_path)[2]
    assert "not a result folder of a study: there is no such folder" in ssptool("study", "status", "nothere")[2]


def test_what_is_close_to_a_study_is_told_what_to_type(ssptool, tmp_path):
    """The folder in place of the file, a misspelt command, a system or another folder in place of results."""
    (tmp_path / "a.study").mkdir()
    (tmp_path / "a.study/study.json").write_text("{}", encoding="utf-8")
    copytree(SYSTEM, tmp_path / "osc")
    for command, told in {
        "study a.study": "`ssptool study resume a.study` continues the study",
        "study run osc": "osc is a folder, not a study file (.toml)",
        "study result a.study": "Did you mean results?",
        "plot osc": "osc is a system; `ssptool draw osc` draws it; plot needs a file that `ssptool run osc` wrote",
        "plot .": ". is not a result folder of a study",
    }.items():
        status, _, err = ssptool(*command.split())
        assert (status, told in " ".join(err.replace("│", " ").split())) == (2, True), err
    assert "cannot be read" in ssptool("study", "runs.toml")[2], "a name that is close to no command is that of a file"


def test_values_to_set_are_told_as_the_argument_that_they_are(ssptool):
    status, _, err = ssptool("set", SYSTEM, "System1.m1")
    assert (status, "--set" in err) == (2, False)


def test_a_system_without_anything_to_fix_is_told_so(ssptool):
    assert ssptool("validate", SYSTEM, "--diff") == (0, "", f"{SYSTEM}: nothing to fix\n")


@pytest.mark.parametrize(
    "mistake", [KeyError("mine"), ValueError("x"), AttributeError("y"), TypeError("z"), AssertionError(), IndexError(3)]
)
def test_a_mistake_of_ours_is_reported_as_one(ssptool, monkeypatch, mistake):
    """Not as one of the user: where it happened, the version, and the command whose output to report."""

    def fails(*_arguments, **_options):
        raise mistake

    monkeypatch.setattr("ssptool.plan", fails)
    status, out, err = ssptool("plan", "my system.ssp")
    assert (status, out) == (70, "")
    assert err.startswith(f"error: internal error: {type(mistake).__name__}: {mistake} (ssptool/cli/run.py:")
    assert "a bug of ssptool" in err
    assert "ssptool --debug plan 'my system.ssp'\n" in err
    assert __version__ in err
    assert "Traceback" not in err
    assert "Traceback" in ssptool("--debug", "plan", "my system.ssp")[2]


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (FileNotFoundError(2, "No such file", "/nowhere/x.ssd"), 2),
        (FileNotFoundError(2, "No such file", str(PACKAGE / "schemas" / "x.xsd")), 70),
        (OSError(28, "No space left on device"), 2),
        (MemoryError("unable to allocate 8 TiB"), 1),
        (WrongUsage("no"), 2),
        (InvalidDocument(error("X-1", Position("x.ssd"), "no XML")), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_trouble_with_files_and_memory_is_no_bug_unless_the_file_is_ours(ssptool, monkeypatch, trouble, expected):
    def fails(*_arguments, **_options):
        raise trouble

    monkeypatch.setattr("ssptool.plan", fails)
    status, _, err = ssptool("plan", "x.ssp")
    assert (status, "a bug of ssptool" in err) == (expected, expected == 70)


def test_a_mistake_of_ours_in_the_process_of_the_fmus_is_found(ssptool, monkeypatch):
    """The process is forked, so that the mistake is there too; what is to be reported says where in it."""

    def fails(*_arguments, **_options):
        raise KeyError("mine")

    monkeypatch.setattr("ssptool.engine.isolation.child.execute", fails)
    monkeypatch.setattr("ssptool.engine.isolation.child._may_fork", lambda _: True)  # whatever threads tests have left
    status, _, err = ssptool("--debug", "run", SYSTEM, "--stop-time", "0.01")
    assert (status, "KeyError: 'mine'" in err) == (70, True)
    assert "in _attempt" in err
