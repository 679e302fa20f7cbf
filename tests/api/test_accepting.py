"""A system with errors runs in spite of those that the user accepts, or that its settings file switches off."""

import json
import shutil
from pathlib import Path

import pytest
from pytest import approx

import ssptool
from ssptool.exceptions import BadData
from ssptool.rules.selection import RULES, Severity

SYSTEM = Path(__file__).parents[2] / "systems/dual_mass_oscillator"
FORCE = '<ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'
POSITION = '<ssd:Connection startElement="System1" startConnector="x1" endElement="System2" endConnector="x1"/>'
SHORT = ssptool.Settings(stop_time=0.5, step_size=1e-2, master="jacobi")


@pytest.fixture
def changed(tmp_path):
    """The oscillator with a text in its structure replaced by another one."""

    def change(*pairs: tuple[str, str], file: str = "SystemStructure.ssd") -> Path:
        folder = tmp_path / "system"
        if not folder.exists():
            shutil.copytree(SYSTEM, folder)
        text = (folder / file).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")
        return folder

    return change


def positions(system: Path, accept: tuple[str, ...] = ()) -> list[float]:
    return list(ssptool.simulate(system, settings=SHORT, accept=accept).unwrap()["System1.x1"])


def test_a_refused_run_says_what_would_let_it_run(changed):
    system = changed((FORCE, FORCE.replace("/>", ' suppressUnitConversion="true"/>') + FORCE))
    with pytest.raises(ssptool.exceptions.InvalidSystem) as refused:
        ssptool.simulate(system, settings=SHORT)
    assert refused.value.accept == ("SSD-CONN-007",)
    assert "--accept SSD-CONN-007" in str(refused.value)


def test_a_missing_file_that_only_metadata_refer_to_stops_no_run(changed):
    entry = '<ssc:MetaData kind="general" type="text/plain" source="resources/lost.txt"/>'
    system = changed(
        ("</ssd:Component>", f"{entry}</ssd:Component>"), ('version="1.0" name="Dual', 'version="2.0" name="Dual')
    )
    found = [one.severity for one in ssptool.validate(system).diagnostics if one.code == "URI-002"]
    assert found == [Severity.WARNING, Severity.WARNING]
    assert positions(system) == positions(SYSTEM)


def test_of_two_connections_between_two_connectors_the_first_counts(changed):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    assert positions(system, ("SSD-CONN-007",)) == positions(SYSTEM)


def test_of_two_sources_the_first_gives_the_value(changed):
    other = POSITION.replace('startConnector="x1"', 'startConnector="v1"')
    system = changed((POSITION, POSITION + other), ('<ssc:BaseUnit m="1" s="-1"/>', '<ssc:BaseUnit m="1"/>'))
    found = ssptool.validate(system)
    assert "SSD-CONN-004" in {one.code for one in found.errors}
    assert positions(system, tuple({one.code for one in found.errors})) == positions(SYSTEM)


def test_units_that_cannot_be_converted_pass_the_value_as_it_is(changed):
    """The force in metres: the same number as in newtons."""
    system = changed((
        'kind="output" description="Force of the coupling spring on mass 1"><ssc:Real unit="N"/>',
        'kind="output" description="Force of the coupling spring on mass 1"><ssc:Real unit="m"/>',
    ))  # fmt: skip
    codes = tuple({one.code for one in ssptool.validate(system).errors})
    assert set(codes) == {"UNIT-006", "FMU-006"}
    assert positions(system, codes) == positions(SYSTEM)


def test_an_illegal_connection_is_left_out(changed):
    """Without the force of the coupling spring, mass 1 swings by itself."""
    illegal = FORCE.replace("System1", "System2").replace('endConnector="F"', 'endConnector="F"')
    system = changed((FORCE, illegal))
    codes = tuple({one.code for one in ssptool.validate(system).errors})
    assert codes == ("SSD-CONN-003",)
    network = ssptool.flatten(system, accept=codes)
    assert [str(wire.destination) for wire in network.wires] == ["System2.x1", "System2.v1", "System2.a1"]
    assert positions(system, codes) != positions(SYSTEM)


def test_a_value_that_its_target_does_not_take_is_left_out(changed):
    """The mass keeps the start value of its FMU."""
    ssv = "resources/dual_mass_oscillator.ssv"
    text = (SYSTEM / ssv).read_text(encoding="utf-8")
    named = text.index('name="System1.m1"')
    old = text[text.rindex("<", 0, named) : text.index("</", named)]
    system = changed((old, '<ssv:Parameter name="System1.m1"><ssv:String value="heavy"/>'), file=ssv)
    codes = tuple({one.code for one in ssptool.validate(system).errors})
    assert codes == ("SSD-PAR-021",)
    accepted = ssptool.plan(system, accept=codes)
    (instance,) = (one for one in accepted.instances if one.name == "System1")
    assert "m1" not in instance.starts


def test_values_that_are_left_out_are_one_line_for_each_rule(changed, tmp_path):
    """Three values, of two components, in notes and manifest."""
    ssv = "resources/dual_mass_oscillator.ssv"
    text, pairs = (SYSTEM / ssv).read_text(encoding="utf-8"), []
    for name in ("System1.m1", "System1.k1", "System2.m2"):
        named = text.index(f'name="{name}"')
        old = text[text.rindex("<", 0, named) : text.index("</", named)]
        pairs.append((old, f'<ssv:Parameter name="{name}"><ssv:String value="heavy"/>'))
    system, output = changed(*pairs, file=ssv), tmp_path / "result.csv"
    result = ssptool.simulate(system, settings=SHORT, accept=["SSD-PAR-021"], output=output)
    (note,) = (one for one in result.notes if "left out" in one)
    assert note.startswith("3 values left out: ") and "accepted SSD-PAR-021" in note
    assert {name for name in ("System1.m1", "System1.k1", "System2.m2") if name in note} == {
        "System1.m1", "System1.k1", "System2.m2"
    }  # fmt: skip
    assert note in json.loads((tmp_path / "result.csv.json").read_text(encoding="utf-8"))["notes"]


def test_a_component_of_an_unknown_type_is_left_out(changed):
    system = changed((
        'type="application/x-fmu-sharedlibrary" source="resources/System2.fmu"',
        'type="application/x-mine" source="resources/System2.fmu"',
    ))  # fmt: skip
    with pytest.raises(Exception, match="--accept SSD-COMP-004"):
        ssptool.plan(system)
    assert list(ssptool.plan(system, accept=["SSD-COMP-004"]).network.components) == ["System1"]


def test_accepted_findings_stand_in_notes_and_manifest(changed, tmp_path):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    output = tmp_path / "result.csv"
    result = ssptool.simulate(system, settings=SHORT, accept=["SSD-CONN-007"], output=output)
    assert any(note.startswith("accepted SSD-CONN-007") for note in result.notes)
    (finding,) = json.loads((tmp_path / "result.csv.json").read_text(encoding="utf-8"))["accepted"]
    assert finding["code"] == "SSD-CONN-007"


def test_an_error_that_the_settings_file_ignores_does_not_stop_a_run(changed, tmp_path):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    settings = tmp_path / "ssptool.toml"
    settings.write_text('ignore = ["SSD-CONN-007"]', encoding="utf-8")
    ssptool.simulate(system, settings=SHORT, settings_file=settings, output=tmp_path / "r.csv")
    # The manifest says what was accepted, so the settings file may go.
    settings.unlink()
    assert ssptool.reproduce(tmp_path / "r.csv")


def test_runs_that_differ_in_what_was_accepted_are_told_apart(changed, tmp_path):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    first, second = (tmp_path / name for name in ("first.csv", "second.csv"))
    ssptool.simulate(system, settings=SHORT, accept=["SSD-CONN-007"], output=first)
    ssptool.simulate(SYSTEM, settings=SHORT, output=second)
    assert [str(one) for one in ssptool.compare(first, second).runs] == [
        "runs with different accepted findings: SSD-CONN-007, reference none"
    ]
    shutil.copy(SYSTEM / "SystemStructure.ssd", system)  # what was wrong is mended
    again = ssptool.simulate(system, settings=SHORT, output=first)
    note = f"overwrote {first}: results of a run with accepted findings = SSD-CONN-007 (now none)"
    assert note in again.notes


def test_a_missing_fmu_can_neither_be_ignored_nor_accepted(changed, tmp_path):
    system = changed(("resources/System2.fmu", "resources/None.fmu"))
    settings = tmp_path / "ssptool.toml"
    settings.write_text('ignore = ["URI-002"]', encoding="utf-8")
    with pytest.raises(ssptool.exceptions.InvalidSystem) as refused:
        ssptool.plan(system, settings_file=settings)
    assert not refused.value.accept and "--accept" not in str(refused.value)
    with pytest.raises(ValueError, match="URI-002 cannot be accepted"):
        ssptool.plan(system, accept=["URI-002"])
    with pytest.raises(ssptool.exceptions.InvalidSystem):
        ssptool.plan(system, accept=["URI"])


def test_a_code_that_no_rule_has_is_refused():
    with pytest.raises(ssptool.exceptions.UnknownName):
        ssptool.plan(SYSTEM, accept=["NONE-001"])


def test_a_program_steps_a_system_whose_errors_it_accepts(changed):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    with ssptool.Simulation(system, settings=SHORT, accept=["SSD-CONN-007"]) as simulation:
        simulation.run_until(0.5)
        assert simulation.get("System1.x1") == approx(positions(SYSTEM)[-1], abs=0)


def test_a_study_names_what_it_accepts(changed, tmp_path):
    system = changed((FORCE, FORCE + FORCE.replace("/>", ' suppressUnitConversion="true"/>')))
    study = {
        "system": str(system),
        "settings": {"stop_time": 0.1, "step_size": 0.01, "master": "jacobi"},
        "factors": {"System2.k2": [1.0, 2.0]},
        "results": {"end": 'final("System1.x1")'},
    }
    with pytest.raises(BadData, match="accept"):
        ssptool.study(study, tmp_path / "refused.study", workers=1)
    results = ssptool.study({**study, "accept": ["SSD-CONN-007"]}, tmp_path / "done.study", workers=1)
    assert results.status.ok


@pytest.mark.parametrize("code", sorted(RULES))
def test_each_rule_that_reports_errors_blocks_a_run_or_says_what_accepting_means(code):
    rule = RULES[code]
    if Severity.ERROR in rule.severity.values() and not rule.tools:
        assert rule.blocks_run is not bool(rule.accepted)
    assert not (rule.blocks_run and rule.accepted)
