"""Texts and bytes that are another at each step: they are in the file, and memory forgets them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import pytest
from fmpy.fmi3 import FMU3Slave

import ssptool
from ssptool import read_trace
from ssptool.engine.run import execution
from ssptool.engine.run.recorder import Recording
from tests.engine.running import run
from tests.engine.test_types import Folder
from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("changing.c")
SIZE = 1024
DESCRIPTION = """<fmiModelDescription fmiVersion="3.0" modelName="changing" instantiationToken="changing">
<CoSimulation modelIdentifier="changing"/><ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
<Binary name="y" valueReference="1" causality="output" variability="discrete"/></ModelVariables>
<ModelStructure><Output valueReference="1"/></ModelStructure></fmiModelDescription>"""
SYSTEM = """<ssd:SystemStructureDescription version="2.0" name="Changing"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"><ssd:System name="Changing"><ssd:Elements>
<ssd:Component name="A" type="application/x-fmu-sharedlibrary" source="changing.fmu"><ssd:Connectors>
<ssd:Connector name="y" kind="output"/></ssd:Connectors></ssd:Component>
</ssd:Elements></ssd:System></ssd:SystemStructureDescription>"""
MEASURED = """
import re, sys
import ssptool
from pathlib import Path
folder, output, steps = sys.argv[1:]
rows = dict(output=Path(output, "run.csv"), keep=False, every=1000)
settings = ssptool.Settings(stop_time=float(steps), step_size=1.0)
assert ssptool.simulate(folder, settings=settings, isolated=False, **rows).ok
# Not what `getrusage` says: that begins with the memory of the process that started this one.
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changing")
    library = build_model(folder / "changing.so", SOURCE, FMU3Slave)
    with zipfile.ZipFile(folder / "changing.fmu", "w") as fmu:
        fmu.writestr("modelDescription.xml", DESCRIPTION)
        fmu.write(library, f"binaries/{PLATFORM[3]}/changing{fmpy.sharedLibraryExtension}")
    (folder / "SystemStructure.ssd").write_text(SYSTEM)
    return folder


def simulated(folder, steps, **options):
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=float(steps), step_size=1.0))
    return run(plan, Folder(folder), **options)


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "here"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "h5"])
@pytest.mark.parametrize("every", [1, 7])
def test_what_memory_forgets_is_in_the_file(folder, tmp_path, monkeypatch, ending, every, isolated):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(execution, "FORGET_BYTES", 20 * SIZE)
    monkeypatch.setattr(execution, "FIRST_CHUNK", 10)
    monkeypatch.setattr(execution, "CHUNK_GROWTH", 1)
    recording = Recording(tmp_path / f"run.{ending}", keep=False, every=every)
    assert simulated(folder, 500, recording=recording, isolated=isolated).ok
    trace = read_trace(recording.output)
    assert [int.from_bytes(content[:8], sys.byteorder) for content in trace["A.y"]] == [int(t) for t in trace.t]
    assert {len(content) for content in trace["A.y"]} == {SIZE}


def test_a_trace_in_memory_has_all(folder, monkeypatch):
    monkeypatch.setattr(execution, "FORGET_BYTES", 0)
    trace = simulated(folder, 200).unwrap()
    assert len(set(trace["A.y"])) == 201


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_number_of_contents(folder, tmp_path_factory):
    """240 000 contents of 1 KiB beside 60 000, which are many times what is kept at once: 184 MB more, if all were."""
    used = [
        int(
            subprocess.run(
                [sys.executable, "-c", MEASURED, folder, tmp_path_factory.mktemp("run"), steps],
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )
        for steps in ("60000", "240000")
    ]
    assert used[1] - used[0] < 40e6
