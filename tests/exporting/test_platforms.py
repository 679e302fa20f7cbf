"""Platforms of exported FMUs: what every part has, what is asked for, and what is not to be had."""

import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.exporting import runtimes
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy

SYSTEM = SYSTEMS / "one_dof_oscillator"
OTHERS = [name for name in runtimes.PLATFORMS if name != "linux64"]
CROSS = pytest.mark.skipif("SSPTOOL_CROSS" not in os.environ, reason="make cross builds for other platforms")
FMI_FUNCTIONS = {b"fmi2DoStep", b"fmi3DoStep", b"fmi2Instantiate", b"fmi3InstantiateCoSimulation"}


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


def test_without_zig_it_is_for_this_platform_and_says_so(for_all, tmp_path, monkeypatch):
    monkeypatch.setattr(runtimes, "can_build", lambda: False)
    made = ssptool.export(for_all, tmp_path / "x.fmu")
    assert made.platforms == ("linux64",)
    assert made.notes == (f"for linux64 only: {', '.join(OTHERS)} too with pip install 'ssptool[export]'",)
    with pytest.raises(ssptool.RuntimeNotBuilt, match="for win64 is built with zig"):
        ssptool.export(for_all, tmp_path / "y.fmu", platforms=["win64"])
    assert not (tmp_path / "y.fmu").exists()


def test_a_part_without_a_library_for_a_platform_that_was_asked_for_is_named(tmp_path):
    with pytest.raises(Unsupported, match=r"component Mass: its FMU has no library for win64 \(binaries/win64\)"):
        ssptool.export(SYSTEM, tmp_path / "x.fmu", platforms=["linux64", "win64"])
    with pytest.raises(ssptool.UnknownPlatform, match="'win32' is no platform"):
        ssptool.export(SYSTEM, tmp_path / "x.fmu", platforms="win32")
    assert list(tmp_path.iterdir()) == []


@CROSS
@pytest.mark.parametrize("name", OTHERS)
def test_runtimes_of_other_platforms_are_libraries_of_them_with_the_functions_of_fmi(name):
    library = runtimes.runtime_library(runtimes.PLATFORMS[name])
    content = library.read_bytes()
    assert _machine(content) == name
    assert all(function in content for function in FMI_FUNCTIONS)
    assert len(content) <= 900_000


def _machine(content):
    """The platform that the head of an ELF, PE or Mach-O file states."""
    if content[:4] == b"\x7fELF":
        return {62: "linux64", 183: "aarch64-linux"}[struct.unpack_from("<H", content, 18)[0]]
    if content[:2] == b"MZ":
        (head,) = struct.unpack_from("<I", content, 0x3C)
        return {0x8664: "win64"}[struct.unpack_from("<H", content, head + 4)[0]]
    return {0x01000007: "darwin64", 0x0100000C: "aarch64-darwin"}[struct.unpack_from("<I", content, 4)[0]]


@CROSS
def test_the_runtime_that_zig_builds_for_linux_gives_the_same_bits(tmp_path, monkeypatch):
    built = runtimes._built(runtimes.PLATFORMS["linux64"])
    monkeypatch.setattr("ssptool.exporting.package.runtime_library", lambda platform: Path(built))
    for system in ("dual_mass_oscillator", "rotational_spring_mass_damper"):
        run = ssptool.simulate(SYSTEMS / system, stop_time=1.0).unwrap()
        found = in_fmpy(exported(SYSTEMS / system, tmp_path, stop_time=1.0), 0.001)
        assert_same_bits(found, run)
        assert np.isfinite(found["time"]).all()
