"""upgrade, downgrade, pack, unpack and variant as a user meets them."""

import shutil
from pathlib import Path

import pytest

import ssptool as library
from ssptool.documents.archive import Archive
from tests.network.packages import component, model, package, ssd, ssv

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
MASSES = SYSTEM.with_name("mass_spring_damper")
MODEL = model("input u Real; output y Real")


@pytest.fixture
def clocked(tmp_path) -> Path:
    """A system of 2.0 with a clock, which 1.0 cannot hold."""
    elements = [component("A", "A", "input u Real, output tick Clock")]
    return package(tmp_path / "clocked", ssd(f"<ssd:Elements>{''.join(elements)}</ssd:Elements>"), {"A": MODEL}).path


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.ss?")}


def test_downgrade_and_upgrade_say_what_they_did(ssptool, tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    status, out, _ = ssptool("downgrade", folder)
    assert status == 0
    assert "Mixed.ssd:" in out and "weakened: the FMU of" in out and "SSP 1.0 (changed: FMI3.ssd, Mixed.ssd" in out
    assert ssptool("downgrade", folder)[1].strip().endswith("nothing to do")
    status, out, _ = ssptool("upgrade", folder)
    assert (status, "to SSP 2.0 (changed: " in out) == (0, True)
    assert ssptool("validate", folder)[0] == 0


def test_downgrade_refuses_by_name_with_file_and_line(ssptool, clocked):
    before = texts(clocked)
    status, _, err = ssptool("downgrade", clocked)
    assert status == 1
    assert "SystemStructure.ssd:2: the connector 'tick' of 'A' is a clock" in err
    assert "--drop" in err
    assert texts(clocked) == before


def test_downgrade_drops_on_demand_and_upgrade_brings_back(ssptool, clocked):
    status, out, _ = ssptool("downgrade", clocked, "--drop")
    assert (status, "dropped: the connector" in out) == (0, True)
    text = texts(clocked)["SystemStructure.ssd"]
    assert 'version="1.0"' in text
    assert "<ssc:Clock" not in text
    # The FMU of the test has no clock, so what comes back is an error again.
    assert ssptool("upgrade", clocked)[0] == 1
    status, out, _ = ssptool("upgrade", clocked, "--force")
    assert (status, "restored" in out) == (0, True)
    assert "<ssc:Clock" in texts(clocked)["SystemStructure.ssd"]


@pytest.mark.parametrize("arguments", [["upgrade"], ["downgrade", "--drop"]])
def test_diff_shows_the_change_and_writes_nothing(ssptool, clocked, tmp_path, arguments):
    folder = clocked if arguments[0] == "downgrade" else Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    before = texts(folder)
    status, out, _ = ssptool(arguments[0], folder, *arguments[1:], "--diff")
    assert (status, texts(folder)) == (0, before)
    assert "--- a/SystemStructure.ssd" in out
    assert any(line.startswith("+") and "version=" in line for line in out.splitlines())


def test_output_leaves_the_original_alone(ssptool, clocked, tmp_path):
    before = texts(clocked)
    status, out, _ = ssptool("downgrade", clocked, "--drop", "--output", tmp_path / "old.ssp")
    assert (status, texts(clocked)) == (0, before)
    assert "old.ssp to SSP 1.0 (changed: " in out
    status, _, err = ssptool("downgrade", clocked, "--drop", "--output", clocked.parent)
    assert (status, "not empty" in err) == (2, True)


def test_what_refers_to_something_dropped_is_named_and_goes_and_all_of_it_comes_back(ssptool, tmp_path):
    """The only item of an enumeration needs 33 bits, so that the type of a connector has no definition."""
    enumeration = '<ssc:Enumeration name="E"><ssc:Item name="wide" value="4294967296"/></ssc:Enumeration>'
    connector = '<ssd:Connector name="u" kind="input"><ssc:Enumeration name="E"/></ssd:Connector>'
    structure = ssd(
        f"<ssd:Connectors>{connector}</ssd:Connectors>", extra=f"<ssd:Enumerations>{enumeration}</ssd:Enumerations>"
    )
    folder = package(tmp_path / "p", structure, {}).path
    before = texts(folder)
    status, _, err = ssptool("downgrade", folder)
    assert (status, texts(folder)) == (1, before)
    assert "the connector 'u' has no type: the enumeration 'E' is gone" in err
    status, out, _ = ssptool("downgrade", folder, "--drop")
    assert status == 0
    assert "dropped: the connector 'u' has no type: the enumeration 'E' is gone" in out
    assert library.validate(folder).errors == ()
    assert ssptool("upgrade", folder)[0] == 0
    assert "".join(texts(folder)["SystemStructure.ssd"].split()) == "".join(before["SystemStructure.ssd"].split())


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_types_get_their_names_of_fmi_3_and_lose_them_again(ssptool, tmp_path, form):
    folder = Path(shutil.copytree(MASSES, tmp_path / "masses"))
    path = folder if form == "folder" else library.pack(folder).path
    before = contents(path)
    status, out, _ = ssptool("upgrade", path, "--types", "fmi3")
    assert status == 0
    assert "SystemStructure.ssd:2: renamed: the type of 14 connectors is Float64 now (was Real)" in out
    assert [name for name, text in contents(path).items() if b":Real" in text or b":Integer" in text] == []
    assert library.validate(path).errors == ()
    assert ssptool("downgrade", path)[0] == 0
    assert contents(path) == before


def test_types_of_a_document_of_2_0_get_their_names_of_fmi_3_too(ssptool, tmp_path):
    (tmp_path / "x.ssv").write_text(ssv("a Real value='1'", "b Integer value='2'", "c Float64 value='3'"))
    assert ssptool("upgrade", "x.ssv")[1] == "x.ssv is SSP 2.0 already, nothing to do\n"
    status, out, _ = ssptool("upgrade", "x.ssv", "--types", "fmi3")
    assert status == 0
    for old, new in (("Integer", "Int32"), ("Real", "Float64")):
        assert f"x.ssv:1: renamed: the type of 1 parameter is {new} now (was {old})\n" in out
    wanted = ssv("a Float64 value='1'", "b Int32 value='2'", "c Float64 value='3'")
    assert (tmp_path / "x.ssv").read_text() == wanted


def contents(path: Path) -> dict[str, bytes]:
    with Archive.open(path) as archive:
        return {name: archive.read(name) for name in archive.names() if name.endswith((".ssd", ".ssv", ".ssm"))}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["upgrade", "nowhere.ssp"], "nowhere.ssp does not exist"),
        (["upgrade", "text.ssp"], "PKG-001"),
        (["upgrade", "text.ssv"], "XML-001"),
        (["downgrade", "other.ssv"], "SSP knows the versions 1.0 and 2.0"),
        (["pack", "nowhere"], "nowhere"),
        (["pack", "text.ssp"], "not a folder"),
        (["unpack", "nowhere.ssp"], "nowhere.ssp"),
        (["unpack", "text.ssp"], "PKG-001"),
        (["variant", "list", "text.ssp"], "PKG-001"),
        (["variant", "remove", SYSTEM, "No"], "DualMassOscillatorMixed"),
        (["variant", "add", SYSTEM, "DualMassOscillator"], "must differ"),
        (["variant", "default", SYSTEM / "Mixed.ssd", "Mixed"], "folder"),
    ],
)
def test_wrong_use_is_explained(ssptool, tmp_path, arguments, hint):
    (tmp_path / "text.ssp").write_text("text")
    (tmp_path / "text.ssv").write_text("text")
    space = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    (tmp_path / "other.ssv").write_text(
        f'<ParameterSet xmlns="{space}" version="3.0" name="x"><Parameters/></ParameterSet>'
    )
    status, out, err = ssptool(*arguments)
    assert status in (1, 2)
    assert hint in err
    assert out == ""
    assert "Traceback" not in err


def test_pack_unpack_and_run_the_rest_of_the_way(ssptool, tmp_path):
    status, out, _ = ssptool("pack", SYSTEM, tmp_path / "dmo.ssp")
    assert (status, "skipped README.md" in out) == (0, True)
    assert ssptool("validate", tmp_path / "dmo.ssp")[0] == 0
    assert ssptool("unpack", tmp_path / "dmo.ssp")[0] == 0
    status, _, err = ssptool("unpack", tmp_path / "dmo.ssp")
    assert (status, "--force" in err) == (2, True)
    assert ssptool("diff", tmp_path / "dmo.ssp", tmp_path / "dmo")[0] == 0


def test_variants_are_added_listed_made_default_and_removed(ssptool, tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    assert ssptool("variant", "add", folder, "Heavy", "--from", "Mixed")[0] == 0
    assert "Heavy  (Heavy.ssd, SSP 2.0)" in ssptool("variant", "list", folder)[1]
    status, out, _ = ssptool("variant", "default", folder, "Heavy", "--diff")
    assert (status, "+++ b/SystemStructure.ssd" in out) == (0, True)
    assert "Heavy.ssd" in ssptool("variant", "list", folder)[1]
    assert ssptool("variant", "default", folder, "Heavy")[0] == 0
    assert ssptool("variant", "list", folder)[1].startswith("Heavy  (SystemStructure.ssd, SSP 2.0, the default)")
    assert ssptool("variant", "remove", folder, "DualMassOscillator")[0] == 0
    assert ssptool("validate", folder)[0] == 0
