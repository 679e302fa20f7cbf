"""Binaries: refused before anything is loaded, loaded, instantiated, and read and written in all types."""

import math
import platform
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import fmpy
import numpy as np
import pytest

import ssptool
from ssptool.engine.kernel.calls import FUNCTIONS
from ssptool.errors import WrongValue
from ssptool.fmu.binary import load
from ssptool.fmu.description import UnreadableFmu, UnusableFmu
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_description_xml import _own_platform, library_entry, this_platform
from ssptool.fmu.processes import AVAILABLE
from ssptool.fmu.read_description import read_description
from tests.fmu.building import PLATFORM, build_shared
from tests.fmu.starting import enter_initialization, exit_initialization
from tests.fmu.typed_fmu import build_library, write_fmu

only_with_processes = pytest.mark.skipif(not AVAILABLE, reason="FMUs have processes of their own on Linux only")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("typed"))


@pytest.fixture(params=[2, 3], ids=["fmi2", "fmi3"])
def version(request):
    return request.param


@pytest.fixture
def fmu(tmp_path, library, version):
    return write_fmu(tmp_path / "typed.fmu", version, library)


@pytest.fixture
def fmi3_fmu(tmp_path, library):
    return write_fmu(tmp_path / "typed3.fmu", 3, library)


@pytest.fixture(params=["here", pytest.param("in a process of its own", marks=only_with_processes)])
def place(request):
    return request.param


@pytest.fixture
def binary(fmu, place):
    with load(fmu, read_description(fmu)) as unpacked:
        if place == "here":
            yield unpacked
        else:
            yield from elsewhere(unpacked)


def elsewhere(unpacked):
    """The same FMU in a process of its own."""
    from ssptool.fmu.processes.process import FmuProcess, RemoteBinary

    process = FmuProcess(1)
    with RemoteBinary(unpacked, process) as binary:
        yield binary
    process.end()


@pytest.fixture
def instance(binary):
    return binary.instantiate("A.B")


# -- values ----------------------------------------------------------------------------------------------------

FMI2_VALUES = {
    "Real0": -1.5e300,
    "Real1": 5e-324,
    "Integer0": 2**31 - 1,
    "Integer1": -(2**31),
    "Boolean0": True,
    "String0": "Größe ½",
    "Enumeration0": 2,
}
FMI3_VALUES = {
    "Float64_0": math.pi,
    "Float32_0": float(np.float32(0.1)),
    **{f"Int{bits}_0": -(2 ** (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}_0": 2**bits - 1 for bits in (8, 16, 32, 64)},
    "Boolean_0": True,
    "String_0": "Größe ½",
    "Binary_0": b"\x00\xff\x00",
    "Enumeration_0": 2,
}
VALUES = {2: FMI2_VALUES, 3: {name.replace("_", ""): value for name, value in FMI3_VALUES.items()}}


def test_every_type_keeps_its_extreme_values(instance, version):
    """Largest integers of 64 bits and strings would not survive a trip through double."""
    values = VALUES[version]
    instance.set(values)
    read = instance.get(values)
    assert read == values
    assert {name: type(value) for name, value in read.items()} == {n: type(v) for n, v in values.items()}
    assert list(read) == list(values)


def test_instances_of_one_binary_are_independent(binary):
    first, second = binary.instantiate("first"), binary.instantiate("second")
    first.set({"Integer0": 1})
    second.set({"Integer0": 2})
    assert (first.get(["Integer0"]), second.get(["Integer0"])) == ({"Integer0": 1}, {"Integer0": 2})
    assert first.component != second.component
    first.free()
    assert second.get(["Integer0"]) == {"Integer0": 2}


@pytest.mark.parametrize(
    ("name", "value"),
    [("Integer0", 1.0), ("Integer0", True), ("Boolean0", 1), ("String0", b"x"), ("start", "1.0"), ("start", True)],
)
def test_a_value_of_another_type_is_refused(instance, name, value):
    with pytest.raises(TypeError, match=name):
        instance.set({name: value})


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_an_integer_out_of_range_is_refused_instead_of_wrapped(instance, value):
    with pytest.raises(WrongValue, match=f"Integer0 = {value}"):
        instance.set({"Integer0": value})


def test_a_variable_that_does_not_exist_is_named(instance):
    with pytest.raises(KeyError, match=r"A\.B.*nonsense"):
        instance.get(["nonsense"])


@pytest.mark.parametrize("name", ["array", "clock"])
def test_what_is_not_supported_is_refused_by_name(fmi3_fmu, name):
    with load(fmi3_fmu, read_description(fmi3_fmu)) as binary, pytest.raises(TypeError, match=name):
        binary.instantiate("A").get([name])


# -- life ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stop", "tolerance"), [(10.0, 1e-6), (None, None)])
def test_the_experiment_reaches_the_fmu(instance, stop, tolerance):
    enter_initialization(instance, 1.5, stop, tolerance)
    told = instance.get(["start", "stop_defined", "tolerance_defined", "stop", "tolerance"])
    assert (told["start"], told["stop_defined"], told["tolerance_defined"]) == (1.5, stop is not None, stop is not None)
    if stop is not None:
        assert (told["stop"], told["tolerance"]) == (stop, tolerance)


def test_the_callback_and_its_environment_reach_an_fmi3_fmu(fmi3_fmu):
    with load(fmi3_fmu, read_description(fmi3_fmu)) as binary:
        instance = binary.instantiate(
            "A", environment=0xABC0, intermediate_update=0xDEF0, required_inputs=["Float640", "Int80"]
        )
        told = instance.get(["environment", "callback", "required"])
        assert told == {"environment": 0xABC0, "callback": 0xDEF0, "required": 102}  # references 1 and 2
        plain = binary.instantiate("B").get(["environment", "callback", "required"])
        assert plain.pop("environment") not in (0, 0xABC0)  # by which its messages are told apart from all others
        assert plain == {"callback": 0, "required": 0}


def test_the_function_table_has_what_a_kernel_needs(instance, version):
    addresses = [instance.functions[name] for name in FUNCTIONS[version]]
    assert all(addresses)
    assert len(set(addresses)) == len(addresses)


def test_the_unpacked_files_are_private_and_removed(fmu):
    description = read_description(fmu)
    first, second = load(fmu, description), load(fmu, description)
    assert first.folder != second.folder
    assert (first.folder / "resources/data.txt").read_text() == "data"
    first.instantiate("A")
    for binary in (first, second):
        binary.close()
        binary.close()
        assert not binary.folder.exists()


def test_an_unpacked_folder_is_used_as_it_is(fmu, tmp_path):
    folder = tmp_path / "unpacked"
    fmpy.extract(fmu, folder)
    with load(folder, read_description(folder)) as binary:
        binary.instantiate("A").set({"Integer0": 1})
    assert (folder / "modelDescription.xml").exists()


def test_closing_frees_the_instances(fmu):
    with load(fmu, read_description(fmu)) as binary:
        instance = binary.instantiate("A")
    assert instance.messages[-1].endswith("freed")
    with pytest.raises(ValueError, match="A: the instance was freed"):
        instance.get(["Integer0"])


def test_an_instance_terminates_and_frees_itself_once(binary):
    with binary.instantiate("A") as instance:
        enter_initialization(instance)
        exit_initialization(instance)
    instance.terminate()
    instance.free()
    assert [message for message in instance.messages if "freed" in message] == ["ok: freed"]


# -- bad news --------------------------------------------------------------------------------------------------


def test_a_failing_function_is_reported_with_what_the_fmu_said(instance, version):
    with pytest.raises(FmiError) as caught:
        instance.set({"Integer0": 13})
    error = caught.value
    assert (error.instance, error.status) == ("A.B", 3)
    assert error.function == ("fmi2SetInteger" if version == 2 else "fmi3SetInt32")
    said = "Int32 does not like 13 (0.50)" if version == 2 else "Int32 does not like it"
    assert error.messages == (f"error (logStatus): {said}",)
    assert said in str(error)
    assert "returned error" in str(error)


def test_messages_belong_to_the_instance_that_sent_them(binary):
    first, second = binary.instantiate("first"), binary.instantiate("second")
    second.set({"Integer0": 15})
    assert first.messages == ()
    assert len(second.messages) == 1


def test_a_warning_is_no_error(instance):
    instance.set({"Integer0": 15})
    assert instance.messages[0].startswith("warning")


def test_after_fatal_nothing_is_called_any_more(instance):
    """FMI forbids even to free the instance then."""
    with pytest.raises(FmiError, match="fatal"):
        instance.set({"Integer0": 14})
    instance.free()
    assert not any("freed" in message for message in instance.messages)


def test_after_fatal_from_a_kernel_nothing_is_called_any_more(binary):
    with binary.instantiate("A") as instance:
        enter_initialization(instance)
        exit_initialization(instance)
        instance.set({"terminated_with": 13})
        instance.note(4)
    assert instance.messages == ()


def test_a_failing_termination_does_not_hide_the_error_before(binary):
    with pytest.raises(ZeroDivisionError), binary.instantiate("A") as instance:
        enter_initialization(instance)
        exit_initialization(instance)
        instance.set({"terminated_with": 13})
        raise ZeroDivisionError
    assert instance.messages[-1] == "ok: freed"


def test_a_failing_termination_is_reported(binary):
    with pytest.raises(FmiError, match="Terminate"), binary.instantiate("A") as instance:
        enter_initialization(instance)
        exit_initialization(instance)
        instance.set({"terminated_with": 13})
    assert instance.messages[-1] == "ok: freed"


def test_a_refused_instantiation_is_reported(binary):
    binary.description = replace(binary.description, token="{other}")
    with pytest.raises(FmiError) as caught:
        binary.instantiate("A")
    assert caught.value.function.startswith("fmi")
    assert "wrong" in caught.value.messages[0]


def test_a_missing_binary_is_reported_before_anything_is_unpacked(tmp_path, library, version, monkeypatch):
    fmu = write_fmu(tmp_path / "other.fmu", version, library, platform="other-platform")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with pytest.raises(ssptool.exceptions.MissingBinary) as caught:
        load(fmu, read_description(fmu))
    assert caught.value.present == ("other-platform",)
    assert caught.value.wanted == f"binaries/{PLATFORM[version]}/typed{fmpy.sharedLibraryExtension}"
    assert "other-platform" in str(caught.value)
    assert not list(scratch.iterdir())


def test_an_fmu_without_binaries_says_so(tmp_path, version):
    fmu = write_fmu(tmp_path / "none.fmu", version, None)
    with pytest.raises(ssptool.exceptions.MissingBinary, match="no binaries at all"):
        load(fmu, read_description(fmu))


def test_other_kinds_of_fmus_are_refused_by_name(fmu):
    description = read_description(fmu)
    with pytest.raises(UnusableFmu, match=r"model exchange of FMI 1\.0"):
        load(fmu, replace(description, fmi_version="1.0", co_simulation=None))
    without = replace(description, co_simulation=None)
    with pytest.raises(UnusableFmu, match="offers model exchange, but no co-simulation"):
        load(fmu, replace(without, model_exchange=description.co_simulation))
    with pytest.raises(UnusableFmu, match="offers scheduled execution, but"):
        load(fmu, replace(without, scheduled_execution=True))


def test_only_one_instance_where_the_fmu_allows_only_one(fmu):
    description = read_description(fmu)
    once = replace(description, co_simulation=replace(description.co_simulation, once_per_process=True))
    with load(fmu, once) as binary:
        binary.instantiate("first")
        with pytest.raises(UnusableFmu, match="canBeInstantiatedOnlyOncePerProcess"):
            binary.instantiate("second")


def test_a_broken_library_is_reported_and_the_working_directory_stays(tmp_path, version):
    fmu = write_fmu(tmp_path / "broken.fmu", version, b"this is not a library")
    here = Path.cwd()
    with load(fmu, read_description(fmu)) as binary, pytest.raises(UnusableFmu, match="broken"):
        binary.instantiate("A")
    assert Path.cwd() == here


def test_a_library_without_the_functions_of_fmi_is_reported(tmp_path, version):
    source = tmp_path / "empty.c"
    source.write_text("int nothing;")
    compiled = build_shared(tmp_path / "empty.so", source)
    fmu = write_fmu(tmp_path / "other.fmu", version, compiled)
    with load(fmu, read_description(fmu)) as binary, pytest.raises(UnusableFmu, match=f"fmi{version}"):
        binary.instantiate("A")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into ELF files")
def test_a_library_for_another_machine_is_named_as_that(tmp_path, library, version):
    """Byte 18 of an ELF file is the machine: 183 is aarch64, 62 is x86_64."""
    other, name = (62, "x86_64") if platform.machine() == "aarch64" else (183, "aarch64")
    content = bytearray(library.read_bytes())
    content[18] = other
    fmu = write_fmu(tmp_path / "foreign.fmu", version, bytes(content))
    with load(fmu, read_description(fmu)) as binary, pytest.raises(UnusableFmu) as caught:
        binary.instantiate("A")
    assert caught.value.reason.startswith(
        f"the binary cannot be loaded: it was built for {name}, but this machine is {platform.machine()};"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks into ELF files")
@pytest.mark.parametrize("kept", [64, 100, 4096], ids=["header", "segments", "page"])
def test_a_library_that_is_cut_off_is_not_loaded(tmp_path, library, version, kept):
    """Loading it would end the process (SIGBUS)."""
    fmu = write_fmu(tmp_path / "cut.fmu", version, library.read_bytes()[:kept])
    with load(fmu, read_description(fmu)) as binary, pytest.raises(UnusableFmu, match=f"truncated.* has {kept};"):
        binary.instantiate("A")


@pytest.mark.skipif(sys.platform != "linux", reason="in the words of Linux's loader")
def test_a_library_that_needs_another_one_names_it(tmp_path, version):
    for name in ("needed", "needing"):
        (tmp_path / f"{name}.c").write_text("int here;")
    needed = tmp_path / "libnotinstalled.so"
    build_shared(needed, tmp_path / "needed.c")
    options = ["-Wl,--no-as-needed", f"-L{tmp_path}", "-lnotinstalled"]
    compiled = build_shared(tmp_path / "needing.so", tmp_path / "needing.c", *options)
    fmu = write_fmu(tmp_path / "needing.fmu", version, compiled.read_bytes())
    with load(fmu, read_description(fmu)) as binary, pytest.raises(UnusableFmu) as caught:
        binary.instantiate("A")
    assert caught.value.reason.startswith(
        "the binary cannot be loaded: it needs the library libnotinstalled.so, which was not found"
    )


def test_the_only_library_is_used_whatever_its_name_is(tmp_path, fmu, version):
    """Zipped and unpacked; where there are two, nobody knows which one it is."""
    renamed, unpacked = tmp_path / "renamed.fmu", tmp_path / "unpacked"
    with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(renamed, "w") as new:
        for name in old.namelist():
            new.writestr(name.replace("typed.", "other."), old.read(name))
        old_name = next(name for name in old.namelist() if name.startswith("binaries/"))
    with zipfile.ZipFile(renamed) as archive:
        archive.extractall(unpacked)
    for path in (renamed, unpacked):
        with load(path, read_description(path)) as binary:
            assert binary.instantiate("A").component
    with zipfile.ZipFile(renamed, "a") as archive:
        archive.writestr(old_name.replace("typed.", "second."), b"")
    with pytest.raises(ssptool.exceptions.MissingBinary, match="typed"):
        load(renamed, read_description(renamed))


@pytest.mark.parametrize("major", [1, 2, 3])
def test_this_platform_has_the_name_that_fmpy_knows(major):
    assert this_platform(major) == PLATFORM[major]
    assert library_entry(major, "m") == f"binaries/{PLATFORM[major]}/m{fmpy.sharedLibraryExtension}"


@pytest.fixture
def other_machine(monkeypatch):
    """Another machine than x86, which FMI 2.0 has no name for."""
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    _own_platform.cache_clear()
    yield
    _own_platform.cache_clear()


@pytest.mark.parametrize("folder", ["vax-linux", fmpy.platform])
def test_on_a_machine_without_a_name_in_fmi2_the_name_is_that_of_fmi3_or_of_x86(
    tmp_path, library, other_machine, folder
):
    fmu = write_fmu(tmp_path / "typed.fmu", 2, library, platform=folder)
    with load(fmu, read_description(fmu)) as binary:
        assert binary.instantiate("A").component
    with ssptool.new(tmp_path / "system.ssp", fmu):
        pass
    assert "FMU-102" not in {one.code for one in ssptool.validate(tmp_path / "system.ssp").diagnostics}


def test_a_platform_for_which_fmpy_has_no_library_for_messages_gets_no_line_of_it_among_the_results(tmp_path):
    code = "import sys; sys.modules['fmpy.logging'] = None; from ssptool.cli.main import main; main()"
    system = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
    arguments = ("run", system, "--stop-time", "0.1", "--output", tmp_path / "out.csv")
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, "Failed" in done.stdout) == (0, False), done.stdout + done.stderr


@pytest.mark.parametrize(
    "name", ["/escape.txt", "../escape.txt", "a/../../escape.txt", "C:/escape.txt", "..\\escape.txt"]
)
def test_an_archive_that_leads_out_of_its_folder_is_refused(fmu, name):
    with zipfile.ZipFile(fmu, "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(UnreadableFmu, match="could be written outside the folder"):
        load(fmu, read_description(fmu))


def test_a_truncated_archive_is_reported(fmu, tmp_path):
    description = read_description(fmu)
    broken = tmp_path / "truncated.fmu"
    broken.write_bytes(fmu.read_bytes()[:500])
    with pytest.raises(UnreadableFmu, match="truncated"):
        load(broken, description)
