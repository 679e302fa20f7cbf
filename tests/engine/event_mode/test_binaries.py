"""Binary signals: bytes of any value and number, from FMU to FMU."""

import pytest
from typer.testing import CliRunner

import ssptool
from ssptool import Settings
from ssptool.cli.app import app
from ssptool.documents.archive import Archive
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.network.flatten import build_network
from tests.engine.event_mode.systems import simulate

CHAIN = {"A": "fmi3/Message", "B": "fmi3/Message", "C": "fmi3/Message"}
WIRES = [("A.out", "B.in"), ("B.out", "C.in")]


def test_bytes_travel_as_they_are(system):
    """Each FMU of a chain appends the number of its steps; what has a zero in it is not cut off there."""
    with Archive.open(system(CHAIN, WIRES)) as archive:
        network = build_network(archive, archive.structure(None))
        plan = make_plan(network, Settings(stop_time=1.0, step_size=0.25))
        with SteppedRun(plan, archive) as simulation:
            assert simulation.get("C.in") == b"\x00\x00"
            simulation.step()
            assert simulation.get("B.in") == b"\x01" and simulation.get("C.out") == b"\x01\x01\x01"
            simulation.set("A.in", bytes(range(254, 256)))
            simulation.step()
            assert simulation.get("C.in") == b"\xfe\xff\x02\x02"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_bytes_are_recorded_as_bytes(system, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    result = simulate(system(CHAIN, WIRES), 1.0, 0.25, output=path)
    expected = [bytes([n, n]) for n in range(5)]
    assert list(result.trace["C.in"]) == expected
    found = ssptool.read_trace(path)
    assert list(found["C.in"]) == expected and dict(zip(found.signals, found.types, strict=True))["C.in"] == "Binary"


def test_the_command_records_bytes_and_a_mat_file_says_that_it_is_without_them(system, tmp_path):
    folder = str(system(CHAIN, WIRES))
    for ending in ("csv", "mat"):
        arguments = [
            "run",
            folder,
            "--stop-time",
            "1",
            "--step-size",
            "0.25",
            "--output",
            str(tmp_path / f"run.{ending}"),
        ]
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, outcome.output
        assert ("run.mat is without" in " ".join(outcome.output.split())) == (ending == "mat")
    assert list(ssptool.read_trace(tmp_path / "run.csv")["B.in"]) == [bytes([n]) for n in range(5)]
    assert "B.in" not in ssptool.read_trace(tmp_path / "run.mat").signals


def test_a_binary_start_value_comes_from_a_parameter_set_in_hexadecimal_digits(system):
    given = '<ssv:Parameter name="A.in"><ssv:Binary value="00ff00"/></ssv:Parameter>'
    result = simulate(system(CHAIN, WIRES, given), 1.0, 0.25)
    assert list(result.trace["C.length"]) == [5] * 5


def test_bytes_survive_a_child_process_and_saving(system, tmp_path):
    folder = system(CHAIN, WIRES)
    assert simulate(folder, 1.0, 0.25, isolated=True).ok
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25)
    with ssptool.Simulation(folder, settings=settings) as simulation:
        simulation.set("A.in", b"\x00\x01")
        simulation.step()
        simulation.save(tmp_path / "saved")
    with ssptool.Simulation(folder, settings=settings, saved=tmp_path / "saved") as simulation:
        assert simulation.get("C.in") == b"\x00\x01\x01\x01"
        simulation.step()
        assert simulation.get("C.in") == b"\x00\x01\x02\x02"
