"""FMUs that bring sources and no library: compiled with consent, into a cache, and as good as built ones."""

import zipfile

import pytest
from pytest import approx

import ssptool as api
from ssptool.fmu.description import UnusableFmu
from tests.fmu.source_fmus import RESOURCES, system1

SETTINGS = api.Settings(stop_time=1.0)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("version", [2, 3])
def test_a_compiled_fmu_gives_the_results_of_the_built_one(tmp_path, cache, version):
    path = system1(tmp_path / "System1.fmu", version)
    before = path.read_bytes()
    start = {"System1.x1_start": 0.5}
    result = api.simulate(path, settings=SETTINGS, start_values=start, compile=True)
    built = RESOURCES / ("fmi3/System1.fmu" if version == 3 else "System1.fmu")
    expected = api.simulate(built, settings=SETTINGS, start_values=start)
    assert result.trace["System1.x1"] == approx(expected.trace["System1.x1"], abs=1e-12)
    assert path.read_bytes() == before
    assert any("was compiled from its sources" in note for note in result.notes)
    again = api.simulate(path, settings=SETTINGS, start_values=start, compile=True)
    assert any("compiled before" in note for note in again.notes)
    assert [one.suffix for one in cache.iterdir()] == [".fmu"]


def test_without_consent_nothing_is_compiled_and_the_message_says_how(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 2)
    with pytest.raises(
        api.exceptions.MissingBinary, match=r"contains its sources: compile them with --compile .*compile=True"
    ):
        api.simulate(path, settings=SETTINGS)
    assert not cache.exists()


def test_an_unpacked_source_fmu_is_compiled_and_its_folder_stays_as_it_was(tmp_path, cache):
    with zipfile.ZipFile(system1(tmp_path / "packed.fmu", 3)) as packed:
        packed.extractall(tmp_path / "unpacked")
    before = sorted(tmp_path.glob("unpacked/**/*"))
    assert api.simulate(tmp_path / "unpacked", settings=SETTINGS, compile=True).ok
    assert sorted(tmp_path.glob("unpacked/**/*")) == before


def test_a_step_wise_simulation_compiles_as_well(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 2)
    with api.Simulation(path, start_values={"System1.x1_start": 0.5}, compile=True) as simulation:
        assert simulation.get("System1.a1") == approx(-10 * 0.5, abs=1e-12)


def test_sources_in_cpp_are_compiled_and_linked_as_such(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 3, suffix=".cpp")
    assert api.simulate(path, settings=SETTINGS, compile=True).ok


def test_errors_of_the_compiler_are_shown_shortly_with_the_place_of_the_rest(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 2, broken="\nint broken = ;\n")
    with pytest.raises(UnusableFmu) as refused:
        api.simulate(path, settings=SETTINGS, compile=True)
    message = str(refused.value)
    log = message.rpartition("all of it: ")[2]
    assert "refuses System1.c" in message and "System1.c:" in message and "error" in message
    assert "int broken = ;" in (cache / log.rpartition("/")[2]).read_text()
    assert [one.suffix for one in cache.iterdir()] == [".log"]


def test_another_content_or_compiler_is_another_entry_of_the_cache(tmp_path, cache, monkeypatch):
    path = system1(tmp_path / "System1.fmu", 2)
    api.simulate(path, settings=SETTINGS, compile=True)
    system1(tmp_path / "System1.fmu", 2, broken="\n/* another comment */\n")
    api.simulate(path, settings=SETTINGS, compile=True)
    assert len(list(cache.iterdir())) == 2


def test_sources_that_are_not_listed_are_refused(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 2, listed=False)
    with pytest.raises(UnusableFmu, match=r"SourceFiles of modelDescription.xml lists no sources of System1"):
        api.simulate(path, settings=SETTINGS, compile=True)


def test_a_machine_without_a_compiler_is_told_what_to_install(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(UnusableFmu, match=r"no C compiler .*install gcc or clang"):
        api.simulate(system1(tmp_path / "System1.fmu", 2), settings=SETTINGS, compile=True)


def test_a_library_that_is_not_installed_is_named_with_its_line(tmp_path, cache):
    path = system1(tmp_path / "System1.fmu", 3)
    with zipfile.ZipFile(path) as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    stated = contents["sources/buildDescription.xml"].replace(
        b"</BuildConfiguration>", b'\n<Library name="no_such-library" external="true"/></BuildConfiguration>'
    )
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**contents, "sources/buildDescription.xml": stated}.items():
            packed.writestr(name, content)
    with pytest.raises(UnusableFmu) as refused:
        api.simulate(path, settings=SETTINGS, compile=True)
    assert "sources/buildDescription.xml:2: " in str(refused.value)
    assert "'no_such-library'" in str(refused.value)
