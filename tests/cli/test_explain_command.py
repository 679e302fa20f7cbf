"""`ssptool explain` as a user meets it."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

import ssptool as api
from tests.network.packages import bindings, component, content, model, package, ssd, ssv, system

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FMU = model('parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; output y Real unit="mm"')


@pytest.fixture
def explain(ssptool):
    """Run `ssptool explain`; gives (exit status, standard output, standard error)."""
    return partial(ssptool, "explain")


@pytest.fixture
def nested(tmp_path) -> Path:
    """B.y → S.u → S.A.u with units, and values on three levels for S.A.k."""
    inner = component("A", "m", "input u Real m, parameter k Real m, output y", bindings(ssv("k Real value='1'")))
    around = system("S", "input u Real mm", [inner], ["u -> A.u"], bindings(ssv("A.k Real value='250' unit='mm'")))
    root = bindings('source="resources/p.ssv" prefix="S."')
    text = ssd(root + content("", [around, component("B", "m", "output y Real mm")], ["B.y -> S.u"]))
    package(
        tmp_path, text, {"m": FMU}, {"resources/p.ssv": ssv("A.k Real value='2500' unit='mm'", "A.kk Real value='1'")}
    )
    return tmp_path


def test_a_parameter_is_shown_with_every_step_its_place_and_what_it_overrode(explain, nested):
    status, out, _ = explain(nested, "S.A.k")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert status == 0
    assert lines[0] == "S.A.k = 2.5 m"
    assert [line.split(" bound")[0] for line in lines[lines.index("set by") + 1 :][:3]] == [
        "binding A.k = 2500 mm resources/p.ssv:3",
        "prefix S.A.k = 2500 mm SystemStructure.ssd:2 'S.'",
        "unit S.A.k = 2.5 m resources/p.ssv:3 mm → m",
    ]
    assert "0.25 m, because outer bindings win: the root system contains S" in lines
    assert "1 m, because outer bindings win: the root system contains S.A" in lines
    assert any(
        line.startswith("1 m, the start value in the FMU (resources/m.fmu!modelDescription.xml:") for line in lines
    )


def test_a_connector_is_shown_with_every_connection_and_conversion(explain, nested):
    out = explain(nested, "S.A.u")[1]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "S.A.u = 0.001·B.y"
    start = lines.index("comes from")
    assert lines[start + 1] == "B.y"
    assert lines[start + 2].startswith("connection → S.u SystemStructure.ssd:")
    assert lines[start + 3].startswith("connection → S.A.u mm → m: 0.001·v SystemStructure.ssd:")
    assert "goes to" in explain(nested, "B.y")[1]


def test_what_wins_is_told_by_the_options_that_were_typed(explain, tmp_path):
    """`--set` over two sets of `--parameters`, of which the last one wins, over the set that the system binds."""
    sets = []
    for value in (2, 3):
        sets.append(tmp_path / f"{value}.ssv")
        sets[-1].write_text(ssv(f"System1.m1 Real value='{value}'"), encoding="utf-8")
    given = [text for one in sets for text in ("--parameters", one)]
    because = [
        "2 kg, because of several --parameters the last one wins",
        "1 kg, because --parameters wins over the parameter sets that the system binds",
    ]
    out = explain(SYSTEM, "System1.m1", *given)[1]
    assert re.findall(r"^    (.*because.*)", out, re.M) == because
    assert re.search(rf"parameters +System1.m1 = 3 +\S*{sets[1].name}:\d+ +given by --parameters", out)
    out = explain(SYSTEM, "System1.m1", *given, "--set", "System1.m1=4")[1]
    by_set = [f"{value} kg, because --set wins over --parameters" for value in (3, 2)]
    by_set.append("1 kg, because --set wins over the documents of the system")
    assert re.findall(r"^    (.*because.*)", out, re.M) == by_set


def test_overrides_and_parameter_files_are_explained_as_in_run(explain):
    more = SYSTEM / "resources" / "heavy_flange.ssv"
    status, out, _ = explain(SYSTEM, "System1.m1", "System2.m_c", "--set", "System1.m1=2", "--parameters", more)
    assert status == 0
    assert "System1.m1 = 2 kg" in out
    assert "--set System1.m1=2" in out
    assert "because --set wins over the documents of the system" in out
    assert "System2.m_c = 2 kg" in out
    assert "heavy_flange.ssv:7" in out


def test_a_variant_is_explained(explain):
    out = explain(SYSTEM, "System1.m1", "--variant", "DualMassOscillatorFMI3")[1]
    assert "resources/fmi3/System1.fmu" in out


def test_all_is_a_table_with_a_line_for_each(explain, nested):
    status, out, _ = explain(nested, "--all")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert status == 0
    assert list(rows)[:2] == ["name", "S.u"]
    assert "2.5 m" in rows["S.A.k"]
    assert rows["S.A.k"].endswith("resources/p.ssv:3, instead of 0.25, 1")
    assert "start value in the FMU" in rows["B.k"]
    assert "did you mean S.A.k" in rows["S.A.kk"]


def test_json_has_the_same_facts(explain, nested):
    (content,) = json.loads(explain(nested, "S.A.k", "--format", "json")[1])
    assert (content["origin"], content["value"], content["unit"]) == ("assignment", 2.5, "m")
    assert [step["kind"] for step in content["assignment"]["steps"]] == ["binding", "prefix", "unit"]
    assert [loser["value"] for loser in content["assignment"]["overridden"]] == [0.25, 1.0]
    everything = json.loads(explain(nested, "--all", "--format", "json")[1])
    (u,) = (each for each in everything if each["name"] == "S.A.u")
    assert (u["comesFrom"]["signal"], u["comesFrom"]["factor"], len(u["comesFrom"]["legs"])) == ("B.y", 0.001, 2)


def test_a_parameter_without_a_variable_gets_its_near_misses(explain, nested):
    status, out, _ = explain(nested, "S.A.kk")
    assert status == 0
    assert "the system has no variable" in out
    assert "resources/p.ssv:4" in out
    assert "did you mean S.A.k" in out


@pytest.mark.parametrize(
    ("arguments", "status", "hint"),
    [
        (["m1"], 2, "System1.m1"),
        (["System1.m"], 2, "System1.m1"),
        ([], 2, "--all"),
        (["System1.m1", "--all"], 2, "--all"),
        (["System1.m1", "--variant", "no"], 2, "DualMassOscillator"),
        (["System1.m1", "--set", "System1.m1=x"], 2, "a number"),
    ],
)
def test_wrong_use_says_what_to_do(explain, arguments, status, hint):
    found, out, err = explain(SYSTEM, *arguments)
    assert (found, hint in err, out) == (status, True, "")


def test_a_system_with_errors_is_explained_as_far_as_it_goes(explain, nested):
    structure = nested / "SystemStructure.ssd"
    structure.write_text(
        structure.read_text().replace('endElement="S" endConnector="u"', 'endElement="T" endConnector="u"')
    )
    assert api.validate(nested).errors
    assert explain(nested, "S.A.k")[1].startswith("S.A.k = 2.5 m")


def test_the_function_gives_the_values_that_the_command_prints(nested):
    (k,) = api.explain(nested, "S.A.k")
    assert k.value == 2.5
    assert {str(each.signal) for each in api.explain(nested) if hasattr(each, "signal")} >= {"S.A.k", "S.u", "B.y"}


def test_a_wrong_name_does_not_keep_the_others_from_being_explained(explain):
    status, printed, said = explain(SYSTEM, "System1.m1", "System1.nothing")
    assert status == 2
    assert printed.startswith("System1.m1 = ")
    assert "no variable 'System1.nothing'" in said
    with pytest.raises(api.exceptions.UnknownName) as caught:
        api.explain(SYSTEM, "System1.nothing", "System1.m1")
    assert [str(one.signal) for one in caught.value.found] == ["System1.m1"]
