"""Libraries that run exported systems: for this platform, and for others, built with zig on demand."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from ssptool.documents.saving import save_file
from ssptool.engine.assembly.instances import Sources
from ssptool.engine.failure import Unsupported
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.errors import MissingPackage, UnknownName, abbreviated
from ssptool.fmu.compiling import cache_folder
from ssptool.fmu.model_description_xml import platforms, this_platform
from ssptool.tempfiles import TemporaryFolder


@dataclass(frozen=True, slots=True)
class TargetPlatform:
    """A platform of FMUs: its name for users and for zig, its folders in FMI 2.0 and 3.0, the extension of
    libraries.
    """

    name: str
    target: str
    folder_of_fmi2: str
    folder_of_fmi3: str
    ending: str

    def folder(self, fmi: int) -> str:
        """Name of its folder in binaries/ of an FMU of this version."""
        return self.folder_of_fmi3 if fmi >= 3 else self.folder_of_fmi2


PLATFORMS = {
    one.name: one
    for one in (
        TargetPlatform("linux64", "x86_64-linux-gnu.2.17", "linux64", "x86_64-linux", ".so"),
        TargetPlatform("aarch64-linux", "aarch64-linux-gnu.2.17", "aarch64-linux", "aarch64-linux", ".so"),
        TargetPlatform("win64", "x86_64-windows-gnu", "win64", "x86_64-windows", ".dll"),
        TargetPlatform("darwin64", "x86_64-macos.10.15", "darwin64", "x86_64-darwin", ".dylib"),
        TargetPlatform("aarch64-darwin", "aarch64-macos.11.0", "aarch64-darwin", "aarch64-darwin", ".dylib"),
    )
}

PLATFORM_FOLDERS = frozenset(one.folder(fmi) for one in PLATFORMS.values() for fmi in (2, 3)) | {"win32", "linux32"}
"""Names of all folders in binaries/ of FMUs."""

_OPTIONS = (
    *("-std=c++20", "-Os", "-DNDEBUG", "-shared", "-s", "-ffunction-sections", "-fdata-sections"),
    "-ffp-contract=off",  # fused multiply-adds would round differently on different platforms
    *("-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-Xclang", "-fmerge-functions"),  # templates generate the same instructions for many types
)
_LONG = "-" * 2  # of linker options, which are not options of ssptool
_HERE = Path(__file__).parent
_INSTALLED = Path(str(files("ssptool.exporting").joinpath("platforms")))
_ENGINE = _HERE.parent / "engine"
_SOURCES = (_ENGINE / "kernel" / "core", _ENGINE / "system", _HERE / "runtime")
_EXPORTED = _HERE / "runtime" / "exported.map"
_OF_PLATFORM = {
    # Functions that do not throw need no unwind table, and types that are not thrown no type information.
    ".so": ("-fno-unwind-tables", "-fno-rtti", "-DSSPTOOL_OWN_UNLOADING", f"-Wl,{_LONG}gc-sections"),
    ".dll": (),
    # Frames without pointer, or with unwinding at any instruction, need tables of a sixth of the library.
    ".dylib": (
        *("-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"),
        *("-DSSPTOOL_OWN_ALLOCATION", "-fvisibility-global-new-delete=force-hidden"),
        "-Wl,-dead_strip,-x,-install_name,@rpath/runtime.dylib",
    ),
}


class RuntimeNotBuilt(Exception):
    """The library for another platform cannot be compiled on this machine."""


def choose_platforms(
    plan: Plan, sources: Sources, asked: Sequence[str]
) -> tuple[tuple[TargetPlatform, ...], tuple[str, ...]]:
    """The requested platforms, or all platforms for which every component has a library; notes on omitted ones.

    Raises
    ------
    UnknownName
    Unsupported
        A component has no library for a requested platform, or no platform is supported by all components.
    """
    for name in asked:
        if name not in PLATFORMS:
            raise UnknownName(f"{name!r} is not a platform of exported FMUs", name, PLATFORMS)
        for one in plan.instances:
            _require(one, PLATFORMS[name], sources)
    if asked:
        return tuple(PLATFORMS[name] for name in dict.fromkeys(asked)), ()
    common = [p for p in PLATFORMS.values() if all(_has(one, p, sources) for one in plan.instances)]
    own = own_platform()
    if own is not None and own not in common:
        for one in plan.instances:
            _require(one, own, sources)
    lacking = [] if can_build() else [one for one in common if one != own and _installed(one) is None]
    if not lacking:
        return tuple(common), ()
    chosen = tuple(one for one in common if one not in lacking)
    on = ", ".join(one.name for one in chosen) if chosen else "this platform"
    names = ", ".join(one.name for one in lacking)
    note = (
        f"the FMU runs on {on} only; its components also run on {names}: "
        "pip install 'ssptool[export]', and export again"
    )
    return chosen, (note,)


def own_platform() -> TargetPlatform | None:
    return next((one for one in PLATFORMS.values() if one.folder_of_fmi3 == this_platform(3)), None)


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
    """The library of a platform: from the package, from the cache of the user, or newly built.

    Raises
    ------
    MissingPackage
        This installation has no library for its own platform.
    RuntimeNotBuilt
        The packages for building other libraries are not installed, or the build fails.
    """
    if (found := kept_library(platform)) is not None:
        return found
    if platform == own_platform():
        raise MissingPackage(
            "the library that runs exported systems was not built: install ssptool where there is a C++ compiler"
        )
    return _built(platform)


def kept_library(platform: TargetPlatform) -> Path | None:
    """The library of a platform if it need not be built: in the package, or in the cache of the user."""
    if (installed := _installed(platform)) is not None:
        return installed
    if platform == own_platform():
        path = Path(str(files("ssptool.exporting").joinpath(f"runtime{platform.ending}")))
    else:
        path = _place(platform)
    return path if path.is_file() else None


def _installed(platform: TargetPlatform) -> Path | None:
    """The library in a package that contains libraries for all platforms."""
    path = _INSTALLED / f"{platform.name}{platform.ending}"
    return path if path.is_file() else None


def save_all(folder: Path) -> None:
    """Build the libraries of all platforms, for a package that contains them."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in PLATFORMS.values():
        save_file(folder / f"{one.name}{one.ending}", _built(one).read_bytes())


def can_build() -> bool:
    """True if the packages that build runtimes are installed."""
    return find_spec("ziglang") is not None and find_spec("nlohmann_json") is not None


def _built(platform: TargetPlatform) -> Path:
    if not can_build():
        raise RuntimeNotBuilt(f"the runtime for {platform.name} is built with zig: pip install 'ssptool[export]'")
    kept, target = _kept(), _place(platform)
    if target.is_file():
        return target
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with TemporaryFolder() as place:
            made = Path(place) / f"runtime{platform.ending}"
            whole = Path(place) / "runtime.cpp"
            whole.write_text(one_unit(file for file in code() if file.suffix == ".cpp"), encoding="utf-8")
            _compile(platform, whole, made)
            save_file(target, made.read_bytes())
    except OSError as error:
        raise RuntimeNotBuilt(
            f"the runtime for {platform.name} cannot be kept: {error.strerror or error} ({error.filename or kept}); "
            "free some space, or name another folder in the environment variable SSPTOOL_CACHE"
        ) from error
    return target


def _place(platform: TargetPlatform) -> Path:
    """Path of the library for a platform that is built from these sources, with this zig and these options."""
    digest = hashlib.sha256(f"{platform.target} {_OPTIONS} {_OF_PLATFORM} {_zig_version()}".encode())
    for file in (*code(), _EXPORTED):
        digest.update(file.read_bytes())
    return _kept() / f"{platform.name}-{digest.hexdigest()[:16]}{platform.ending}"


def code() -> list[Path]:
    """Source files of the runtime in the package."""
    return [file for folder in _SOURCES for file in sorted(folder.glob("*.?pp"))]


def one_unit(files: Iterable[Path]) -> str:
    """All source files as one file, so that headers are read once and equal functions exist once."""
    return "".join(f'#include "{file.as_posix()}"\n' for file in files)


def _kept() -> Path:
    return cache_folder() / "runtimes"


def zig_environment() -> dict[str, str]:
    """Environment variables of zig, whose cache several processes may use at once."""
    cache = str(_kept() / "zig")
    return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache, **os.environ}


def _compile(platform: TargetPlatform, source: Path, made: Path) -> None:
    command = [
        *(sys.executable, "-m", "ziglang", "c++", "-target", platform.target, *_OPTIONS),
        *_OF_PLATFORM[platform.ending],
        *([f"-Wl,{_LONG}version-script={_EXPORTED}"] if platform.ending == ".so" else []),
        *("-isystem", _json_headers(), "-o", str(made), str(source)),
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
    assert found is not None and found.submodule_search_locations is not None  # the package exists
    return str(Path(found.submodule_search_locations[0]) / "include")
