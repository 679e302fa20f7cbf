"""Platforms of exported FMUs: what every part has, what is asked for, and what is not to be had."""

import errno
import os
import re
import shutil
import struct
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.exporting import runtimes
from tests.exporting.emulation import Unpacked, bits
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy

SYSTEM = SYSTEMS / "one_dof_oscillator"
OTHERS = [name for name in runtimes.PLATFORMS if name != "linux64"]
lief = pytest.importorskip("lief") if "SSPTOOL_CROSS" in os.environ else None
CROSS = pytest.mark.skipif("SSPTOOL_CROSS" not in os.environ, reason="make cross builds for other platforms")
FMI_FUNCTION = re.compile(r"fmi[23][A-Z]\w+")
MOST_BYTES = 950_000
SYSTEM_LIBRARIES = {
    *("libc", "libm", "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"),
    *("KERNEL32", "ucrt", "ntdll"),
    "/usr/lib/libSystem.B.dylib",
}


@pytest.fixture
def for_all(tmp_path):
    """The system with parts that have libraries, which nobody can load, for all platforms."""
    folder = tmp_path / "for_all"
    ssptool.unpack(_packed(tmp_path), folder)
    for name in ("Mass", "SpringDamper"):
        with zipfile.ZipFile(folder / "resources" / f"{name}.fmu", "a") as fmu:
            for platform in runtimes.PLATFORMS.values():
                if platform.name != "linux64":
                    fmu.writestr(f"binaries/{platform.folder(2)}/{name}{platform.ending}", b"not a library")
    return folder


def _packed(tmp_path):
    ssptool.pack(SYSTEM, tmp_path / "system.ssp")
    return tmp_path / "system.ssp"


def test_the_default_is_what_every_part_has(tmp_path):
    made = ssptool.export(SYSTEM, tmp_path / "x.fmu")
    assert (made.platforms, made.notes) == (("linux64",), ())
    assert [name for name in made.names if name.startswith("binaries/")] == ["binaries/linux64/OneDofOscillator.so"]


@pytest.mark.skipif("SSPTOOL_RUNTIME" in os.environ, reason="a runtime that was built to find errors is not small")
def test_the_runtime_that_is_built_with_the_package_is_small():
    assert runtimes.runtime_library(runtimes.own_platform()).stat().st_size <= MOST_BYTES


def test_without_zig_it_is_for_this_platform_and_says_so(for_all, tmp_path, monkeypatch):
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))  # that of the user may have some of others
    monkeypatch.setattr(runtimes, "can_build", lambda: False)
    made = ssptool.export(for_all, tmp_path / "x.fmu")
    assert made.platforms == ("linux64",)
    assert made.notes == (
        f"the FMU runs on linux64 only; its components also run on {', '.join(OTHERS)}: "
        "pip install 'ssptool[export]', and export again",
    )
    with pytest.raises(ssptool.exceptions.RuntimeNotBuilt, match="for win64 is built with zig"):
        ssptool.export(for_all, tmp_path / "y.fmu", platforms=["win64"])
    assert not (tmp_path / "y.fmu").exists()


def test_a_part_without_a_library_for_a_platform_that_was_asked_for_is_named(tmp_path):
    with pytest.raises(Unsupported, match=r"component Mass: its FMU has no library for win64 \(binaries/win64\)"):
        ssptool.export(SYSTEM, tmp_path / "x.fmu", platforms=["linux64", "win64"])
    with pytest.raises(ssptool.exceptions.UnknownName, match="'win32' is not a platform"):
        ssptool.export(SYSTEM, tmp_path / "x.fmu", platforms="win32")
    assert list(tmp_path.iterdir()) == []


def test_parts_come_with_libraries_for_the_platforms_of_the_fmu_alone(for_all, tmp_path, monkeypatch):
    monkeypatch.setattr("ssptool.exporting.package.runtime_library", lambda platform: SYSTEM / "SystemStructure.ssd")
    monkeypatch.setattr(runtimes, "can_build", lambda: True)
    made = ssptool.export(for_all, tmp_path / "x.fmu", platforms=["win64", "aarch64-linux"])
    libraries = [name for name in made.names if "/Mass." in name]
    assert libraries == [f"resources/parts/0/binaries/{one}" for one in ("aarch64-linux/Mass.so", "win64/Mass.dll")]
    assert len([name for name in ssptool.export(for_all, tmp_path / "y.fmu").names if "/Mass." in name]) == len(
        runtimes.PLATFORMS
    )


@pytest.fixture
def without_zig(tmp_path, monkeypatch):
    """Runtimes of other platforms take no compiler, but some time; the cache is an empty folder."""

    def build(platform, source, made):
        for piece in (b"first", b"second"):
            with made.open("ab") as file:
                file.write(piece)
            time.sleep(0.02)

    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(runtimes, "can_build", lambda: True)
    monkeypatch.setattr(runtimes, "_compile", build)
    return runtimes.PLATFORMS["win64"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with a library for each of two platforms, of which one is this."""
    folder = tmp_path / "platforms"
    folder.mkdir()
    monkeypatch.setattr(runtimes, "_INSTALLED", folder)
    for name in ("linux64", "win64"):
        (folder / f"{name}{runtimes.PLATFORMS[name].ending}").write_bytes(name.encode())
    return folder


def test_a_library_that_the_package_brings_is_taken_first(without_zig, installed, tmp_path):
    for name, ending in (("linux64", ".so"), ("win64", ".dll")):
        assert runtimes.runtime_library(runtimes.PLATFORMS[name]) == installed / f"{name}{ending}"
    assert not (tmp_path / "cache").exists()
    built = runtimes.runtime_library(runtimes.PLATFORMS["darwin64"])
    assert built.parent == tmp_path / "cache" / "runtimes"
    assert runtimes.runtime_library(runtimes.PLATFORMS["darwin64"]) == built


def test_libraries_that_the_package_brings_need_no_zig(for_all, installed, tmp_path, monkeypatch):
    monkeypatch.setattr(runtimes, "can_build", lambda: False)
    made = ssptool.export(for_all, tmp_path / "x.fmu")
    assert made.platforms == ("linux64", "win64")
    (note,) = made.notes
    assert note.startswith("the FMU runs on linux64, win64 only; its components also run on aarch64-linux, darwin64, ")
    with zipfile.ZipFile(made.path) as fmu:
        assert fmu.read("binaries/win64/OneDofOscillator.dll") == b"win64"


def test_libraries_of_all_platforms_are_saved_for_a_package(without_zig, tmp_path, monkeypatch):
    folder = tmp_path / "build" / "platforms"
    runtimes.save_all(folder)
    monkeypatch.setattr(runtimes, "_INSTALLED", folder)
    for one in runtimes.PLATFORMS.values():
        assert runtimes.runtime_library(one).parent == folder
    assert len(list(folder.iterdir())) == len(runtimes.PLATFORMS)


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler")
@pytest.mark.skipif("SSPTOOL_RUNTIME" in os.environ, reason="the same files as without sanitizers")
def test_all_files_of_the_runtime_are_one_unit(tmp_path):
    """As zig gets them: no two files give one name to two things, also where nobody else sees it."""
    whole = tmp_path / "runtime.cpp"
    whole.write_text(runtimes.one_unit(file for file in runtimes.code() if file.suffix == ".cpp"))
    command = ["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    command += ["-isystem", runtimes._json_headers(), str(whole)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def test_two_that_build_at_once_get_the_same_whole_library(without_zig, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(runtimes.runtime_library, [without_zig] * 4))
    (library,) = made
    assert library.read_bytes() == b"firstsecond"
    assert list((tmp_path / "cache" / "runtimes").iterdir()) == [library]


def test_a_full_disk_is_named_with_the_folder(without_zig, tmp_path, monkeypatch):
    def full(target, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(runtimes, "save_file", full)
    with pytest.raises(
        ssptool.exceptions.RuntimeNotBuilt, match=r"cannot be kept: No space left.*cache/runtimes.*SSPTOOL_CACHE"
    ):
        runtimes.runtime_library(without_zig)
    assert list((tmp_path / "cache" / "runtimes").iterdir()) == []


def test_what_zig_says_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(runtimes, "can_build", lambda: True)
    monkeypatch.setattr(runtimes, "_json_headers", lambda: "")
    failed = subprocess.CompletedProcess([], 1, "", "error: OutOfMemory\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: failed)
    with pytest.raises(
        ssptool.exceptions.RuntimeNotBuilt, match=r"zig could not build the runtime for win64:\nerror: OutOfMemory"
    ):
        runtimes.runtime_library(runtimes.PLATFORMS["win64"])


@CROSS
@pytest.mark.parametrize("name", runtimes.PLATFORMS)
def test_runtimes_are_libraries_of_their_platforms_with_the_functions_of_fmi_alone(name):
    content = runtimes._built(runtimes.PLATFORMS[name]).read_bytes()
    found = lief.parse(content)
    assert _machine(content) == name
    assert _exported(found) == _exported(lief.parse(runtimes.runtime_library(runtimes.own_platform())))
    assert all(FMI_FUNCTION.fullmatch(function) for function in _exported(found))
    assert _needed(found) <= SYSTEM_LIBRARIES
    assert str(Path(runtimes.__file__).parent).encode() not in content
    assert len(content) <= MOST_BYTES


def _exported(library):
    """The linker of zig exports two marks of its own from libraries of macOS, whatever list it gets."""
    if isinstance(library, lief.MachO.Binary):
        names = {one.symbol.name.removeprefix("_") for one in library.dyld_info.exports}
        return names - {"_mh_dylib_header", "__dso_handle"}
    return {one.name for one in library.exported_functions}


def _needed(library):
    """Names of the libraries that it needs, without versions, and those of the universal C runtime as one."""
    names = {str(getattr(one, "name", one)) for one in library.libraries} - {"@rpath/runtime.dylib"}
    return {re.sub(r"(?i)^api-ms-win-crt-.*", "ucrt", re.sub(r"\.(so|dll).*$", "", name)) for name in names}


def _machine(content):
    """The platform that the head of an ELF, PE or Mach-O file states."""
    if content[:4] == b"\x7fELF":
        return {62: "linux64", 183: "aarch64-linux"}[struct.unpack_from("<H", content, 18)[0]]
    if content[:2] == b"MZ":
        (head,) = struct.unpack_from("<I", content, 0x3C)
        return {0x8664: "win64"}[struct.unpack_from("<H", content, head + 4)[0]]
    return {0x01000007: "darwin64", 0x0100000C: "aarch64-darwin"}[struct.unpack_from("<I", content, 4)[0]]


@pytest.fixture
def built_by_zig(monkeypatch):
    """Exports for this platform have the runtime that zig builds for it."""
    built = runtimes._built(runtimes.PLATFORMS["linux64"])
    monkeypatch.setattr("ssptool.exporting.package.runtime_library", lambda platform: built)


@CROSS
def test_a_process_ends_well_that_has_unloaded_what_zig_builds(built_by_zig, tmp_path):
    """Whatever the library has to do at its end is done when it is unloaded."""
    unpacked = Unpacked(exported(SYSTEM, tmp_path), tmp_path / "unpacked", "linux64")
    initialized = (unpacked.instantiate(), ("initialize", bits(0.0)), ("initialized",))
    *_, last = unpacked.drive(*initialized, ("terminate",), ("release",), ("unload",))
    assert last == "instance\t0\tmade"


@CROSS
def test_the_runtime_that_zig_builds_for_linux_gives_the_same_bits(built_by_zig, tmp_path):
    for system in ("dual_mass_oscillator", "rotational_spring_mass_damper"):
        run = ssptool.simulate(SYSTEMS / system, stop_time=1.0).unwrap()
        found = in_fmpy(exported(SYSTEMS / system, tmp_path, stop_time=1.0), 0.001)
        assert_same_bits(found, run)
        assert np.isfinite(found["time"]).all()
