"""Parts that disturb each other in one process: an FMU that is to be there once, and Python modules of one name."""

import re
import shutil
import zipfile

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.systems import write_system
from tests.exporting.fmus import RESOURCES
from tests.foreign.generators import python_fmu
from tests.systems.peers import where_wheels_are


def once_per_process(fmu, target):
    """The same FMU, which says that there may be one instance of it in a process."""
    with zipfile.ZipFile(fmu) as whole, zipfile.ZipFile(target, "w") as changed:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "modelDescription.xml":
                once = b'<CoSimulation canBeInstantiatedOnlyOncePerProcess="true"'
                content = re.sub(rb'canBeInstantiatedOnlyOncePerProcess="\w+"', b"", content)
                content = content.replace(b"<CoSimulation", once)
            changed.writestr(name, content)


@pytest.mark.parametrize("second", ["One", "Copy"])
def test_an_fmu_that_can_be_there_once_is_used_once_whatever_its_file_is_called(second, fmi, tmp_path):
    folder = tmp_path / "fmus"
    folder.mkdir()
    once_per_process(RESOURCES / "System1.fmu", folder / "One.fmu")
    shutil.copy(folder / "One.fmu", folder / "Copy.fmu")
    system = write_system(tmp_path / "twice", folder, {"A": "One", "B": second}, [])
    with pytest.raises(Unsupported, match=r"component B: .*canBeInstantiatedOnlyOncePerProcess"):
        ssptool.export(system, tmp_path / "twice.fmu", fmi=fmi)
    assert not (tmp_path / "twice.fmu").exists()


@where_wheels_are
@pytest.mark.parametrize("version", [2, 3])
def test_fmus_from_python_with_modules_of_one_name_are_refused(version, fmi, tmp_path):
    for name in ("Wave", "Half"):
        python_fmu(name, version, tmp_path / name, module="model")
        shutil.move(tmp_path / name / f"{name}.fmu", tmp_path)
    system = write_system(tmp_path / "row", tmp_path, {"Wave": "Wave", "Half": "Half"}, [("Wave.y", "Half.u")])
    with pytest.raises(Unsupported, match=r"component Half: .*Python module named model.*in one process"):
        ssptool.export(system, tmp_path / "row.fmu", fmi=fmi)


@pytest.mark.parametrize("setting", [{"threads": 2}, {"processes": "each"}, {"processes": 2}])
def test_threads_and_processes_are_refused_by_name(tmp_path, setting):
    """An importer loads one library, and calls it."""
    with pytest.raises(Unsupported, match="threads and processes are not supported in an exported FMU"):
        ssptool.export(RESOURCES.parent, tmp_path / "made.fmu", settings=setting)
    assert list(tmp_path.iterdir()) == []
