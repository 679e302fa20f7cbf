"""INF, -INF and NaN: accepted as people type them, shown as documents spell them, in JSON that every parser reads."""

import ast
import json
import math
from pathlib import Path

import pytest
import typer

import ssptool as api
from ssptool.cli.app import app
from tests.engine.systems import write_system
from tests.fmu.infinite_fmu import ARRIVED, FINITE, STARTS, build

PACKAGE = Path(api.__file__).parent
TYPED = (("inf", "-inf", "nan"), ("INF", "-INF", "NaN"), ("+Infinity", "-infinity", "NAN"))


@pytest.fixture(scope="module", params=(2, 3), ids=("FMI 2.0", "FMI 3.0"))
def fmus(request, tmp_path_factory):
    """Folders of FMUs whose start values are finite, and are not."""
    folders = [tmp_path_factory.mktemp(name) for name in ("finite", "infinite")]
    return [build(*arguments) for arguments in zip(folders, [request.param] * 2, (FINITE, STARTS), strict=True)]


@pytest.fixture
def system(fmus, tmp_path):
    """A system whose FMU has finite start values."""
    return write_system(tmp_path / "finite", fmus[0], {"A": "Infinite"}, [])


UNDAMPED = Path(__file__).parents[2] / "systems" / "one_dof_oscillator"


@pytest.fixture
def infinite(fmus, tmp_path):
    """A system whose FMU states the others."""
    return write_system(tmp_path / "infinite", fmus[1], {"A": "Infinite"}, [])


def strict(text):
    """The content of JSON that any parser accepts."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def options(values):
    big, negative, undefined = values
    return ("--set", f"A.big={big}", "--set", f"A.negative={negative}", "--set", f"A.undefined={undefined}")


@pytest.mark.parametrize("values", TYPED, ids=" ".join)
def test_options_accept_them_as_they_are_typed(ssptool, system, values):
    status, out, _ = ssptool("run", system, *options(values), "--set", "A.text=INF", "--output", "r.csv", "-v")
    assert status == 0
    for shown in ("A.big = INF", "A.negative = -INF", "A.undefined = NaN"):
        assert shown in out
    assert api.read_trace("r.csv")["A.y"][-1] == ARRIVED


@pytest.mark.parametrize("values", TYPED, ids=" ".join)
def test_set_writes_them_as_documents_spell_them(ssptool, system, values):
    big, negative, undefined = values
    status, _, _ = ssptool(
        "set", system, f"A.big={big}", f"A.negative={negative}", f"A.undefined={undefined}", "A.text=INF"
    )
    assert status == 0
    text = "".join(path.read_text() for path in system.rglob("*.ss[dv]"))
    assert all(f'value="{value}"' in text for value in ("INF", "-INF", "NaN"))
    assert api.simulate(system).trace["A.y"][-1] == ARRIVED


def test_python_accepts_them(system):
    values = {"A.big": math.inf, "A.negative": -math.inf, "A.undefined": math.nan, "A.text": "INF"}
    assert api.simulate(system, start_values=values).trace["A.y"][-1] == ARRIVED


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_simulation_accepts_infinite_values_during_a_run_and_no_nan(system, value):
    with api.Simulation(system, step_size=0.1) as simulation:
        simulation.set("A.big", value)
        simulation.step()
        assert simulation.get("A.y") == (100.0 if value > 0 else 0.0)
        with pytest.raises(ValueError, match=r"A\.big cannot be NaN"):
            simulation.set("A.big", math.nan)


def test_explain_shows_them_as_documents_spell_them(ssptool, infinite):
    _, out, _ = ssptool("explain", infinite, "A.big", "A.negative", "A.undefined")
    assert [line for line in out.splitlines() if "=" in line] == [
        "A.big = INF",
        "A.negative = -INF",
        "A.undefined = NaN",
    ]


@pytest.mark.parametrize("text", ["1e999", "infinite", "--inf"])
def test_other_texts_are_refused(ssptool, system, text):
    status, _, err = ssptool("run", system, "--set", f"A.big={text}")
    assert status == 2 and "A.big" in err and text in err


@pytest.mark.parametrize("fmi", [2, 3])
def test_they_arrive_in_an_exported_fmu(system, tmp_path, fmi):
    import fmpy

    values = {"A.big": math.inf, "A.negative": -math.inf, "A.undefined": math.nan, "A.text": "INF"}
    made = api.export(system, tmp_path / "made.fmu", fmi=fmi, start_values=values, step_size=0.1).path
    found = fmpy.simulate_fmu(str(made), stop_time=0.5, output_interval=0.1)
    assert found["A.y"].tolist() == [ARRIVED] * len(found)
    assert api.simulate(made, stop_time=0.5).trace["made.A.y"][-1] == ARRIVED


def test_they_are_start_values_of_exposed_parameters(system, tmp_path):
    import fmpy

    values = {"A.big": math.inf, "A.negative": -math.inf, "A.undefined": math.nan, "A.text": "INF"}
    made = api.export(system, tmp_path / "made.fmu", expose=["A.*"], start_values=values, step_size=0.1).path
    starts = {one.name: one.start for one in fmpy.read_model_description(str(made)).modelVariables}
    assert [starts[name] for name in values] == ["INF", "-INF", "NaN", "INF"]
    for changed, expected in ({}, ARRIVED), ({"A.big": 2.5}, ARRIVED - 100), ({"A.text": "x"}, ARRIVED - 1000):
        found = fmpy.simulate_fmu(str(made), start_values=changed, stop_time=0.5, output_interval=0.1)
        assert found["A.y"].tolist() == [expected] * len(found)


def test_a_run_with_them_is_reproduced(ssptool, system):
    values = options(TYPED[0])
    assert ssptool("run", system, *values, "--set", "A.text=INF", "--output", "r.csv", "-v")[0] == 0
    manifest = strict(Path("r.csv.json").read_text(encoding="utf-8"))
    assert [one["after"] for one in manifest["overrides"]] == ["INF", "-INF", "NaN", "INF"]
    status, out, _ = ssptool("reproduce", "r.csv", "--format", "json")
    assert status == 0 and strict(out)["same"]


def test_a_run_from_python_is_reproduced(system, tmp_path):
    values = {"A.big": math.inf, "A.negative": -math.inf, "A.undefined": math.nan, "A.text": "INF"}
    api.simulate(system, start_values=values, output=tmp_path / "r.csv")
    strict((tmp_path / "r.csv.json").read_text(encoding="utf-8"))
    assert api.reproduce(tmp_path / "r.csv").same


def test_all_commands_print_json_that_any_parser_reads(ssptool, infinite):
    """Each command that has a format "json", on a system whose values are not finite, and the manifest too."""
    values = options(TYPED[1])
    assert ssptool("run", infinite, *values, "--output", "r.csv")[0] == 0
    assert ssptool("run", infinite, *values, "--output", "other.csv", "--set", "A.big=1")[0] == 0
    calls = {
        "compare": ("r.csv", "other.csv"),
        "diff": (infinite, infinite),
        "doctor": (),
        "explain": (infinite, "--all", *values),
        "graph": (infinite,),
        "info": (infinite,),
        "reproduce": ("r.csv",),
        "sweep": (infinite, "A.big=1,2", "--result", 'final("A.y")', "--workers", "1"),
        "validate": (infinite,),
        "run": (infinite, *values, "--output", "fresh.csv"),
        # An undamped oscillator has a time constant that is not finite.
        **dict.fromkeys(("linearize", "modes", "trim"), (UNDAMPED,)),
        "sensitivities": (UNDAMPED, "Mass.m", "--stop-time", "0.1"),
    }
    commands = typer.main.get_command(app).commands
    assert set(calls) == {name for name, one in commands.items() if any(p.name == "format" for p in one.params)}
    for name, arguments in calls.items():
        _, out, err = ssptool(name, *arguments, "--format", "json")
        assert strict(out), (name, err)
    Path("strange.csv").write_text("time,A.y\n0,1111\n0.5,inf\n1,nan\n", encoding="utf-8")
    _, out, _ = ssptool("compare", "strange.csv", "r.csv", "--format", "json")
    assert strict(out)["signals"][0]["excess"] == "INF"
    _, out, _ = ssptool("run", infinite, *values, "--statistics", "json", "--output", "r.csv")
    assert [one["after"] for one in strict(out)["overrides"]] == ["INF", "-INF", "NaN"]
    _, out, _ = ssptool("validate", infinite, "--format", "sarif")
    assert strict(out)
    strict(Path("r.csv.json").read_text(encoding="utf-8"))


def test_only_one_function_writes_json():
    writing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id="json"), attr="dump" | "dumps" | "JSONEncoder"):
                    writing.append(path.relative_to(PACKAGE).as_posix())
                case ast.ImportFrom(module="json"):
                    writing.append(path.relative_to(PACKAGE).as_posix())
    assert set(writing) == {"foreign_text.py"}
    assert writing.count("foreign_text.py") == 2  # both in `strict_json`


def test_json_of_numbers_that_are_not_finite_is_strict():
    from ssptool.foreign_text import json_text, strict_json

    content = {"a": [math.inf, (-math.inf, {"b": math.nan})], "c": "INF", "d": 2.5, math.inf: None}
    expected = {"a": ["INF", ["-INF", {"b": "NaN"}]], "c": "INF", "d": 2.5, "INF": None}
    assert strict(strict_json(content)) == strict(json_text(content, indent=1)) == expected


def test_messages_between_processes_tell_them_from_texts():
    from ssptool.child_processes import decoded, encoded

    sent = (math.inf, "INF", (-math.inf, 2.5), {"xs": math.nan})
    strict(encoded(sent))
    found = decoded(tuple[float | str, str, tuple[float, ...], dict[str, float]], encoded(sent))
    assert found[:3] == sent[:3] and math.isnan(found[3]["xs"])
