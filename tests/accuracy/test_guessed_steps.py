"""Macro steps of systems of which nobody states one: they follow from the first instants, not from the stop time."""

import numpy as np
import pytest
from pytest import approx

import ssptool
from tests.accuracy.parts import Part, write_part
from tests.engine.systems import write_system

L, C, I0 = 2e-9, 5e-9, 0.04
"""H, F and A: ω = 1/√(L C) = 3.2e8 rad/s."""

COIL = Part(inputs={"u": 0.0}, states={"i": (I0, f"-u / {L}")}, outputs={"current": "i"})
CAPACITOR = Part(inputs={"i": 0.0}, states={"u": (0.0, f"i / {C}")}, outputs={"voltage": "u"})
WIRES = [("Coil.current", "Capacitor.i"), ("Capacitor.voltage", "Coil.u")]


def circuit(folder, fmus=None, stop=2e-8):
    for name, part in {"Coil": COIL, "Capacitor": CAPACITOR, **(fmus or {})}.items():
        write_part(folder / f"{name}.fmu", part)
    return write_system(folder / "system", folder, {"Coil": "Coil", "Capacitor": "Capacitor"}, WIRES, stop=stop)


@pytest.fixture
def unstated(tmp_path):
    """The circuit in a document that states no experiment."""
    folder = circuit(tmp_path)
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text()
    begin = text.index("<ssd:DefaultExperiment")
    ssd.write_text(text[:begin] + "</ssd:SystemStructureDescription>\n")
    return folder


def chosen(result):
    return next(one for one in result.choices if one.setting == "step_size")


@pytest.mark.parametrize("stop", [1e-8, 1e-7])
def test_the_step_resolves_the_fastest_signal_whatever_the_stop_time(unstated, stop):
    result = ssptool.simulate(unstated, stop_time=stop, accuracy="auto")
    step = float(chosen(result).value.split()[0])
    assert 1e-11 < step < 1e-9
    trace = result.unwrap()
    exact = I0 * np.cos(trace.t / np.sqrt(L * C))
    error = np.max(np.abs(trace["Coil.current"] - exact)) / np.ptp(exact)
    assert error <= 3 * result.accuracy.error


def test_the_same_step_for_every_stop_time(unstated):
    found = {chosen(ssptool.simulate(unstated, stop_time=stop, accuracy="auto")).value for stop in (1e-8, 3e-8)}
    assert len(found) == 1


def test_slow_systems_keep_a_millisecond(tmp_path, unstated):
    for name, slow in {"Coil": 2.0, "Capacitor": 5.0}.items():
        part = (
            COIL.able(states={"i": (I0, f"-u / {slow}")})
            if name == "Coil"
            else CAPACITOR.able(states={"u": (0.0, f"i / {slow}")})
        )
        write_part(unstated / "resources" / f"{name}.fmu", part)
    result = ssptool.simulate(unstated, stop_time=2.0, accuracy="auto")
    assert chosen(result).value == "0.001 s"
    trace = result.unwrap()
    exact = I0 * np.cos(trace.t / np.sqrt(10.0))
    assert trace["Coil.current"] == approx(exact, abs=1e-3 * I0)


def test_without_a_check_of_the_accuracy_it_is_a_guess_that_is_named(unstated):
    result = ssptool.simulate(unstated, stop_time=0.1, accuracy="off")
    assert chosen(result).value == "0.001 s"
    assert any("is a guess" in note for note in result.notes)


def test_a_step_that_counts_steps_stays_a_millisecond(tmp_path):
    """No step agrees with halves of it where an output tells how many there were."""
    counter = Part(inputs={"i": 0.0}, kept={"n": 0.0}, outputs={"voltage": "n"}, each_step="n = n + 1;")
    folder = circuit(tmp_path, {"Capacitor": counter})
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text()
    ssd.write_text(text[: text.index("<ssd:DefaultExperiment")] + "</ssd:SystemStructureDescription>\n")
    result = ssptool.simulate(folder, stop_time=0.05, accuracy="auto")
    assert chosen(result).value == "0.001 s"
