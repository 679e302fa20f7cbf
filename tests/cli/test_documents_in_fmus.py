"""Parameter sets and other documents of SSP that FMUs carry."""

import json
import zipfile
from pathlib import Path

import pytest

import ssptool as api

FMU = Path(__file__).parents[2] / "systems" / "mass_spring_damper" / "resources" / "SlidingMass.fmu"
HEAVY = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="Heavy">
  <ssv:Parameters>
    <ssv:Parameter name="m"><ssv:Real value="7000" unit="g"/></ssv:Parameter>
    <ssv:Parameter name="colour"><ssv:String value="red"/></ssv:Parameter>
  </ssv:Parameters>
  <ssv:Units><ssc:Unit name="g"><ssc:BaseUnit kg="1" factor="0.001"/></ssc:Unit></ssv:Units>
</ssv:ParameterSet>
"""
SRMD = "http://ssp-standard.org/SSPTraceability1/SimulationResourceMetaData"
INSIDE = {
    "extra/org.example.sets/heavy.ssv": HEAVY,
    "extra/org.ssp-standard.ssp-traceability.srmd/resourceMetaData.srmd": (
        f'<srmd:SimulationResourceMetaData xmlns:srmd="{SRMD}" version="1.0" name="Facts"/>'
    ),
    "resources/broken.ssv": "<a>",
}


@pytest.fixture
def fmu(tmp_path: Path) -> Path:
    path = tmp_path / "mass.fmu"
    with zipfile.ZipFile(FMU) as source, zipfile.ZipFile(path, "w") as packed:
        for name in source.namelist():
            packed.writestr(name, source.read(name))
        for name, text in INSIDE.items():
            packed.writestr(name, text)
    return path


@pytest.mark.parametrize("unpacked", [False, True])
def test_info_lists_the_documents_in_an_fmu(unpacked, fmu, ssptool, tmp_path):
    if unpacked:
        with zipfile.ZipFile(fmu) as packed:
            packed.extractall(tmp_path / "folder")
        fmu = tmp_path / "folder"
    status, out, _ = ssptool("info", fmu)
    assert status == 0
    assert "  inside: extra/org.example.sets/heavy.ssv  (Heavy: 2 parameters, 1 of 2 match a variable)" in out
    assert "resourceMetaData.srmd  (Facts)" in out
    assert "  inside: resources/broken.ssv  (not well-formed XML" in out
    heavy, metadata, broken = json.loads(ssptool("info", fmu, "--format", "json")[1])["components"][0]["documents"]
    assert (heavy["kind"], heavy["parameters"], heavy["unmatched"]) == ("ssv", 2, ["colour"])
    assert (metadata["kind"], metadata["name"]) == ("srmd", "Facts")
    assert broken["problem"]


def test_a_parameter_set_in_an_fmu_is_bound(fmu, ssptool, tmp_path):
    ssptool("new", "p.ssp")
    ssptool("add", "p.ssp", fmu, "--name", "Mass")
    assert "inside: extra/org.example.sets/heavy.ssv" in ssptool("info", "p.ssp", "Mass")[1]
    entry = "resources/mass.fmu!extra/org.example.sets/heavy.ssv"
    status, out, err = ssptool("bind", "p.ssp", entry, "--to", "Mass")
    assert status == 0, err
    assert "bound resources/heavy.ssv to Mass: 1 of its 2 names match a variable" in out
    assert ssptool("explain", "p.ssp", "Mass.m")[1].startswith("Mass.m = 7 kg")
    assert not api.validate(tmp_path / "p.ssp").errors
    assert api.info(tmp_path / "p.ssp").components[0].documents[0].name == "Heavy"
