"""Exported FMUs on other platforms: parts and the driver compiled with zig, and run by wine and qemu.

`driver.c` obeys commands; what it prints on another platform is what it prints here if all bits are the same.
"""

import shutil
import struct
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import fmpy
import pytest

from ssptool.exporting.runtimes import PLATFORMS, TargetPlatform, own_platform, zig_environment
from ssptool.fmu.read_description import read_description

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "cross"
WRAPPER = ROOT / "systems" / "models" / "wrapper"
TESTED = ROOT / "tests" / "engine" / "models"
MODELS = (ROOT / "systems" / "models", TESTED, ROOT / "tests" / "models" / "models")
EVENTS = TESTED / "events"
HYBRID = TESTED / "hybrid"
HEADERS = Path(fmpy.__file__).parent / "c-code"
FOREIGN_LIBRARIES = Path("/usr/aarch64-linux-gnu")
PATIENCE = 600.0
_CORE = ("instance", "token", "saved_state", "derivatives", "cosimulation", "integrate")
_OPTIONS = ("-std=c11", "-Os", "-ffp-contract=off", "-fvisibility=hidden", "-I", WRAPPER, "-isystem", HEADERS)
_CMPLX = "-DCMPLX(re, im)=__builtin_complex((double)(re), (double)(im))"
"""What mingw's complex.h lacks of C11."""


def _program(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def wine() -> str | None:
    return _program("wine64", "/usr/lib/wine/wine64", "wine")


def qemu() -> str | None:
    return _program("qemu-aarch64", "qemu-aarch64-static") if FOREIGN_LIBRARIES.is_dir() else None


EMULATED = {
    "win64": (wine, "wine64"),
    "aarch64-linux": (qemu, "qemu-user and libc6-arm64-cross"),
}
"""By platform: what finds the program that runs it here, and the packages of Debian that bring it."""


def emulator(platform: str) -> list[str]:
    """The beginning of a command that runs a program of a platform; skips the test where there is none."""
    if PLATFORMS[platform] == own_platform():
        return []
    find, packages = EMULATED[platform]
    program = find() or pytest.skip(f"{platform} is not run: {packages} are not installed")
    return [program, "-L", str(FOREIGN_LIBRARIES)] if platform == "aarch64-linux" else [program]


def environment() -> dict[str, str]:
    """That of compilers and emulators, which keep what they make in the folder of builds."""
    return {**zig_environment(), "LC_ALL": "C.UTF-8", "WINEPREFIX": str(BUILD / "wine"), "WINEDEBUG": "-all"}


def _compile(platform: TargetPlatform, target: Path, *arguments: object) -> Path:
    """By zig, or by the compiler of this platform, whose bits are those to compare with."""
    target.parent.mkdir(parents=True, exist_ok=True)
    own = platform == own_platform()
    compiler = ["cc"] if own else [sys.executable, "-m", "ziglang", "cc", "-target", platform.target, "-s"]
    lacking = [_CMPLX] if platform.name == "win64" else []
    command = [*compiler, "-o", target, *_OPTIONS, *lacking, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return target


@cache
def driver(name: str) -> Path:
    """The driver, compiled for a platform."""
    platform = PLATFORMS[name]
    ending, libraries = (".exe", ()) if name == "win64" else ("", ("-ldl",))
    return _compile(platform, BUILD / name / f"driver{ending}", "-Wall", "-Wextra", HERE / "driver.c", *libraries)


def _source(identifier: str, fmi: int) -> Path | None:
    """Of a model; those with event mode have the names of others, which do not exist in FMI 3.0."""
    folders = (HYBRID, *((EVENTS,) if fmi == 3 else ()), *MODELS)
    return next((file for folder in folders if (file := folder / f"{identifier}.c").is_file()), None)


@cache
def part(name: str, fmi: int, identifier: str) -> Path:
    """The library of one of our models, compiled for another platform."""
    platform = PLATFORMS[name]
    source = _source(identifier, fmi)
    assert source is not None
    folder = BUILD / name / f"fmi{fmi}"
    position = () if name == "win64" else ("-fPIC",)
    if source.parent == EVENTS:
        files = [source, EVENTS / "events.c"]
    elif source.parent == HYBRID:
        files = [source, HYBRID / "hybrid.c", HYBRID / f"hybrid{fmi}.c"]
    else:
        equations = _compile(platform, folder / f"{identifier}.o", "-c", "-DCOMPLEX_NUMBERS", *position, source)
        files = [source, equations, *(WRAPPER / f"{one}.c" for one in (*_CORE, f"fmi{fmi}"))]
    libraries = () if name == "win64" else ("-lm",)
    return _compile(platform, folder / f"{identifier}{platform.ending}", "-shared", *position, *files, *libraries)


def with_parts_for(platform: str, folder: Path, target: Path) -> Path:
    """A copy of a system, the FMUs of which have libraries for a platform too."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("fmi1", "fmi3", "no_flange"))
    for file in sorted(target.rglob("*.fmu")):
        described = read_description(file)
        interface = described.co_simulation or described.model_exchange
        assert interface is not None
        identifier = interface.model_identifier
        if described.fmi_major == 1 or _source(identifier, described.fmi_major) is None:
            continue
        with zipfile.ZipFile(file, "a") as fmu:
            one = PLATFORMS[platform]
            name = f"binaries/{one.folder(described.fmi_major)}/{identifier}{one.ending}"
            fmu.write(part(platform, described.fmi_major, identifier), name)
    return target


def bits(value: float) -> str:
    """A number as the driver reads it."""
    return struct.pack(">d", value).hex()


def numbers(line: str) -> list[float]:
    """Those of a line that the driver has printed."""
    return [struct.unpack(">d", bytes.fromhex(text))[0] for text in line.split("\t")[1:]]


class Unpacked:
    """An exported FMU in a folder, for the driver on a platform."""

    def __init__(self, fmu: Path, folder: Path, platform: str) -> None:
        self.folder = folder
        self.platform = platform
        self.description = fmpy.read_model_description(str(fmu))
        self.fmi = int(self.description.fmiVersion[0])
        self.references = {one.name: one.valueReference for one in self.description.modelVariables}
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(folder)

    def _path(self, *names: str) -> str:
        """As the platform writes it: wine shows all files below Z:."""
        path = str(self.folder.joinpath(*names))
        return "Z:" + path.replace("/", "\\") if self.platform == "win64" else path

    def load(self) -> tuple[object, ...]:
        """The command that loads its library."""
        one = PLATFORMS[self.platform]
        name = f"{self.description.coSimulation.modelIdentifier}{one.ending}"
        return ("load", self.fmi, self._path("binaries", one.folder(self.fmi), name))

    def instantiate(self, number: int = 0, logging: bool = False, events: bool = False) -> tuple[object, ...]:
        """The command that makes an instance; with `events`, the driver handles those."""
        if self.fmi == 2:
            resources = (self.folder / "resources").as_uri()
            resources = resources.replace("file:///", "file:///Z:/") if self.platform == "win64" else resources
        else:
            resources = self._path("resources", "")
            resources += "\\" if self.platform == "win64" else "/"
        return ("instantiate", number, f"instance{number}", self.description.guid, resources, int(logging), int(events))

    def drive(self, *commands: tuple[object, ...]) -> list[str]:
        """What the driver prints; `commands` follow the one that loads the library."""
        lines = ["\t".join(map(str, one)) for one in (self.load(), *commands)]
        done = subprocess.run(
            [*emulator(self.platform), str(driver(self.platform))],
            input="\n".join(lines).encode() + b"\n",
            capture_output=True,
            check=False,
            env=environment(),
            timeout=PATIENCE,
        )
        said = done.stdout.decode()
        assert done.returncode == 0, said + done.stderr.decode(errors="replace")
        return said.splitlines()
