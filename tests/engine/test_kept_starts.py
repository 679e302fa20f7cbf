"""More start values than a system has states: those that it does not start with are told of, with what it starts with.

The mass of 1 kg on c = 50 N/m and d = 4 N.s/m takes s, v and also a, which is −c s − d v − g = −25 m/s2 from s = 0.3 m.
"""

import zipfile

import pytest

import ssptool
from ssptool import Settings, read_manifest
from ssptool.results.report import run_report_content
from ssptool.results.report.content import ReportPicture

SHORT = Settings(stop_time=0.01)


@pytest.fixture
def mass(system):
    return system({"Mass": "Redundant", "Spring": "SpringDamper"}, [("Mass.s", "Spring.z")])


def notes(path, *, isolated=False, **start_values):
    given = {f"Mass.{name}": value for name, value in start_values.items()}
    result = ssptool.simulate(path, start_values=given, settings=SHORT, isolated=isolated)
    assert result.ok
    return [note for note in result.notes if "was given" in note]


@pytest.mark.parametrize("isolated", [False, True])
def test_an_acceleration_that_contradicts_position_and_velocity_is_told_of(mass, isolated):
    (note,) = notes(mass, a="-1.5", isolated=isolated)
    assert note.startswith("Mass.a was given as -1.5 m/s2 and starts as -25 m/s2")
    assert "other start values" in note and "leave it out" in note


@pytest.mark.parametrize("isolated", [False, True])
def test_the_manifest_of_the_results_tells_of_it_and_so_does_the_report(mass, tmp_path, isolated):
    path = tmp_path / "run.csv"
    result = ssptool.simulate(mass, start_values={"Mass.a": "-1.5"}, settings=SHORT, isolated=isolated, output=path)
    assert read_manifest(path)["notes"] == list(result.notes)
    facts = run_report_content(
        read_manifest(path), diagrams=[], findings=[], plots=ReportPicture("", ""), locate=lambda name: None
    )
    assert any(note.startswith("Mass.a was given as -1.5") for note in facts.notes)


def test_the_consistent_acceleration_is_accepted_in_silence(mass):
    assert notes(mass, a="-25") == []
    assert notes(mass, a="-25.00001") == []


def test_start_values_of_states_are_kept_and_not_told_of(mass):
    assert notes(mass, s="0.1", v="2", a="-23") == []


def test_what_the_fmu_calls_a_guess_is_told_of_as_one(mass):
    """The same FMU, but with initial='approx' for a."""
    fmu = mass / "resources" / "Redundant.fmu"
    with zipfile.ZipFile(fmu) as archive:
        entries = {info: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(fmu, "w") as archive:
        for info, content in entries.items():
            if info.filename == "modelDescription.xml":
                before, name, after = content.partition(b'name="a"')
                content = before + name + after.replace(b'initial="exact"', b'initial="approx"', 1)
            archive.writestr(info, content)
    (note,) = notes(mass, a="-1.5")
    assert "guess" in note and "contradict" not in note


def test_as_model_exchange_it_is_told_of_too(mass):
    settings = Settings(stop_time=0.01, implementation="me")
    result = ssptool.simulate(mass, start_values={"Mass.a": "-1.5"}, settings=settings)
    assert any("starts as -25" in note for note in result.notes)
