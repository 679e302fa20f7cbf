"""Binary variables: bytes of any value and number, between parts, from and to importers, in saved states."""

import ctypes
import sys
import zipfile
from pathlib import Path

import fmpy
import fmpy.validation
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Slave

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.fmu.read_description import read_description
from tests.engine.event_mode.systems import write_system
from tests.engine.test_contents import DESCRIPTION, SOURCE, SYSTEM
from tests.exporting.fmus import Messages, exported, initialize, instance
from tests.fmu.building import PLATFORM, build_model

MIME = "application/x-bytes"
STEP = {"step_size": 0.25}
WITH_ZEROS = b"\x00\xff\x00 \x80"


@pytest.fixture
def chain(models, tmp_path):
    """Each part appends the number of its steps; the system has the first input and the last output."""
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Binary mime-type="{MIME}"/></ssd:Connector>'
        for name, kind in (("in", "input"), ("out", "output"))
    )
    wires = [(".in", "A.in"), ("A.out", "B.in"), ("B.out", ".out")]
    parts = {"A": "fmi3/Message", "B": "fmi3/Message"}
    return write_system(tmp_path / "system", models.parent, parts, wires, connectors=connectors)


def get(slave, name="out"):
    return slave.getBinary([slave.references[name]])[0]


def put(slave, content, name="in"):
    slave.setBinary([slave.references[name]], [content])


def test_bytes_travel_as_they_are(chain, tmp_path):
    fmu = exported(chain, tmp_path, **STEP, fmi=3, expose=["A.out"])
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    with instance(fmu, tmp_path / "unpacked") as slave:
        put(slave, b"\x07")
        assert get(slave, "in") == b"\x07"
        initialize(slave)
        assert get(slave) == b"\x07\x00\x00"
        put(slave, WITH_ZEROS)
        assert get(slave) == WITH_ZEROS + b"\x00\x00"
        slave.doStep(0.0, 0.25)
        assert get(slave, "A.out") == WITH_ZEROS + b"\x01"
        assert get(slave) == WITH_ZEROS + b"\x01\x01"
        put(slave, b"x" * 50)
        slave.doStep(0.25, 0.25)
        assert get(slave) == b"x" * 50 + b"\x02\x02"


def test_the_same_bytes_as_a_run(chain, tmp_path):
    run = ssptool.simulate(chain, settings=ssptool.Settings(**STEP)).unwrap()
    fmu = exported(chain, tmp_path, **STEP, fmi=3)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        found = [get(slave)]
        for step in range(4):
            slave.doStep(step * 0.25, 0.25)
            found.append(get(slave))
    assert found == list(run["out"])


def test_the_description_has_the_type_of_the_bytes(chain, tmp_path):
    found = read_description(exported(chain, tmp_path, **STEP, fmi=3, expose=["B.in"])).variables
    assert {name: one.type for name, one in found.items() if name != "time"} == dict.fromkeys(
        ("in", "out", "B.in"), "Binary"
    )
    stated = read_description(chain / "resources" / "fmi3-Message.fmu").variables["in"].mime_type
    assert stated and {found[name].mime_type for name in ("in", "B.in")} == {stated}


def test_a_saved_state_has_the_bytes_with_it(chain, tmp_path):
    fmu = exported(chain, tmp_path, **STEP, fmi=3)
    if not read_description(fmu).co_simulation.serializes_state:
        pytest.skip("the FMUs of the parts do not save their states")
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        put(slave, WITH_ZEROS)
        slave.doStep(0.0, 0.25)
        state = slave.getFMUState()
        content = slave.serializeFMUState(state)
        put(slave, b"other")
        slave.doStep(0.25, 0.25)
        slave.setFMUState(state)
        assert get(slave) == WITH_ZEROS + b"\x01\x01" and get(slave, "in") == WITH_ZEROS
    with instance(fmu, tmp_path / "other") as slave:
        slave.setFMUState(slave.deserializeFMUState(content))
        slave.doStep(0.25, 0.25)
        assert get(slave) == WITH_ZEROS + b"\x02\x02"


def test_memory_forgets_bytes_that_are_in_no_signal_any_more(tmp_path):
    """40 MB in all, of which only the last kilobyte is needed."""
    library = build_model(tmp_path / "changing.so", SOURCE, FMU3Slave)
    folder = tmp_path / "system"
    folder.mkdir()
    with zipfile.ZipFile(folder / "changing.fmu", "w") as fmu:
        fmu.writestr("modelDescription.xml", DESCRIPTION)
        fmu.write(library, f"binaries/{PLATFORM[3]}/changing{fmpy.sharedLibraryExtension}")
    (folder / "SystemStructure.ssd").write_text(SYSTEM)
    fmu = exported(folder, tmp_path, step_size=1.0, stop_time=1.0, fmi=3)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, 100.0)
        before = _memory()
        slave.doStep(100.0, 40_000.0)
        assert int.from_bytes(get(slave, "A.y")[:8], sys.byteorder) == 40_100
        assert _memory() - before < 20_000_000


def _memory():
    """Bytes that the process holds; a sanitizer, which keeps what was freed for a while, tells what is still in use."""
    sanitizer = getattr(ctypes.CDLL(None), "__sanitizer_get_current_allocated_bytes", None)
    if sanitizer is None:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    sanitizer.restype = ctypes.c_size_t
    return sanitizer()


def test_a_nested_export_keeps_bytes(chain, models, tmp_path):
    inner = exported(chain, tmp_path, **STEP, fmi=3)
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    (fmus / "inner.fmu").write_bytes(inner.read_bytes())
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Binary mime-type="{MIME}"/></ssd:Connector>'
        for name, kind in (("in", "input"), ("out", "output"))
    )
    wires = [(".in", "A.in"), ("A.out", "B.in"), ("B.out", ".out")]
    folder = write_system(tmp_path / "outer", fmus, {"A": "inner", "B": "inner"}, wires, connectors=connectors)
    fmu = exported(folder, tmp_path, **STEP, fmi=3)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        put(slave, WITH_ZEROS)
        slave.doStep(0.0, 0.25)
        assert get(slave) == WITH_ZEROS + b"\x01" * 4


def test_fmi_2_has_no_bytes(chain, tmp_path):
    with pytest.raises(Unsupported, match=r"variable in: variables of type Binary.*FMI 2.0.*--fmi 3"):
        exported(chain, tmp_path, **STEP)


def test_bytes_between_parts_of_an_fmu_of_fmi_2(models, tmp_path):
    """No variable of the FMU is binary, only signals inside: the length of what B gets."""
    wires = [("A.out", "B.in")]
    folder = write_system(tmp_path / "system", models.parent, {"A": "fmi3/Message", "B": "fmi3/Message"}, wires)
    fmu = exported(folder, tmp_path, **STEP, expose=["B.length"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, 0.25)
        assert slave.getInteger([slave.references["B.length"]]) == [1]


def test_a_number_is_not_got_as_bytes(chain, tmp_path):
    said = Messages()
    with instance(exported(chain, tmp_path, **STEP, fmi=3), tmp_path / "unpacked", said) as slave:
        initialize(slave)
        with pytest.raises(FMICallException, match="fmi3GetBinary"):
            get(slave, "time")
    assert said[0][2] == "fmi3GetBinary: time is of type Float64, not Binary"
