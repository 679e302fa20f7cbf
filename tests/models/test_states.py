"""Saved and serialized FMU states, reset, and independence of instances."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

from tests.models.conftest import ROOT

VERSIONS = pytest.mark.parametrize("version", (2, 3))
NAMES = ("time", "F", "x1", "v1", "a1")


def run(instance, t, steps=20, h=0.01):
    trace = []
    for k in range(steps):
        instance.set(F=np.cos(t + k * h))
        instance.step(t + k * h, h)
        trace.append(instance.get(*NAMES))
    return np.array(trace)


@VERSIONS
def test_a_step_can_be_repeated_with_the_same_bits(make, version):
    instance = make("System1", version).start()
    run(instance, 0.0)
    state = instance.save()
    first = run(instance, 0.2)
    instance.restore(state)
    assert np.array_equal(run(instance, 0.2), first)
    instance.free(state)


@VERSIONS
def test_a_state_can_be_moved_to_another_instance(make, version):
    original, other = make("System1", version).start(k1=7.0), make("System1", version).start()
    run(original, 0.0)
    state = original.save()
    other.restore(state)
    original.free(state)
    assert np.array_equal(run(original, 0.2), run(other, 0.2))


@VERSIONS
def test_a_saved_state_includes_parameters_and_mode(make, version):
    instance = make("System1", version).enter(m1=2.0)
    state = instance.save()
    instance.fmu.exitInitializationMode()
    instance.set(m1=3.0)
    instance.step(0.0, 0.1)
    instance.restore(state)
    assert instance.value("m1") == 2.0
    instance.set(x1_start=0.7)  # in initialization mode again
    assert instance.value("x1") == 0.7
    instance.free(state)


def test_a_saved_state_includes_input_derivatives(make):
    instance = make("System1", 2).start(F=1.0)
    instance.set_derivatives("F", 2.0, -1.0)
    state = instance.save()
    instance.step(0.0, 0.1)
    first = instance.get(*NAMES)
    instance.restore(state)
    instance.step(0.0, 0.1)
    assert np.array_equal(instance.get(*NAMES), first)
    instance.free(state)


@VERSIONS
def test_a_serialized_state_can_be_read_back(make, version):
    instance, other = make("System1", version).start(F=2.0), make("System1", version).start()
    run(instance, 0.0)
    state = instance.save()
    data = instance.fmu.serializeFMUState(state)
    instance.free(state)
    copy = other.fmu.deserializeFMUState(data)
    other.restore(copy)
    other.free(copy)
    assert np.array_equal(run(instance, 0.2), run(other, 0.2))


CONTINUE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.models.conftest import Fmus, Maker
make = Maker(Fmus(Path(sys.argv[2])), Path(sys.argv[3]))
instance = make("System1", int(sys.argv[4]))
instance.restore(instance.fmu.deserializeFMUState(sys.stdin.buffer.read()))
instance.step(0.2, 0.05)
print(*[value.hex() for value in instance.get("x1", "v1").tolist()])
"""


@VERSIONS
def test_a_serialized_state_continues_in_another_process(make, fmus, tmp_path, version):
    instance = make("System1", version).start()
    run(instance, 0.0)
    state = instance.save()
    data = instance.fmu.serializeFMUState(state)
    instance.free(state)
    arguments = [str(ROOT), str(fmus.folder), str(tmp_path), str(version)]
    done = subprocess.run([sys.executable, "-c", CONTINUE, *arguments], input=data, capture_output=True, check=True)
    instance.step(0.2, 0.05)
    assert done.stdout.decode().split() == [value.hex() for value in instance.get("x1", "v1").tolist()]


@VERSIONS
def test_equal_states_have_equal_bytes(make, version):
    def data():
        instance = make("System1", version).start()
        run(instance, 0.0)
        state = instance.save()
        try:
            return instance.fmu.serializeFMUState(state)
        finally:
            instance.free(state)

    assert data() == data()


@VERSIONS
def test_bytes_of_something_else_are_refused(make, version):
    system1, system2 = make("System1", version).start(), make("System2", version).start()
    state = system2.save()
    data = system2.fmu.serializeFMUState(state)
    system2.free(state)
    for wrong in (data, data[:-1], b"", b"\xff" * len(data)):
        with pytest.raises(FMICallException):
            system1.fmu.deserializeFMUState(wrong)
        assert "not a state of System1" in system1.log[-1]


@VERSIONS
def test_a_damaged_state_is_refused(make, version):
    """The mode, which follows the token (40 bytes) and the interface (4, and 4 to align), is not a mode."""
    instance = make("System1", version).start()
    state = instance.save()
    data = bytearray(instance.fmu.serializeFMUState(state))
    instance.free(state)
    data[48:52] = b"\x7f\x7f\x7f\x7f"
    with pytest.raises(FMICallException):
        instance.fmu.deserializeFMUState(bytes(data))


@VERSIONS
def test_reset_brings_back_the_start_values(make, version):
    instance = make("System1", version).start(F=2.0, m1=3.0, x1_start=0.4)
    first = run(instance, 0.0)
    instance.fmu.reset()
    instance.start()
    assert instance.value("m1") == 1.0
    assert np.array_equal(instance.get("x1", "v1"), [0, 0])
    instance.fmu.reset()
    instance.start(F=2.0, m1=3.0, x1_start=0.4)
    assert np.array_equal(run(instance, 0.0), first)


@VERSIONS
def test_instances_do_not_disturb_each_other(make, version):
    alone = run(make("System1", version).start(x1_start=0.1), 0.0)
    one, two = make("System1", version).start(x1_start=0.1), make("System1", version).start(m1=9.0)
    trace = []
    for k in range(20):
        trace.append(run(one, k * 0.01, steps=1)[0])
        run(two, k * 0.01, steps=1)
    assert np.array_equal(trace, alone)


@VERSIONS
def test_instances_run_in_parallel_threads(make, version):
    """ctypes releases the interpreter's lock during calls, so the steps do overlap."""
    instances = [make("System1", version).start(m1=1.0 + k % 2) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        traces = list(pool.map(lambda instance: run(instance, 0.0, steps=100), instances))
    for k in range(2, 8):
        assert np.array_equal(traces[k], traces[k % 2])
