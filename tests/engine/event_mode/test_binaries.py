"""Binary signals: bytes of any value and number, from FMU to FMU."""

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.engine.kernel import NATIVE
from ssptool.engine.make_plan import make_plan
from ssptool.engine.settings import Settings
from ssptool.engine.simulation import Simulation
from ssptool.network.flatten import build_network
from tests.engine.event_mode.systems import simulate

CHAIN = {"A": "fmi3/Message", "B": "fmi3/Message", "C": "fmi3/Message"}
WIRES = [("A.out", "B.in"), ("B.out", "C.in")]
KERNELS = [False, pytest.param(True, marks=pytest.mark.skipif(not NATIVE, reason="no native kernel"))]


@pytest.mark.parametrize("native", KERNELS)
def test_bytes_travel_as_they_are(system, native):
    """Each FMU of a chain appends the number of its steps; what has a zero in it is not cut off there."""
    with Archive.open(system(CHAIN, WIRES)) as archive:
        network = build_network(archive, archive.structure(None))
        plan = make_plan(network, Settings(stop_time=1.0, step_size=0.25))
        with Simulation(plan, archive, native=native) as simulation:
            assert simulation.get("C.in") == b"\x00\x00"
            simulation.step()
            assert simulation.get("B.in") == b"\x01" and simulation.get("C.out") == b"\x01\x01\x01"
            simulation.set("A.in", bytes(range(254, 256)))
            simulation.step()
            assert simulation.get("C.in") == b"\xfe\xff\x02\x02"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_bytes_are_recorded_as_texts_of_hexadecimal_digits(system, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    result = simulate(system(CHAIN, WIRES), 1.0, 0.25, output=path)
    expected = [f"0{n}0{n}" for n in range(5)]
    assert list(result.trace["C.in"]) == expected
    assert list(ssptool.read_trace(path)["C.in"]) == expected
    assert any(note.startswith("recorded as texts of hexadecimal digits") and "C.in" in note for note in result.notes)


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
