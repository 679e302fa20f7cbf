"""A system that `simulate` keeps open between calls is never staler than one that is opened anew."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ssptool
from ssptool.api import kept_systems
from ssptool.documents.archive import Archive
from ssptool.documents.unchanged import FileMark
from ssptool.engine.run import system as run_system
from ssptool.exceptions import InvalidSystem
from ssptool.tempfiles import TemporaryFolder
from tests.engine.dual_mass import RESOURCES
from tests.engine.systems import write_system
from tests.fmu import diary_fmu

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the FMU needs POSIX")

SSV = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="p">
<ssv:Parameters><ssv:Parameter name="{name}"><ssv:Real value="{value}"/></ssv:Parameter></ssv:Parameters>
</ssv:ParameterSet>
"""
BINDING = '<ssd:ParameterBindings><ssd:ParameterBinding source="{source}"/></ssd:ParameterBindings>'


@pytest.fixture
def fmus(tmp_path):
    """FMUs of equal size with gains 1 and 2."""
    found = {}
    for gain in (1, 2):
        scratch = tmp_path / f"build{gain}"
        scratch.mkdir()
        found[gain] = diary_fmu.build(scratch / "diary.fmu", scratch, gain)
    assert found[1].stat().st_size == found[2].stat().st_size
    return found


@pytest.fixture
def system(tmp_path, fmus):
    """A folder with one component, which takes its parameters from a file."""
    folder = write_system(tmp_path / "system", fmus[1].parent, {"A": "diary"}, [], 0.1)
    bound(folder, "resources/p.ssv")
    (folder / "resources/p.ssv").write_text(SSV.format(name="A.factor", value="2.0"))
    return folder


def bound(folder: Path, source: str, file: str = "SystemStructure.ssd") -> None:
    ssd = folder / file
    text = re.sub("<ssd:ParameterBindings>.*</ssd:ParameterBindings>", "", ssd.read_text())
    ssd.write_text(text.replace("<ssd:Elements>", BINDING.format(source=source) + "<ssd:Elements>"))


def run(system, **options):
    options.setdefault("start_values", {})
    return ssptool.simulate(system, step_size=0.1, stop_time=0.1, accuracy="off", **options)


def warm(system, **options) -> None:
    """Until the system is kept."""
    for _ in range(4):
        run(system, **options)
    assert kept() is not None


def kept():
    return next(reversed(kept_systems._systems._idle.values()), None)


def factor(system, **options) -> float:
    return float(run(system, **options)["A.told"][0])


def gain(system, **options) -> float:
    return float(run(system, **options)["A.gain"][0])


def rewritten(path: Path, content: bytes) -> None:
    """Write a file in place such that size, inode and the time of the content stay."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def without_ticks(monkeypatch) -> None:
    """A file system whose clock stands still: all files have the time of the present tick."""
    told, tick = FileMark.told, time.time_ns()

    def timeless(found):
        return told(found)._replace(modified_ns=tick, changed_ns=tick)

    monkeypatch.setattr(FileMark, "told", timeless)


def test_a_system_is_used_again(system):
    warm(system)
    opened = kept().opened
    assert run(system).ok
    assert kept().opened is opened


def test_an_edit_of_the_system_is_seen(system):
    (system / "resources/q.ssv").write_text(SSV.format(name="A.factor", value="7.0"))
    warm(system)
    assert factor(system) == 2
    bound(system, "resources/q.ssv")
    assert factor(system) == 7


def test_an_edit_of_a_parameter_file_is_seen(system):
    warm(system)
    for value in range(3, 9):
        (system / "resources/p.ssv").write_text(SSV.format(name="A.factor", value=f"{value}.0"))
        assert factor(system) == value


def test_an_edit_in_the_same_tick_of_the_clock_is_seen(system, monkeypatch):
    without_ticks(monkeypatch)
    warm(system)
    for value in range(3, 9):
        rewritten(system / "resources/p.ssv", SSV.format(name="A.factor", value=f"{value}.0").encode())
        assert factor(system) == value


def test_an_fmu_written_in_the_same_tick_of_the_clock_is_seen(system, fmus, monkeypatch):
    without_ticks(monkeypatch)
    warm(system)
    for wanted in (2, 1, 2):
        rewritten(system / "resources/diary.fmu", fmus[wanted].read_bytes())
        assert gain(system) == wanted


def test_another_model_description_of_the_same_size_and_time_is_seen(system, monkeypatch):
    """It gives the output `visits` the reference of `gain`."""
    without_ticks(monkeypatch)
    warm(system)
    fmu = system / "resources/diary.fmu"
    repacked = system.parent / "repacked.fmu"
    with diary_fmu.zipfile.ZipFile(fmu) as old, diary_fmu.zipfile.ZipFile(repacked, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info, content.replace(b'"visits" valueReference="2"', b'"visits" valueReference="0"'))
    rewritten(fmu, repacked.read_bytes())
    assert run(system)["A.visits"][0] == 1


@pytest.mark.parametrize("wanted", [2, 1])
def test_an_fmu_replaced_by_rename_is_seen(system, fmus, wanted):
    warm(system)
    other = system.parent / "other.fmu"
    shutil.copy2(fmus[wanted], other)
    other.replace(system / "resources/diary.fmu")
    assert gain(system) == wanted


def test_a_packed_system_replaced_or_rewritten_is_seen(system, tmp_path, monkeypatch):
    without_ticks(monkeypatch)
    package = tmp_path / "packed.ssp"

    def pack(value: str) -> bytes:
        (system / "resources/p.ssv").write_text(SSV.format(name="A.factor", value=value))
        with Archive.open(system) as archive:
            archive.save(tmp_path / "made.ssp")
        return (tmp_path / "made.ssp").read_bytes()

    contents = {value: pack(f"{value}.0") for value in (2, 3, 4)}
    package.write_bytes(contents[2])
    warm(package)
    if len(contents[2]) == len(contents[3]):
        rewritten(package, contents[3])
    else:
        package.write_bytes(contents[3])
    assert factor(package) == 3
    (tmp_path / "new.ssp").write_bytes(contents[4])
    (tmp_path / "new.ssp").replace(package)
    assert factor(package) == 4
    package.unlink()
    with pytest.raises(FileNotFoundError):
        run(package)


def test_a_file_that_disappears_or_appears_is_seen(system):
    warm(system)
    (system / "resources/p.ssv").rename(system / "resources/away.ssv")
    with pytest.raises(InvalidSystem):
        run(system)
    (system / "resources/away.ssv").rename(system / "resources/p.ssv")
    assert factor(system) == 2


def test_a_file_that_a_lone_system_has_looked_for_is_seen(tmp_path, fmus):
    """The missing file is beside the SSD, in a folder that is not searched."""
    folder = write_system(tmp_path / "lone", fmus[1].parent, {"A": "diary"}, [], 0.1)
    (folder / "beside").mkdir()
    (folder / "SystemStructure.ssd").rename(folder / "other.ssd")
    bound(folder, "beside/p.ssv", "other.ssd")
    lone = folder / "other.ssd"
    for _ in range(4):
        with pytest.raises(InvalidSystem):
            run(lone)
    (folder / "beside/p.ssv").write_text(SSV.format(name="A.factor", value="3.0"))
    warm(lone)
    assert factor(lone) == 3
    (folder / "beside/p.ssv").write_text(SSV.format(name="A.factor", value="4.0"))
    assert factor(lone) == 4
    (folder / "beside/p.ssv").unlink()
    with pytest.raises(InvalidSystem):
        run(lone)


def test_files_outside_are_seen_and_permission_to_read_them(system, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared.ssv").write_text(SSV.format(name="A.factor", value="3.0"))
    bound(system, "../shared.ssv")
    warm("system")
    assert factor("system") == 3
    (tmp_path / "shared.ssv").write_text(SSV.format(name="A.factor", value="4.0"))
    assert factor("system") == 4
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)  # the file is no longer in the working folder
    for _ in range(4):
        with pytest.raises(InvalidSystem):
            run(system)
    assert factor(system, allow_outside=tmp_path) == 4
    with pytest.raises(InvalidSystem):
        run(system)


def test_a_repository_that_appears_around_the_system_allows_its_files(system, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "shared.ssv").write_text(SSV.format(name="A.factor", value="3.0"))
    bound(system, "../shared.ssv")
    (tmp_path / ".git").mkdir()
    warm(system)
    (tmp_path / ".git").rmdir()
    with pytest.raises(InvalidSystem):
        run(system)


def test_relative_paths_name_other_systems_after_chdir(system, fmus, tmp_path, monkeypatch):
    other = tmp_path / "there"
    other.mkdir()
    shutil.copytree(system, other / "system")
    shutil.copy(fmus[2], other / "system/resources/diary.fmu")
    for _ in range(4):
        monkeypatch.chdir(tmp_path)
        assert gain("system") == 1
        monkeypatch.chdir(other)
        assert gain("system") == 2


def test_a_link_that_leads_elsewhere_is_seen(system, fmus, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(system, other)
    shutil.copy(fmus[2], other / "resources/diary.fmu")
    link = tmp_path / "link"
    link.symlink_to(system)
    warm(link)
    assert gain(link) == 1
    link.unlink()
    link.symlink_to(other)
    assert gain(link) == 2


def test_a_linked_parameter_file_is_seen(system):
    for name, value in (("one", "3.0"), ("two", "4.0")):
        (system / f"resources/{name}.ssv").write_text(SSV.format(name="A.factor", value=value))
    link = system / "resources/p.ssv"
    link.unlink()
    link.symlink_to("one.ssv")
    warm(system)
    link.unlink()
    link.symlink_to("two.ssv")
    assert factor(system) == 4
    (system / "resources/two.ssv").write_text(SSV.format(name="A.factor", value="5.0"))
    assert factor(system) == 5


def test_given_values_files_and_settings_count_at_each_call(system, tmp_path):
    file = tmp_path / "given.ssv"
    warm(system)
    for value in (5, 6, 5):
        assert factor(system, start_values={"A.factor": float(value)}) == value
        file.write_text(SSV.format(name="A.factor", value=f"{value + 10}.0"))
        assert factor(system, parameters=file) == value + 10
        assert factor(system) == 2
    assert len(run(system).t) == 2
    assert len(ssptool.simulate(system, step_size=0.05, stop_time=0.1, accuracy="off").t) == 3


@pytest.mark.skipif(not (RESOURCES / "System1.fmu").exists(), reason="the FMUs are not built: make setup")
def test_accepted_findings_count_at_each_call(tmp_path):
    system = shutil.copytree(RESOURCES.parent, tmp_path / "twice")
    ssd = system / "SystemStructure.ssd"
    force = '<ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'
    ssd.write_text(ssd.read_text().replace(force, force.replace("/>", ' suppressUnitConversion="true"/>') + force))
    for _ in range(4):
        with pytest.raises(InvalidSystem) as refused:
            run(system)
    codes = list(refused.value.accept)
    assert codes
    warm(system, accept=codes)
    assert run(system, accept=codes).overrides
    with pytest.raises(InvalidSystem):
        run(system)


def test_the_library_of_each_run_is_fresh(system):
    for _ in range(6):
        assert run(system)["A.loads"][0] == 1


def test_a_library_that_stays_loaded_is_not_used_again(system, tmp_path):
    diary_fmu.build(system / "resources/diary.fmu", tmp_path, 1, "-DKEEPS_ITSELF")
    for _ in range(6):
        assert run(system)["A.loads"][0] == 1


def test_a_folder_that_an_fmu_has_written_to_is_not_used_again(system):
    for _ in range(6):
        result = run(system, start_values={"A.writes": 1.0})
        assert result.ok, result.failure
        assert result["A.visits"][-1] == 1
    assert run(system)["A.visits"][-1] == 0


def test_threads_have_systems_of_their_own(system):
    ready = threading.Barrier(4)

    def several(number: int) -> list[float]:
        ready.wait()
        return [factor(system, start_values={"A.factor": 1.0 + number}) for _ in range(8)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(several, range(4))) == [[1.0 + number] * 8 for number in range(4)]


def test_a_run_inside_a_run_has_a_system_of_its_own(system):
    warm(system)
    inner = []
    run(system, progress=lambda _: inner.append(factor(system)) if not inner else None)
    assert inner == [2]
    assert factor(system) == 2


def test_few_systems_are_kept(system, tmp_path):
    places = [shutil.copytree(system, tmp_path / f"copy{number}") for number in range(kept_systems.MOST_SYSTEMS + 3)]
    for place in places:
        warm(place)
    assert len(kept_systems._systems._idle) == kept_systems.MOST_SYSTEMS


SCRIPT = """
import os, signal, sys
import ssptool
def run():
    result = ssptool.simulate({system!r}, step_size=0.1, stop_time=0.1, accuracy="off")
    return float(result["A.gain"][0])
def folders():
    return sorted(os.listdir({place!r}))
for _ in range(4):
    assert run() == 1
assert folders()
"""


def in_a_process(system: Path, place: Path, more: str) -> subprocess.CompletedProcess[str]:
    place.mkdir()
    code = SCRIPT.format(system=str(system), place=str(place)) + textwrap.dedent(more)
    environment = {**os.environ, "TMPDIR": str(place)}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_folders_are_removed_at_the_end(system, tmp_path):
    done = in_a_process(system, tmp_path / "temporary", "")
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "temporary").iterdir())


def test_the_folders_of_an_ended_process_are_removed_by_the_next(system, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    done = in_a_process(system, place, "os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode < 0
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with TemporaryFolder():
        pass
    assert not list(place.iterdir())


def test_a_fork_leaves_the_folders_to_its_parent(system, tmp_path):
    """The child runs the system too, and ends as a program does."""
    done = in_a_process(
        system,
        tmp_path / "temporary",
        """
        before = folders()
        child = os.fork()
        if child == 0:
            for _ in range(4):
                assert run() == 1
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert folders() == before, folders()
        assert run() == 1
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.skipif(not (RESOURCES / "System1.fmu").exists(), reason="the FMUs are not built: make setup")
def test_a_kept_system_gives_the_same_bits():
    def rows():
        result = ssptool.simulate(RESOURCES.parent, stop_time=1, step_size=0.01, accuracy="off")
        return [result[name].tobytes() for name in result.trace.signals]

    first = rows()
    assert all(rows() == first for _ in range(4))


def test_a_single_fmu_is_kept_too(fmus, tmp_path):
    lone = tmp_path / "lone.fmu"
    shutil.copy(fmus[1], lone)
    warm(lone)
    result = run(lone)
    assert result["lone.gain"][0] == 1
    shutil.copy(fmus[2], lone)
    assert run(lone)["lone.gain"][0] == 2


def test_a_plan_is_loaded_once_for_runs_with_the_same_values(system, monkeypatch):
    """A system is kept from its second use on; the second run of it loads nothing, and gives the same."""
    loaded, load = [], run_system.native_system
    monkeypatch.setattr(run_system, "native_system", lambda plan: loaded.append(1) or load(plan))
    results, counts = [], []
    for _ in range(4):
        results.append(ssptool.simulate(system, stop_time=1.0, accuracy="off"))
        counts.append(len(loaded))
    assert counts[1:] == [counts[1]] * 3
    for one in results[1:]:
        assert (one.trace.cells == results[0].trace.cells).all() and one.notes == results[0].notes
    other = ssptool.simulate(system, stop_time=1.0, accuracy="off", start_values={"A.factor": 3.0})
    assert len(loaded) == counts[-1] + 1 and other.ok
