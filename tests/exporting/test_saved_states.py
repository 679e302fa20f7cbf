"""States of exported systems: saved, set again, turned into bytes and back, with the same bits afterwards."""

import struct
import subprocess
import sys

import pytest
from fmpy.fmi1 import FMICallException

from ssptool.fmu.read_description import read_description
from tests.exporting.fmus import SYSTEMS, exported, initialize, instance, real, set_real, set_up

SYSTEM = SYSTEMS / "rotational_spring_mass_damper"
OUTPUTS = ["inertia1.phi", "inertia1.w", "spring2.tau_a"]


@pytest.fixture(scope="module", params=["auto", "jacobi"])
def fmu(request, fmi, tmp_path_factory):
    """Iterated with IQN-ILS, and stepped with extrapolated inputs."""
    return exported(SYSTEM, tmp_path_factory.mktemp("states"), master=request.param, expose=["*"], fmi=fmi)


def run(slave, begin, count, step=0.003, outputs=OUTPUTS):
    """Outputs after each of some steps from there, of which every third one is filled by a shortened macro step."""
    found = []
    for number in range(count):
        slave.doStep(begin + number * step, step)
        found.append([real(slave, name) for name in outputs])
    return found


def test_what_follows_a_state_follows_it_again(fmu, tmp_path):
    offered = read_description(fmu).co_simulation
    assert offered.saves_state and offered.serializes_state
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        run(slave, 0.0, 20)
        state = slave.getFMUState()
        first = run(slave, 0.06, 30)
        slave.setFMUState(state)
        assert run(slave, 0.06, 30) == first
        slave.setFMUState(state)
        slave.reset()
        slave.setFMUState(state)  # of a phase that the instance has left
        assert run(slave, 0.06, 30) == first
        slave.freeFMUState(state)


def test_a_state_of_initialization_mode(fmu, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "inertia1.J", 2.0)
        set_up(slave)
        state = slave.getFMUState()
        slave.exitInitializationMode()
        first = run(slave, 0.0, 10)
        slave.setFMUState(state)
        slave.exitInitializationMode()
        assert run(slave, 0.0, 10) == first
        slave.freeFMUState(state)


_GO_ON = """
import sys
from pathlib import Path
from tests.exporting.fmus import instance
from tests.exporting.test_saved_states import run
fmu, folder, state = map(Path, sys.argv[1:])
with instance(fmu, folder) as slave:
    found = slave.deserializeFMUState(state.read_bytes())
    slave.setFMUState(found)
    print(run(slave, 0.06, 30))
"""


def test_a_state_goes_on_in_another_process(fmu, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        run(slave, 0.0, 20)
        state = slave.getFMUState()
        (tmp_path / "state").write_bytes(slave.serializeFMUState(state))
        first = run(slave, 0.06, 30)
        slave.freeFMUState(state)
    command = [sys.executable, "-c", _GO_ON, fmu, tmp_path / "other", tmp_path / "state"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(first)


@pytest.mark.parametrize("spoil", [lambda b: b[:-20], lambda b: b"x" + b, lambda b: b[:40] + b"\xff" * 8 + b[48:]])
def test_bytes_that_are_no_state_are_refused(fmu, spoil, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        state = slave.getFMUState()
        content = slave.serializeFMUState(state)
        with pytest.raises(FMICallException, match=r"(?i)fmi.deserialize"):
            slave.deserializeFMUState(spoil(content))


def test_a_value_of_no_kind_is_refused(fmu, tmp_path):
    """A value that the importer has set stands behind the number of its kind."""
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "inertia1.J", 2.25)
        set_up(slave)
        content = slave.serializeFMUState(slave.getFMUState())
        value, damaged = (struct.pack("<QQd", 1, kind, 2.25) for kind in (0, 33))
        assert content.count(value) == 1
        with pytest.raises(FMICallException, match=r"(?i)fmi.deserialize"):
            slave.deserializeFMUState(content.replace(value, damaged))
        slave.setFMUState(slave.deserializeFMUState(content))
