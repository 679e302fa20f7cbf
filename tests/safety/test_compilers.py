"""Compilation of foreign sources: options start no program and read no file, and the compiler is confined."""

import platform
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.fmu import compiling
from ssptool.fmu.description import UnusableFmu
from ssptool.sandbox import NoSandbox
from tests.fmu.source_fmus import build_description, system1

closable = pytest.mark.skipif(bool(sandbox.missing()), reason=f"no sandbox here: {sandbox.missing()}")
pytestmark = [
    pytest.mark.one_in(3),
    pytest.mark.skipif(sys.platform == "win32", reason="compilers of another kind"),
]

SECRET = "the key of the user"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The working folder, with a program that leaves a file behind, and a secret."""
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran > '{tmp_path / 'ran'}'\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    return tmp_path


def fmu(options: str = "", **more: str) -> Path:
    return system1(Path("System1.fmu"), 3, build=build_description(options=options, **more))


HOSTILE = (
    *("-wrapper {place}/program", "-wrapper={place}/program", "-B{place}", "-specs={place}/specs", "--sysroot={place}"),
    *(
        "-fplugin={place}/program.so",
        "-fplugin-arg-a-b=c",
        "-fuse-ld={place}/program",
        "-fdump-tree-all",
        "-save-temps",
    ),
    *("-save-temps", "-fprofile-generate", "-fprofile-use={place}/secret", "-ftest-coverage"),
    *("-Wl,-rpath,{place}", "-Wp,-include,{place}/secret", "-Wa,-I,{place}", "-Xlinker -rpath", "-Xclang -load"),
    *("-include {place}/secret", "-include{place}/secret", "-imacros {place}/secret", "-isystem {place}", "-iquote."),
    *("-I", "-I.. secret", "-I/etc", "-I../..", "-Icomplex/../..", "-Inothing", "-I@secret", "@{place}/secret"),
    *("-x c++", "-o {place}/made", "-o{place}/made", "-E", "-S", "-M", "-MF{place}/made", "-L{place}", "-l:../x.so"),
    *("-D", "-DA -wrapper", '-DA="b c"', "-D@secret", "-D-wrapper", "-U", "-mllvm -load", "-std=c11,x", "secret", "-"),
    *("-fno-plugin", "-f", "-W,x", "--param=x", "-pipe=x", "-Oz -run", "-march=native,x", "-ffp-contract=/x"),
)


@pytest.mark.parametrize("options", HOSTILE)
def test_an_option_that_is_not_known_to_be_harmless_is_refused_by_name(place, options):
    stated = options.format(place=place)
    with pytest.raises(UnusableFmu) as refused:
        ssptool.simulate(fmu(stated), compile=True)
    assert any(one.removeprefix("-I") in str(refused.value) for one in stated.split())
    assert not (place / "ran").exists() and not (place / "made").exists() and not (place / "cache").exists()


def test_options_that_are_known_have_effect(place):
    known = (
        "-O3 -Og -Wall -Wextra -Werror=return-type -std=gnu11 -fno-math-errno -fvisibility=default "
        "-ffp-contract=off -DUSED=2 -D_GNU_SOURCE -UNOTHING -Icomplex -g -pedantic -pthread -fno-strict-aliasing -w"
    )
    if platform.machine() == "x86_64":
        known += " -march=x86-64 -mtune=generic -msse2"
    checked = "\n#if USED != 2\n#error not defined\n#endif\n"
    path = system1(Path("System1.fmu"), 3, broken=checked, build=build_description(options=known))
    assert ssptool.simulate(path, stop_time=0.1, compile=True).ok


def simulated(path):
    ssptool.simulate(path, stop_time=0.1, compile=True)


def stepped(path):
    ssptool.Simulation(path, compile=True).close()


def exported(path):
    ssptool.export(path, "out.fmu", compile=True)


def studied(path):
    study = {
        "system": str(path),
        "settings": {"stop_time": 0.1},
        "factors": {"System1.k1": [1.0, 2.0]},
        "results": {"x": 'final("System1.x1")'},
    }
    ssptool.study(study, "out.study", compile=True, workers=1)


@pytest.mark.parametrize("use", [simulated, stepped, exported, studied])
def test_all_that_compile_refuse_it(place, use):
    with pytest.raises(UnusableFmu, match="compiler option '-wrapper'"):
        use(fmu(f"-wrapper {place}/program"))
    assert not (place / "ran").exists()


@pytest.mark.parametrize("name", ["A -wrapper x", "@secret", "-A", "", "A B"])
def test_definitions_have_names(place, name):
    with pytest.raises(UnusableFmu, match="compiler option '-D"):
        ssptool.simulate(fmu(definition=name), compile=True)


@pytest.mark.parametrize("name", [":../../x.so", "/x.so", "m -wrapper", ""])
def test_libraries_have_names(place, name):
    with pytest.raises(UnusableFmu, match="is not a name of a library"):
        ssptool.simulate(fmu(more=f'<Library name="{name}" external="true"/>'), compile=True)


def test_the_library_is_made_inside_the_fmu_only(place):
    path = system1(Path("System1.fmu"), 2)
    with zipfile.ZipFile(path) as packed:
        texts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in texts.items():
            packed.writestr(name, text.replace(b'modelIdentifier="System1"', b'modelIdentifier="../../../../made"'))
    with pytest.raises(UnusableFmu, match="is not an identifier of C"):
        ssptool.simulate(path, compile=True)
    assert not list(place.rglob("made*"))


READING = """
__asm__(".section .rodata\\n.incbin \\"{}\\"\\n.previous\\n");
"""


@closable
@pytest.mark.parametrize("use", [simulated, exported])
@pytest.mark.parametrize("by", [READING, '\n#include "{}"\n'])
def test_sources_read_no_file_of_the_user(place, use, by):
    """Whether or not a sandbox is asked for: the compiler always has one."""
    path = system1(Path("System1.fmu"), 2, broken=by.format(place / "secret"))
    with pytest.raises(UnusableFmu, match="secret") as refused:
        use(path)
    assert SECRET not in str(refused.value)
    assert not any(SECRET.encode() in file.read_bytes() for file in (place / "cache").iterdir())


@closable
@pytest.mark.parametrize("layer", [sandbox.NAMESPACES, sandbox.LANDLOCK])
def test_nor_where_one_layer_of_the_sandbox_is_missing(place, monkeypatch, layer):
    monkeypatch.setattr(compiling, "missing_layers", lambda: {layer: "it is not here"})
    assert ssptool.simulate(system1(Path("System1.fmu"), 2), stop_time=0.1, compile=True).ok
    path = system1(Path("Other.fmu"), 2, broken=READING.format(place / "secret"))
    with pytest.raises(UnusableFmu, match="secret"):
        ssptool.simulate(path, stop_time=0.1, compile=True)


@closable
def test_such_sources_are_found_out_if_they_name_what_may_be_read(place):
    """So that the test above cannot pass because nothing can be read."""
    path = system1(Path("System1.fmu"), 2, broken=READING.format("/etc/passwd"))
    assert ssptool.simulate(path, stop_time=0.1, compile=True).ok


def test_a_compiler_elsewhere_works_and_sees_no_secret_of_the_environment(place, monkeypatch):
    real = shutil.which("cc") or shutil.which("gcc")
    (place / "tools" / "bin").mkdir(parents=True)
    compiler = place / "tools" / "bin" / "compiler"
    compiler.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || [ -z "$API_TOKEN" ] || exit 7\n[ ! -t 0 ] || exit 8\nexec {real} "$@"\n',
        encoding="utf-8",
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("API_TOKEN", "secret")
    assert ssptool.simulate(system1(Path("System1.fmu"), 3), stop_time=0.1, compile=True).ok


def test_where_there_is_no_sandbox_nothing_is_compiled_for_a_run_in_one(place, monkeypatch):
    sandbox.missing_layers.cache_clear()
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)
    with pytest.raises(NoSandbox):
        ssptool.simulate(system1(Path("System1.fmu"), 2), compile=True, sandbox=True)
    assert not (place / "cache").exists()
    assert ssptool.simulate(Path("System1.fmu"), stop_time=0.1, compile=True).ok
    sandbox.missing_layers.cache_clear()
