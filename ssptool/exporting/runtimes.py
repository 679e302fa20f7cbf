"""Libraries that run exported systems: that of this platform, and those of others, built with zig when needed."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from ssptool.documents.saving import save_file
from ssptool.engine.assembly.instances import Sources
from ssptool.engine.failure import Unsupported
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.errors import WrongUsage, abbreviated
from ssptool.fmu.compiling import cache_folder
from ssptool.fmu.model_description_xml import platforms, this_platform
from ssptool.tempfiles import TemporaryFolder


@dataclass(frozen=True, slots=True)
class TargetPlatform:
    """A platform of FMUs: its name for users and for zig, its folders in FMI 2.0 and 3.0, the ending of libraries."""

    name: str
    target: str
    folder_of_fmi2: str
    folder_of_fmi3: str
    ending: str

    def folder(self, fmi: int) -> str:
        """Below binaries/ of an FMU of this version."""
        return self.folder_of_fmi3 if fmi >= 3 else self.folder_of_fmi2


PLATFORMS = {
    one.name: one
    for one in (
        TargetPlatform("linux64", "x86_64-linux-gnu.2.17", "linux64", "x86_64-linux", ".so"),
        TargetPlatform("aarch64-linux", "aarch64-linux-gnu.2.17", "aarch64-linux", "aarch64-linux", ".so"),
        TargetPlatform("win64", "x86_64-windows-gnu", "win64", "x86_64-windows", ".dll"),
        TargetPlatform("darwin64", "x86_64-macos", "darwin64", "x86_64-darwin", ".dylib"),
        TargetPlatform("aarch64-darwin", "aarch64-macos", "aarch64-darwin", "aarch64-darwin", ".dylib"),
    )
}

PLATFORM_FOLDERS = frozenset(one.folder(fmi) for one in PLATFORMS.values() for fmi in (2, 3)) | {"win32", "linux32"}
"""Below binaries/ of FMUs."""

_OPTIONS = (
    *("-std=c++20", "-Os", "-DNDEBUG", "-shared", "-s", "-ffunction-sections", "-fdata-sections"),
    "-ffp-contract=off",  # multiply-adds would round differently from platform to platform
    *("-fvisibility=hidden", "-fvisibility-inlines-hidden"),
)
_LONG = "-" * 2  # of options of a linker, which are none of ours
_HERE = Path(__file__).parent
_SOURCES = (_HERE.parent / "engine" / "kernel" / "core", _HERE / "runtime")
_EXPORTED = _HERE / "runtime" / "exported.map"
_LINKED = {".so": (f"-Wl,{_LONG}gc-sections",), ".dylib": ("-Wl,-dead_strip,-x,-install_name,@rpath/runtime.dylib",)}


class RuntimeMissing(ImportError):
    """ssptool was installed without the library that runs exported systems."""

    def __init__(self) -> None:
        super().__init__(
            "the library that runs exported systems was not built: install ssptool where there is a C++ compiler"
        )


class UnknownPlatform(WrongUsage):
    """A platform for which no runtime can be built."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no platform of exported FMUs: choose of {', '.join(PLATFORMS)}")
        self.name = name


class RuntimeNotBuilt(Exception):
    """The runtime of another platform cannot be built here."""


@dataclass(frozen=True, slots=True)
class ChosenPlatforms:
    """Platforms of an exported FMU, and notes on those that are left out."""

    platforms: tuple[TargetPlatform, ...]
    notes: tuple[str, ...] = ()


def choose_platforms(plan: Plan, sources: Sources, asked: Sequence[str]) -> ChosenPlatforms:
    """The platforms that were asked for, or all that every part has a library for.

    Raises
    ------
    UnknownPlatform
    Unsupported
        A part has no library for one that was asked for, or there is none for which all have one.
    """
    for name in asked:
        if name not in PLATFORMS:
            raise UnknownPlatform(name)
        for one in plan.instances:
            _require(one, PLATFORMS[name], sources)
    if asked:
        return ChosenPlatforms(tuple(PLATFORMS[name] for name in dict.fromkeys(asked)))
    common = [p for p in PLATFORMS.values() if all(_has(one, p, sources) for one in plan.instances)]
    own = own_platform()
    if own is not None and own not in common:
        for one in plan.instances:
            _require(one, own, sources)
    others = [one for one in common if one != own]
    if not others or can_build():
        return ChosenPlatforms(tuple(common))
    names = ", ".join(one.name for one in others)
    note = (
        f"the FMU runs on {own.name if own else 'this platform'} only; its components also run on {names}: "
        "pip install 'ssptool[export]', and export again"
    )
    return ChosenPlatforms((own,) if own is not None else (), (note,))


def own_platform() -> TargetPlatform | None:
    return next((one for one in PLATFORMS.values() if one.folder_of_fmi2 == this_platform(2)), None)


def _offered(one: PlannedInstance, sources: Sources) -> frozenset[str]:
    return platforms(sources.local_path(one.source), one.used_interface)


def _has(one: PlannedInstance, platform: TargetPlatform, sources: Sources) -> bool:
    return platform.folder(one.description.fmi_major) in _offered(one, sources)


def _require(one: PlannedInstance, platform: TargetPlatform, sources: Sources) -> None:
    if _has(one, platform, sources):
        return
    offered = sorted(_offered(one, sources))
    there = f"it has those for {abbreviated(offered)}" if offered else "it has none at all"
    raise Unsupported(
        f"component {one.name}",
        f"its FMU has no library for {platform.name} (binaries/{platform.folder(one.description.fmi_major)}): {there}",
        "ask for an FMU built for it, choose others with --platforms, or compile its sources for this one (--compile)",
    )


def runtime_library(platform: TargetPlatform) -> Path:
    """The library of a platform, built if it is another one and not in the cache of the user.

    Raises
    ------
    RuntimeMissing
        This installation has no library for its own platform.
    RuntimeNotBuilt
        The packages that build others are not installed, or fail.
    """
    if platform == own_platform():
        path = Path(str(files("ssptool.exporting").joinpath(f"runtime{platform.ending}")))
        if not path.is_file():
            raise RuntimeMissing
        return path
    return _built(platform)


def can_build() -> bool:
    """Whether the packages that build runtimes are installed."""
    return find_spec("ziglang") is not None and find_spec("nlohmann_json") is not None


def _built(platform: TargetPlatform) -> Path:
    if not can_build():
        raise RuntimeNotBuilt(f"the runtime for {platform.name} is built with zig: pip install 'ssptool[export]'")
    code = [file for folder in _SOURCES for file in sorted(folder.glob("*.?pp"))]
    digest = hashlib.sha256(f"{platform.target} {_OPTIONS} {_LINKED} {_zig_version()}".encode())
    for file in (*code, _EXPORTED):
        digest.update(file.read_bytes())
    kept = _kept()
    target = kept / f"{platform.name}-{digest.hexdigest()[:16]}{platform.ending}"
    if target.is_file():
        return target
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with TemporaryFolder() as place:
            made = Path(place) / f"runtime{platform.ending}"
            _compile(platform, [file for file in code if file.suffix == ".cpp"], made)
            save_file(target, made.read_bytes())
    except OSError as error:
        raise RuntimeNotBuilt(
            f"the runtime for {platform.name} cannot be kept: {error.strerror or error} ({error.filename or kept}); "
            "free some space, or name another folder in the environment variable SSPTOOL_CACHE"
        ) from error
    return target


def _kept() -> Path:
    return cache_folder() / "runtimes"


def zig_environment() -> dict[str, str]:
    """Environment variables of zig, whose cache several processes may use at once."""
    cache = str(_kept() / "zig")
    return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache, **os.environ}


def _compile(platform: TargetPlatform, code: Sequence[Path], made: Path) -> None:
    command = [
        *(sys.executable, "-m", "ziglang", "c++", "-target", platform.target, *_OPTIONS),
        *_LINKED.get(platform.ending, ()),
        *([f"-Wl,{_LONG}version-script={_EXPORTED}"] if platform.ending == ".so" else []),
        *("-isystem", _json_headers(), "-o", str(made)),
        *map(str, code),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=zig_environment())
    if done.returncode or not made.is_file():
        said = "\n".join(done.stderr.splitlines()[-20:])
        raise RuntimeNotBuilt(f"zig could not build the runtime for {platform.name}:\n{said}")


def _zig_version() -> str:
    try:
        return version("ziglang")
    except PackageNotFoundError:
        return ""


def _json_headers() -> str:
    found = find_spec("nlohmann_json")
    assert found is not None and found.submodule_search_locations is not None  # since it is there
    return str(Path(found.submodule_search_locations[0]) / "include")
