"""Write the example systems as packages, with FMUs for all platforms: `python .ci/examples.py FOLDER`.

zig compiles the models for each platform, in a copy of `systems` of its own; an FMU has the libraries of all copies.
CMake, ninja, ziglang and the requirements of ssptool are needed. The same sources give the same bytes.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from ssptool.api.edit import pack
from ssptool.exporting.runtimes import PLATFORMS, TargetPlatform, own_platform, zig_environment

ROOT = Path(__file__).resolve().parents[1]
PACK_FMU = ROOT / "systems" / "models" / "wrapper" / "pack.py"
SYSTEMS = {".so": "Linux", ".dll": "Windows", ".dylib": "Darwin"}
"""Ending of libraries → what CMake calls the platform."""

STRIPPED = "-s"
SETTINGS = {
    "CMAKE_C_FLAGS_RELEASE": "-Os -DNDEBUG",
    "CMAKE_SHARED_LINKER_FLAGS": STRIPPED,
    "CMAKE_INSTALL_NAME_TOOL": "true",
}


def main() -> None:
    made = Path(sys.argv[1]).resolve()
    made.mkdir(parents=True, exist_ok=True)
    own = own_platform()
    assert own is not None
    with TemporaryDirectory() as place:
        copies = {name: Path(place) / name for name in (own.name, *(name for name in PLATFORMS if name != own.name))}
        for name, copy in copies.items():
            build(PLATFORMS[name], copy, None if name == own.name else copies[own.name])
        for fmu in sorted(copies[own.name].glob("systems/*/resources/**/*.fmu")):
            merge([copy / fmu.relative_to(copies[own.name]) for copy in copies.values()], fmu)
        for structure in sorted(copies[own.name].glob("systems/*/SystemStructure.ssd")):
            pack(structure.parent, made / f"{structure.parent.name}.ssp")


def build(platform: TargetPlatform, copy: Path, described: Path | None) -> None:
    """The systems with FMUs for one platform; descriptions are those of a copy whose programs run on this machine."""
    tracked = subprocess.check_output(["git", "ls-files", "-z", "systems"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, tracked):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    settings = {"Python_EXECUTABLE": sys.executable, **SETTINGS}
    settings |= {f"FMI{version}_PLATFORM": platform.folder(version) for version in (1, 2)}
    if described is not None:
        settings["DESCRIPTIONS"] = str(described / "build" / "content")
        settings["CMAKE_SYSTEM_NAME"] = SYSTEMS[platform.ending]
        settings["CMAKE_SYSTEM_PROCESSOR"] = platform.target.partition("-")[0]
    zig = {tool: tool_of_zig(copy, tool) for tool in ("cc", "ar", "ranlib")}
    environment = {**zig_environment(), "SSPTOOL_ZIG_PYTHON": sys.executable, "SSPTOOL_ZIG_TARGET": platform.target}
    environment |= {"CC": zig["cc"], "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    settings |= {"CMAKE_C_COMPILER_AR": zig["ar"], "CMAKE_C_COMPILER_RANLIB": zig["ranlib"]}
    options = [f"-D{name}={value}" for name, value in settings.items()]
    configure = ["cmake", "-S", str(copy / "systems" / "models"), "-B", str(copy / "build"), "-G", "Ninja", *options]
    for command in (configure, ["cmake", "--build", str(copy / "build"), "--target", "systems"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{platform.name}: {' '.join(command)}\n{done.stdout}\n{done.stderr}")


def tool_of_zig(copy: Path, tool: str) -> str:
    """The script beside this one under the name that says which tool is meant."""
    link = copy / f"zig-{tool}"
    link.symlink_to(Path(__file__).with_name("zig"))
    return str(link)


def merge(fmus: Iterable[Path], made: Path) -> None:
    """Write one FMU with the files of several, of which each is the same in all that have it."""
    with TemporaryDirectory() as place:
        names = set()
        for fmu in fmus:
            with zipfile.ZipFile(fmu) as archive:
                for name in archive.namelist():
                    file, content = Path(place) / name, archive.read(name)
                    if name in names and file.read_bytes() != content:
                        sys.exit(f"{fmu}: {name} differs from that of another platform")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
                    names.add(name)
        ordered = sorted(names, key=lambda name: (name.startswith("binaries/"), name))
        subprocess.run([sys.executable, PACK_FMU, made, place, *ordered], check=True)


if __name__ == "__main__":
    main()
