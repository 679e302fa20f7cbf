"""Arguments of the Python API: what is understood, and what is refused with the name of the argument."""

import inspect
import pickle
from dataclasses import fields
from functools import partial
from math import isclose
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssptool
from ssptool.api.check import DEFAULTS, SystemOptions, ValidateOptions
from ssptool.api.run import SHOWN
from ssptool.arguments import parse_time, start_value_texts
from ssptool.engine.settings import SettingsOptions
from ssptool.engine.trace import Column
from ssptool.public_names import PARTS

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SHORT = {"stop_time": 0.01, "step_size": 0.005, "master": "jacobi"}
TRACE = ssptool.types.Trace.of(
    [0.0, 1.0, 1.0, 3.0], [(Column("A.x"), [0.0, 2.0, 10.0, 20.0]), (Column("A.n", type="Int32"), [1, 2, 3, 4])]
)


# -- times ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 10.0),
        ("1e-3", 0.001),
        ("1ms", 0.001),
        ("500us", 0.0005),
        ("3µs", 3e-06),
        ("3μs", 3e-06),
        ("0.1 ns", 1e-10),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1.5 h", 5400.0),
        ("1d", 86400.0),
        ("-1s", -1.0),
        ("1e3ms", 1.0),
        (".5s", 0.5),
    ],
)
def test_a_time_is_a_number_of_seconds_or_has_a_unit_of_si(text, seconds):
    assert parse_time(text) == seconds


@given(st.floats(1e-6, 1e6), st.sampled_from([("ms", 1e-3), ("us", 1e-6), ("min", 60.0), ("h", 3600.0)]))
def test_a_unit_is_a_factor(value, unit):
    assert isclose(parse_time(f"{value!r}{unit[0]}"), value * unit[1], rel_tol=1e-15)


@pytest.mark.parametrize("text", ["", "s", "1 parsec", "1 Ms", "1,5 s", "ten", "1 s 2", "1_000", "0x10", "٣"])
def test_all_else_is_refused_with_the_units_that_are_known(text):
    with pytest.raises(ValueError, match="s, ms, us, ns, ps, min, h or d"):
        parse_time(text)


# -- start values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (2.5, "2.5"),
        (0.1, "0.1"),
        (True, "true"),
        (np.bool_(False), "false"),
        (np.int32(7), "7"),
        (np.float64(1e-300), "1e-300"),
        ("2", "2"),
        ("a b", "a b"),
        (b"\x00\xff", "00ff"),
        (float("inf"), "INF"),
        ([1, 2.5], "1 2.5"),
        (np.array([[1, 2], [3, 4]]), "1 2 3 4"),
        (((1, 2), (3, 4)), "1 2 3 4"),
        (["it's", "b c"], "'it'\"'\"'s' 'b c'"),
        ([True, False], "true false"),
        (np.array(3.5), "3.5"),
    ],
    ids=repr,
)
def test_start_values_are_numbers_texts_and_arrays(value, text):
    assert start_value_texts("start_values", {"A.k": value}) == {"A.k": text}


def test_the_same_start_values_have_the_same_effect_in_every_form():
    forms = (2.0, 2, np.float32(2), np.array(2.0), "2", "2.0")
    runs = [ssptool.simulate(SYSTEM, start_values={"System1.m1": form}, **SHORT) for form in forms]
    assert all(np.array_equal(run["System1.x1"], runs[0]["System1.x1"]) for run in runs)


# -- settings ------------------------------------------------------------------------------------------------


def test_signatures_show_the_keywords_that_functions_share_one_by_one():
    """As `help` and notebooks show them, with the same defaults in all; those of the settings stay together."""
    for function in (ssptool.simulate, ssptool.plan, ssptool.Simulation):
        parameters = inspect.signature(function).parameters
        assert {name: parameters[name].default for name in SHOWN} == {name: DEFAULTS[name] for name in SHOWN}
        assert str(parameters["options"]) == "**options: 'Unpack[SettingsOptions]'"
    assert set(inspect.signature(ssptool.explain).parameters) == {"system", "names", *SystemOptions.__annotations__}
    for function in (ssptool.validate, ssptool.fix):
        parameters = inspect.signature(function).parameters
        assert [name for name in parameters if name in DEFAULTS] == list(ValidateOptions.__annotations__)
        with pytest.raises(ssptool.exceptions.WrongType, match="has no argument 'selct'; did you mean select"):
            function(SYSTEM, selct="FMU")
    with pytest.raises(ssptool.exceptions.WrongType, match="explain has no argument 'varient'; did you mean variant"):
        ssptool.explain(SYSTEM, varient="x")


def test_each_setting_is_a_keyword():
    assert list(SettingsOptions.__annotations__) == [field.name for field in fields(ssptool.Settings)]


def test_settings_are_keywords_a_mapping_or_an_object_and_keywords_win():
    whole = ssptool.Settings(stop_time=1.0, step_size=0.01, master="jacobi")
    keywords = {"stop_time": "1s", "step_size": "10ms", "master": "jacobi"}
    for asked in ({"settings": whole}, {"settings": keywords}, keywords, {"settings": {}, **keywords}):
        assert ssptool.plan(SYSTEM, **asked).settings == whole
    assert ssptool.plan(SYSTEM, settings=whole, step_size=0.1).settings.step_size == 0.1
    with ssptool.Simulation(SYSTEM, **keywords, record="*.x1") as run:
        run.run_until("500ms")
        assert (run.time, run.trace.signals) == (0.5, ("System1.x1", "System2.x1"))


def test_the_representation_of_settings_makes_them_again():
    made = ssptool.Settings(
        stop_time="2min", master="jacobi", substeps={"A": 3}, power_bonds="A.v,B.F", log_loops="a.csv"
    )
    assert eval(repr(made), {"Settings": ssptool.Settings}) == made
    assert repr(ssptool.Settings()) == "Settings()"


# -- results -------------------------------------------------------------------------------------------------


def test_a_trace_has_values_at_a_time_on_lines_or_held_and_the_later_side_of_an_event():
    assert TRACE.at(0.25) == {"A.x": 0.5, "A.n": 1}
    assert TRACE.at(1) == {"A.x": 10.0, "A.n": 3}
    assert TRACE.at("2000ms") == {"A.x": 15.0, "A.n": 3}
    assert TRACE.at(3.0) == {"A.x": 20.0, "A.n": 4}


def test_a_result_gives_signals_and_times_and_says_on_one_line_what_it_is():
    result = ssptool.simulate(SYSTEM, record=["*.x1"], **SHORT)
    assert np.array_equal(result["System1.x1"], result.trace["System1.x1"])
    assert np.array_equal(result.t, result.trace.t)
    assert "System1.x1" in result
    assert "System1.v1" not in result
    assert list(result) == ["System1.x1", "System2.x1"]
    assert repr(result) == "<Result of DualMassOscillator: completed, 0 … 0.01 s, 3 rows, 2 signals>"


def test_everything_that_a_function_returns_says_on_one_line_what_it_is(tmp_path):
    """In a console or a notebook the representation is what a user sees first."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    result = ssptool.simulate(SYSTEM, output=first, **SHORT)
    ssptool.simulate(SYSTEM, output=second, start_values={"System1.m1": 2.0}, **SHORT)
    shown = {
        "Plan": ssptool.plan(SYSTEM),
        "Report": ssptool.validate(SYSTEM),
        "Network": ssptool.flatten(SYSTEM),
        "Trace": ssptool.read_trace(first),
        "Plot": result.plot(),
        "Explanation": ssptool.explain(SYSTEM, "System1.F")[0],
        "Inventory": ssptool.info(SYSTEM),
        "SystemGraph": ssptool.graph(SYSTEM),
        "Simulation": ssptool.Simulation(SYSTEM),
        "TraceComparison": ssptool.compare(second, first),
        "Comparison": ssptool.diff(SYSTEM, SYSTEM),
        "Reproduction": ssptool.reproduce(first),
        "Drawing": ssptool.draw(SYSTEM),
    }
    for name, one in shown.items():
        assert repr(one).startswith(f"<{name} "), repr(one)
        assert "\n" not in repr(one)
        assert len(repr(one)) < 160 + 2 * len(str(SYSTEM))


def test_what_differs_or_failed_is_false(tmp_path):
    """`assert ssptool.compare(…)` and its kin must not pass silently."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    ssptool.simulate(SYSTEM, output=first, **SHORT)
    ssptool.simulate(SYSTEM, output=second, start_values={"System1.m1": 2.0}, **SHORT)
    assert [bool(ssptool.compare(first, one)) for one in (first, second)] == [True, False]
    assert [bool(ssptool.reproduce(first, against=one)) for one in (None, second)] == [True, False]


def test_a_report_with_errors_is_false(tmp_path):
    (tmp_path / "SystemStructure.ssd").write_text("<nothing/>", encoding="utf-8")
    assert (bool(ssptool.validate(tmp_path)), bool(ssptool.validate(SYSTEM))) == (False, True)
    assert (
        [one.code for one in ssptool.validate(tmp_path)]
        == [one.code for one in ssptool.validate(tmp_path).errors]
        != []
    )


def test_the_package_shows_its_api_alone():
    assert set(dir(ssptool)) == {*ssptool.__all__, *PARTS, "__version__"}
    assert {"Result", "Settings", "Simulation", "simulate", "plot"} <= set(dir(ssptool))
    assert len(dir(ssptool)) <= 50
    assert {"Trace", "Plan", "Report", "Table", "Tolerance"} <= set(dir(ssptool.types))


@pytest.mark.parametrize("name", ["simulate", "plan", "Simulation", "plot", "validate", "explain"])
def test_each_argument_is_in_the_documentation(name):
    function = getattr(ssptool, name)
    text = f"{ssptool.simulate.__doc__}{function.__doc__}"
    parameters = [one for one in inspect.signature(function).parameters if one not in ("self", "options", "names")]
    assert [one for one in parameters if one not in text] == []


# -- plots ---------------------------------------------------------------------------------------------------


def test_runs_are_plotted_alone_in_lists_and_from_files(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "r.csv"
    first = ssptool.simulate(SYSTEM, output=path, **SHORT)
    in_file = ssptool.simulate(SYSTEM, output=tmp_path / "s.csv", keep=False, **SHORT)
    for runs in (first, first.trace, path, str(path), in_file):
        assert {curve.run for curve in ssptool.plot(runs, signals="*.x1").curves} == {""}
    assert {curve.run for curve in ssptool.plot([first, in_file, path]).curves} == {
        "DualMassOscillator 1",
        "DualMassOscillator 2",
        "r",
    }
    first.plot(tmp_path / "r.svg", signals=["*.x1", "*.v1"])
    ssptool.plot({"a": first, "b": path}, tmp_path / "s.svg")
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("r.svg", "s.svg"))


# -- what cannot be ------------------------------------------------------------------------------------------

SIMULATE = [
    ({"stoptime": 5}, "simulate has no argument 'stoptime'; did you mean stop_time"),
    ({"start_value": {}}, "simulate has no argument 'start_value'; did you mean start_values"),
    ({"nonsense": 1}, "simulate has no argument 'nonsense'; there are "),
    ({"settings": {"stoptime": 5}}, "Settings has no argument 'stoptime'; did you mean stop_time"),
    ({"settings": 5}, "settings must be a Settings object or a mapping from its fields; found 5"),
    ({"settings": "fast"}, "settings must be a Settings object"),
    ({"stop_time": [1]}, r"stop_time must be a number of seconds, .*; found \[1\]"),
    ({"stop_time": True}, "stop_time must be a number of seconds, .*; found True"),
    ({"stop_time": "1 parsec"}, "stop_time must be a number of seconds, .*; found '1 parsec'"),
    ({"stop_time": -1}, "the stop time must not be before the start time"),
    ({"stop_time": float("nan")}, "the stop time must be a finite number"),
    ({"step_size": 0}, "must be greater than 0 s"),
    ({"step_size": "-1ms"}, "must be greater than 0 s"),
    ({"master": "jakobi"}, r"master must be one of auto, .* \(did you mean jacobi\?\); found 'jakobi'"),
    ({"master": 3}, "master must be one of auto, jacobi, gauss-seidel, iterated; found 3"),
    ({"tolerance": "small"}, "tolerance must be a number; found 'small'"),
    ({"threads": 1.5}, "threads must be a whole number of at least 1; found 1.5"),
    ({"substeps": [("System1", 2)]}, "substeps must be a mapping from components to numbers of steps"),
    ({"substeps": {"System1": 0}}, r"substeps\['System1'\] must be a whole number of at least 1; found 0"),
    ({"convergence": {"absolute": "x"}}, r"convergence\['absolute'\] must be a number; found 'x'"),
    ({"power_bonds": 3}, "power_bonds must be a list of pairs"),
    ({"power_bonds": ["System1.v1"]}, "power_bonds must be pairs of names of two signals"),
    ({"log_loops": 3}, "log_loops must be a path .*; found 3"),
    ({"start_values": "System1.m1=2"}, "start_values must be a mapping from full names to values"),
    ({"start_values": {1: 2}}, "start_values must be a mapping from full names to values"),
    ({"start_values": {"System1.m1": None}}, r"start_values\['System1.m1'\] must be a number, .*; found None"),
    ({"start_values": {"System1.m1": {}}}, r"start_values\['System1.m1'\] must be a number, .*; found {}"),
    ({"start_values": {"System1.m1": [1, 2]}}, "System1.m1 cannot be '1 2'"),
    ({"start_values": {"System1.mm": 2.0}}, "the system has no variable 'System1.mm'; did you mean System1.m1"),
    ({"parameters": "k.ssv"}, "k.ssv does not exist"),
    ({"parameters": 3}, "parameters must be a path or a list of paths; found 3"),
    ({"parameters": {"k": 1}}, "parameters must be files of type .ssv; values are given as start_values"),
    ({"variant": 3}, "variant must be a text; found 3"),
    ({"variant": "Nothing"}, "Nothing"),
    ({"inputs": 3}, "int is not understood; give the path of a CSV file"),
    ({"inputs": "no.csv"}, "no.csv"),
    ({"interpolation": "hold"}, "interpolation must be left out where there are no inputs"),
    (
        {"inputs": {"System1.F": 1.0}, "interpolation": "cubic"},
        "interpolation must be one of hold, linear; found 'cubic'",
    ),
    ({"scenario": 3}, "scenario must be a path .*; found 3"),
    ({"accept": 3}, "accept must be a code of a rule or a list of them; found 3"),
    ({"output": 3}, "output must be a path .*; found 3"),
    ({"record": 3}, r"record must be a pattern such as '\*.x1' or a list of them; found 3"),
    ({"record": "x1"}, "x1"),
    ({"every": 0}, "every must be a whole number of at least 1; found 0"),
    ({"output_step": "often"}, "output_step must be a number of seconds"),
    ({"keep": "yes"}, "keep must be True or False; found 'yes'"),
    ({"isolated": 1}, "isolated must be True or False; found 1"),
    ({"isolated": False, "timeout": 5}, "leave out isolated=False, or the limits"),
    ({"timeout": -5}, "the timeout must be greater than 0"),
    ({"memory_limit": "2G"}, "memory_limit must be a number; found '2G'"),
    ({"realtime": "fast"}, "realtime must be a number; found 'fast'"),
    ({"realtime": 0}, "the factor of real time must be greater than 0"),
    ({"statistics": "text"}, "statistics must be True or False; found 'text'"),
    ({"progress": 3}, "progress must be a function .*; found 3"),
]


@pytest.mark.parametrize(("arguments", "told"), SIMULATE, ids=lambda one: repr(one) if isinstance(one, dict) else "")
def test_a_wrong_argument_of_a_run_is_named_with_what_was_found_and_what_is_allowed(arguments, told):
    with pytest.raises((ValueError, LookupError, OSError, TypeError, ssptool.exceptions.BadData), match=told) as caught:
        ssptool.simulate(SYSTEM, **{**SHORT, **arguments})
    assert "ssptool" in type(caught.value).__module__ or not isinstance(caught.value, TypeError | AttributeError)


def edited(change):
    with ssptool.edit(SYSTEM, save=False) as system:
        change(system)


def stepped(call):
    with ssptool.Simulation(SYSTEM, **SHORT) as run:
        call(run)


OTHERS = [
    (lambda: ssptool.simulate(None), "system must be a path .*; found None"),
    (lambda: ssptool.simulate(), "simulate needs the argument system"),
    (lambda: ssptool.simulate(stop_time=1), "simulate needs the argument system"),
    (lambda: ssptool.simulate(SYSTEM, 10), r"simulate takes 1 argument without a name \(system\), .*; found 2"),
    (lambda: ssptool.info(SYSTEM, system=SYSTEM), "info has the argument system twice"),
    (lambda: ssptool.compare("a.csv"), "compare needs the argument reference"),
    (lambda: ssptool.draw(SYSTEM, 3), "output must be a path .*; found 3"),
    (lambda: ssptool.draw(SYSTEM, level=[1]), r"level must be a text; found \[1\]"),
    (lambda: ssptool.info("a\0.ssp"), "system must be a path without a null character"),
    (lambda: ssptool.plan(SYSTEM, inputs="a\0.csv"), "inputs"),
    (lambda: ssptool.Settings(stoptime=1), "Settings has no argument 'stoptime'; did you mean stop_time"),
    (lambda: ssptool.Settings(1), "Settings takes 0 arguments without a name, and all others as NAME=VALUE; found 1"),
    (lambda: ssptool.types.Event(0.0), "Event needs the arguments variable and action"),
    (lambda: ssptool.types.Table([0.0, 1.0]), "Table needs the argument values"),
    (lambda: ssptool.types.Tolerance(relativ=1e-3), "Tolerance has no argument 'relativ'; did you mean relative"),
    (lambda: TRACE.rows("x"), "rows|chosen must be"),
    (lambda: ssptool.simulate("nowhere.ssp"), "nowhere.ssp does not exist"),
    (lambda: ssptool.plan(3), "system must be a path .*; found 3"),
    (lambda: ssptool.plan(SYSTEM, stop_tme=1), "plan has no argument 'stop_tme'; did you mean stop_time"),
    (lambda: ssptool.Simulation(SYSTEM, recrd="x"), "Simulation has no argument 'recrd'; did you mean record"),
    (lambda: ssptool.validate(3), "system must be a path .*; found 3"),
    (lambda: ssptool.validate(SYSTEM, select=3), "select must be a code of a rule"),
    (lambda: ssptool.validate(SYSTEM, strict="yes"), "strict must be True or False; found 'yes'"),
    (lambda: ssptool.validate(SYSTEM, ignore="NOT-999"), "NOT-999"),
    (lambda: ssptool.info([SYSTEM]), "system must be a path"),
    (lambda: ssptool.explain(SYSTEM, "System1.mm"), "did you mean System1.m1"),
    (lambda: ssptool.draw(SYSTEM, depth=-1), "depth must be a whole number of at least 0; found -1"),
    (lambda: ssptool.draw(SYSTEM, highlight="loop"), r"highlight must be one of loops, findings \(did you mean loops"),
    (lambda: ssptool.plot(3), "runs must be a Result, a Trace, a frame of pandas or polars, or a file of results"),
    (lambda: ssptool.plot([]), "runs must be a Result, a Trace, a frame of pandas or polars, or a file of results"),
    (lambda: ssptool.plot(TRACE, 3), "output must be a path"),
    (lambda: ssptool.plot(TRACE, signals="B.x"), "no recorded signal is called 'B.x'; did you mean A.x"),
    (
        lambda: ssptool.compare(TRACE, None),
        "reference must be a Result, a Trace, a frame of pandas or polars, or a file of results",
    ),
    (lambda: TRACE["A.y"], "signal 'A.y' is not recorded; did you mean A.x"),
    (lambda: TRACE["y"], "signal 'y' is not recorded"),
    (lambda: TRACE[3], "signal 3 is not recorded; there are A.x, A.n"),
    (lambda: TRACE.at(5.0), "time must be between 0 s and 3 s; found 5.0"),
    (lambda: TRACE.at("soon"), "time must be a number of seconds"),
    (lambda: ssptool.simulate(SYSTEM, outputs=["System1.x1"]), "no argument 'outputs'; did you mean record"),
    (lambda: ssptool.simulate(SYSTEM, parameters={"System1.m1": 2}), "start_values="),
    (lambda: ssptool.calibrate(SYSTEM, data=TRACE), "study new"),
    (lambda: ssptool.sweep(SYSTEM, {"System1.c1": [1]}, stop=2), "sweep has no argument 'stop'"),
    (lambda: ssptool.Settings(master="x"), "master must be one of auto"),
    (lambda: ssptool.types.Event("soon", "A.u", "reset"), "time must be a number of seconds"),
    (lambda: ssptool.types.Table(1, [2.0]), "times must be a list or an array, .*; found 1"),
    (lambda: ssptool.types.Tolerance("a"), "absolute must be a number; found 'a'"),
    (lambda: ssptool.compare(TRACE, TRACE, tolerance=1e-3), r"tolerance must be a Tolerance, .*; found 0\.001"),
    (lambda: ssptool.explain(SYSTEM, 3), "names must be the name of a variable or a list of them; found"),
    (lambda: ssptool.info(SYSTEM, component=3), "component must be .*; found 3"),
    (lambda: ssptool.info(SYSTEM, variables=3), "variables must be a pattern or a list of them; found 3"),
    (lambda: ssptool.example(3), "name must be .*; found 3"),
    (lambda: ssptool.variants.add_variant(SYSTEM, 3, save=False), "name must be .*; found 3"),
    *(
        (function, "must be a path .*; found 3")
        for function in (
            lambda: ssptool.read_trace(3),
            lambda: ssptool.read_manifest(3),
            lambda: ssptool.studies.read_study(3),
            lambda: ssptool.study(3),
            lambda: ssptool.studies.study_results(3),
            lambda: ssptool.studies.resume_study(3),
            lambda: ssptool.pack(3),
            lambda: ssptool.unpack(3),
            lambda: ssptool.downgrade(3),
            lambda: ssptool.doctor(3),
        )
    ),
    *(
        (partial(edited, change), told)
        for change, told in (
            (lambda system: system.set(3, 1), "name must be a full name .*; found 3"),
            (lambda system: system.connect(1, 2), "name must be a full name .*; found 1"),
            (lambda system: system.rename("System1", 3), "new must be .*; found 3"),
            (lambda system: system.place("System1", "a", 1), "x must be a number; found 'a'"),
            (lambda system: system.connect("System1.x1", "System2.x1", factor="a"), "factor must be a number"),
            (lambda system: system.add(3), "must be a path .*; found 3"),
            (
                lambda system: system.set("System1.m1", 2, untit="kg"),
                "Editor.set has no argument 'untit'; did you mean unit",
            ),
            (lambda system: system.add_connector("u", kind=3), "kind must be .*; found 3"),
            (lambda system: system.add_system([1]), r"name must be a text; found \[1\]"),
            (lambda system: system.add_system("a\0"), "name must be a text without control characters"),
            (lambda system: system.add_dictionary(3), "name must be a text; found 3"),
            (lambda system: system.map("System1.m1", 3), "target must be a text; found 3"),
            (lambda system: system.add_signal(3, "s"), "dictionary must be a text; found 3"),
        )
    ),
    *(
        (partial(stepped, call), told)
        for call, told in (
            (lambda run: run.get(3), "name must be .*; found 3"),
            (lambda run: run.set("System1.m1", None), "m1 = None: not a value of type Real"),
            (lambda run: run.set("System1.m1", "heavy"), "m1 = 'heavy': not a value of type Real"),
            (lambda run: run.set("System1.m1", [1.0]), r"m1 = \[1.0\]: not a value of type Real"),
            (lambda run: run.set("System1.m1", {}), "m1 = {}: not a value of type Real"),
            (lambda run: run.set("System1.m1"), "SteppedRun.set needs the argument value"),
            (lambda run: run.step(1, 2), r"SteppedRun.step takes 1 argument without a name \(count\)"),
            (lambda run: run.step("a"), "count must be a whole number of at least 1; found 'a'"),
            (lambda run: run.save(3), "path must be a path .*; found 3"),
        )
    ),
]


@pytest.mark.parametrize(("call", "told"), OTHERS, ids=[f"{place}: {told}" for place, (_, told) in enumerate(OTHERS)])
def test_a_wrong_argument_of_any_function_is_named(call, told):
    with pytest.raises(
        (ValueError, LookupError, OSError, TypeError, ssptool.exceptions.UnknownName), match=told
    ) as caught:
        call()
    assert "ssptool" in type(caught.value).__module__ or not isinstance(caught.value, TypeError | AttributeError)


def calls():
    """Functions, and constructors and methods of the classes, that the public modules have."""
    for module in (ssptool, *(getattr(ssptool, part) for part in PARTS if part != "exceptions")):
        for name in module.__all__:
            called = getattr(module, name)
            if inspect.isfunction(called):
                yield called
            elif inspect.isclass(called):
                own = (one for kind in called.__mro__ for one in vars(kind).items())
                yield from (one for name, one in own if is_called(name, one) and is_marked(one))


def is_called(name, member):
    return inspect.isfunction(member) and (name == "__init__" or not name.startswith("_"))


def is_marked(function):
    return inspect.unwrap(function) is not function and function.__module__.startswith("ssptool")


@pytest.mark.parametrize("called", dict.fromkeys(calls()), ids=lambda called: called.__qualname__)
def test_a_call_that_does_not_fit_names_the_arguments(called):
    """Of every function, and of every method of the classes that are marked."""
    assert is_marked(called)
    taken = list(inspect.signature(called).parameters.values())
    this = [None] if taken and taken[0].name == "self" else []
    needed = [one for one in taken[len(this) :] if one.default is one.empty and one.kind in (0, 1, 3)]
    code = inspect.unwrap(called).__code__
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        with pytest.raises(ssptool.exceptions.WrongType, match="has no argument 'nonsense'"):
            called(*this, **{one.name: SYSTEM for one in needed}, nonsense=1)
    if not code.co_flags & inspect.CO_VARARGS:
        with pytest.raises(ssptool.exceptions.WrongUsage, match=r"takes|twice"):
            called(*this, *[SYSTEM] * 99)
    if needed:
        with pytest.raises(ssptool.exceptions.WrongUsage, match=f"needs the argument.*{needed[0].name}"):
            called(*this)


MARKED = (
    "Editor",
    "Event",
    "Function",
    "Inputs",
    "Result",
    "Scenario",
    "Settings",
    "Simulation",
    "StudyResults",
    "Table",
)


@pytest.mark.parametrize("name", [*MARKED, "Tolerance", "Trace"])
def test_classes_that_users_call_are_marked(name):
    kind = getattr(ssptool if name in ssptool.__all__ else ssptool.types, name)
    for parent in kind.__mro__:
        if parent.__module__.startswith("ssptool") and parent.__name__ != "Printed":
            own = {key: one for key, one in vars(parent).items() if is_called(key, one)}
            assert [key for key, one in own.items() if not is_marked(one)] == []


@pytest.mark.parametrize(
    "options",
    [
        {"relaxation": 0.5, "acceleration": "aitken"},
        {"approximation": "hold", "input_order": 2},
        {"every": 2, "output_step": 0.01},
        {"fmu_log_level": "ok"},
        {"timeout": 10, "isolated": False},
        {"sandbox": True, "isolated": False},
    ],
    ids=lambda options: ", ".join(options),
)
def test_settings_that_exclude_each_other_are_one_kind_of_wrong_usage(options):
    assert "ContradictingSettings" in ssptool.exceptions.__all__
    with pytest.raises(ssptool.exceptions.ContradictingSettings) as found:
        ssptool.simulate(SYSTEM, stop_time=0.01, **options)
    assert isinstance(found.value, ssptool.exceptions.WrongUsage)
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ssptool.edit(SYSTEM, shared="al").__enter__(), "shared must be one of refuse, all, copy .*mean all"),
        (lambda: ssptool.upgrade(SYSTEM, types="fmi", save=False), "types must be one of keep, fmi3 .*mean fmi3"),
        (lambda: ssptool.graph(SYSTEM, stage="comunication"), "stage must be one of .*did you mean communication"),
    ],
)
def test_a_wrong_word_is_refused_with_the_nearest_right_one(call, told):
    with pytest.raises(ssptool.exceptions.WrongArgument, match=told):
        call()


@pytest.mark.parametrize(
    ("name", "meant"), [("run", "simulate"), ("load", "edit"), ("simulat", "simulate"), ("Resutl", "Result")]
)
def test_another_name_is_answered_with_the_function(name, meant):
    assert hasattr(ssptool, meant)
    with pytest.raises(AttributeError, match=f"did you mean ssptool.{meant}"):
        getattr(ssptool, name)
