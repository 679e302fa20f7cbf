"""Each limit of another tool that a rule names is seen in that tool: it refuses the system, or gives other values.

The system is the oscillator of one degree of freedom with the mass as its one parameter. OMSimulator is not to be had
as a package: its limits were read in its source and seen by hand (docs/interoperability.md).
"""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.rules.catalogue import RULES
from tests.systems.peers import SYSTEMS, where_wheels_are

pytestmark = where_wheels_are
OSCILLATOR = SYSTEMS / "one_dof_oscillator"
STEP, STEPS = 1e-3, 50
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSM = "http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
SSB = "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"


def binding(name: str, kind: str = "Real", value: str = "0.1", prefix: str = "", mapping: str = "") -> str:
    parameter = f'<ssv:Parameter name="{name}"><ssv:{kind} value="{value}"/></ssv:Parameter>'
    values = f'<ssv:ParameterSet xmlns:ssv="{SSV}" version="1.0" name="values"><ssv:Parameters>{parameter}'
    stated = f' prefix="{prefix}"' if prefix else ""
    return (
        f"<ssd:ParameterBinding{stated}><ssd:ParameterValues>{values}</ssv:Parameters></ssv:ParameterSet>"
        f"</ssd:ParameterValues>{mapping}</ssd:ParameterBinding>"
    )


def of_mass(*bindings: str) -> str:
    """The system with parameter bindings of the mass."""
    all_of_them = f"<ssd:ParameterBindings>{''.join(bindings)}</ssd:ParameterBindings>" if bindings else ""
    return re.sub(r'(<ssd:Component name="Mass".*?</ssd:Connectors>)', rf"\1{all_of_them}", PLAIN, count=1, flags=re.S)


def _plain() -> str:
    text = (OSCILLATOR / "SystemStructure.ssd").read_text()
    text = re.sub(r"<ssd:ParameterBindings>.*?</ssd:ParameterBindings>", "", text, count=1, flags=re.S)
    return re.sub(r"<ssd:(Element|Connector|System)Geometry[^>]*/>", "", text)


PLAIN = _plain()
HEAVY = of_mass(binding("m"))
MAPPING = (
    f'<ssd:ParameterMapping><ssm:ParameterMapping xmlns:ssm="{SSM}" version="1.0">'
    '<ssm:MappingEntry source="q" target="m"/></ssm:ParameterMapping></ssd:ParameterMapping>'
)
OUTER = '<ssd:Connectors><ssd:Connector name="out" kind="output"><ssc:Real unit="m"/></ssd:Connector></ssd:Connectors>'
DICTIONARY = (
    '<ssd:SignalDictionaries><ssd:SignalDictionary name="D"><ssb:SignalDictionary version="1.0" '
    f'xmlns:ssb="{SSB}"><ssb:DictionaryEntry name="q"><ssc:Real/></ssb:DictionaryEntry></ssb:SignalDictionary>'
    "</ssd:SignalDictionary></ssd:SignalDictionaries>"
)
TABLE = (
    '<ssd:Component name="Table" type="text/csv" source="resources/table.csv"><ssd:Connectors>'
    '<ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector></ssd:Connectors></ssd:Component></ssd:Elements>'
)
SUB = '<ssd:System name="Sub"/></ssd:Elements>'
MILLIMETRE = '<ssd:Units><ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit>'


def force(transformation: str) -> str:
    return HEAVY.replace('endConnector="F"/>', f'endConnector="F">{transformation}</ssd:Connection>')


BOUNDARY = HEAVY.replace("<ssd:Elements>", f"{OUTER}<ssd:Elements>", 1).replace(
    "</ssd:Connections>",
    '<ssd:Connection startElement="Mass" startConnector="z" endConnector="out"/></ssd:Connections>',
)
REFERENCE = '<ssd:SignalDictionaryReference name="R" dictionary="D"/></ssd:Elements>'
FLANGED = HEAVY.replace("</ssd:Elements>", SUB)
LIMITED = {
    "PEER-003": FLANGED,
    "PEER-004": BOUNDARY,
    "PEER-005": HEAVY.replace('<ssc:Real unit="N"/>', ""),
    "PEER-006": HEAVY.replace('version="1.0" name="OneDof', 'version="2.0" name="OneDof'),
    "PEER-007": force('<ssc:LinearTransformation offset="0"/>'),
    "PEER-008": force('<ssc:LinearTransformation factor="2"/>'),
    "PEER-010": re.sub(r'(name="z" kind="input"[^>]*>)<ssc:Real unit="m"/>', r'\1<ssc:Real unit="mm"/>', HEAVY).replace(
        "<ssd:Units>", MILLIMETRE
    ),
    "PEER-011": PLAIN.replace(
        "<ssd:Elements>", f"<ssd:ParameterBindings>{binding('Mass.m')}</ssd:ParameterBindings><ssd:Elements>", 1
    ),
    "PEER-012": of_mass(binding("q", mapping=MAPPING)),
    "PEER-013": of_mass(binding("", prefix="m")),
    "PEER-014": of_mass(binding("m"), binding("n", kind="Binary", value="00")).replace('name="n"', 'name="v"'),
    "PEER-015": HEAVY.replace("</ssd:Elements>", REFERENCE).replace(
        "</ssd:Connections>", f"</ssd:Connections>{DICTIONARY}"
    ),
    "PEER-018": HEAVY.replace("<ssd:", "<").replace("</ssd:", "</").replace("xmlns:ssd=", "xmlns="),
    "PEER-019": re.sub(
        r'startElement="Mass" startConnector="z" endElement="SpringDamper" endConnector="z"',
        'startElement="SpringDamper" startConnector="z" endElement="Mass" endConnector="z"',
        HEAVY,
    ),
    "PEER-020": of_mass(binding("z", value="0.0016"), binding("m")),
    "PEER-021": HEAVY.replace("</ssd:Elements>", TABLE),
}
"""Rule → the system with what the rule names, and with the mass of 0.1 kg."""
WITHOUT = {  # rule → what is left where a tool ignores it
    "PEER-008": HEAVY,
    "PEER-011": PLAIN,
    "PEER-012": PLAIN,
    "PEER-013": PLAIN,
    "PEER-020": PLAIN,
}
OF_FMUS_AND_DOCUMENTS = {"PEER-002", "PEER-009", "PEER-016", "PEER-017"}
"""Seen with other FMUs: in docs/interoperability.md."""


def package(folder: Path, text: str) -> Path:
    path = folder / "limited.ssp"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("SystemStructure.ssd", text)
        archive.writestr("resources/table.csv", "time,y\n0,0\n1,1\n")
        for name in ("Mass.fmu", "SpringDamper.fmu"):
            archive.write(OSCILLATOR / "resources" / name, f"resources/{name}")
    return path


def found(path: Path, tool: str) -> set[str]:
    return {one.code for one in ssptool.validate(path, tools=[tool]).diagnostics if one.code.startswith("PEER")}


def in_peer(tool: str, path: Path) -> float | None:
    """Position of the mass at the end; None if the tool refuses the system."""
    probe = ["tests.systems.probe_of_peer", tool, path, str(STEP), str(STEPS), "Mass.z"]
    done = subprocess.run([sys.executable, "-m", *map(str, probe)], capture_output=True, text=True, check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


@pytest.fixture(scope="module")
def plain_and_heavy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    texts = {"plain": PLAIN, "heavy": HEAVY}
    return {
        (tool, name): in_peer(tool, package(folder, text))
        for tool in ("fmpy", "libcosim", "ecos")
        for name, text in texts.items()
    }


@pytest.mark.parametrize("tool", ["libcosim", "ecos"])
def test_the_system_itself_is_taken_with_its_parameter(tool, plain_and_heavy, tmp_path):
    plain, heavy = plain_and_heavy[tool, "plain"], plain_and_heavy[tool, "heavy"]
    assert plain is not None and heavy is not None and plain != heavy
    assert found(package(tmp_path, HEAVY), tool) == set()


CASES = [
    (code, tool)
    for code, rule in sorted(RULES.items())
    for tool in rule.tools
    if tool != "omsimulator" and code in LIMITED
]


@pytest.mark.slow
@pytest.mark.parametrize(("code", "tool"), CASES)
def test_a_limit_is_one(code, tool, plain_and_heavy, tmp_path):
    path = package(tmp_path, LIMITED[code])
    assert code in found(path, tool)
    value = in_peer(tool, path)
    effect = RULES[code].tools[tool]
    if "refuses" in effect or "finds nothing" in effect:
        assert value is None
    elif code in WITHOUT:
        assert value == plain_and_heavy[tool, "plain" if WITHOUT[code] is PLAIN else "heavy"]
    elif code in ("PEER-003", "PEER-010", "PEER-015"):  # values as if nothing were stated
        assert value == plain_and_heavy[tool, "heavy"]
    else:
        assert value is not None and value != plain_and_heavy[tool, "heavy"]


def test_every_limit_has_a_case():
    limits = {code for code, rule in RULES.items() if rule.tools}
    assert limits == {"PEER-001"} | set(LIMITED) | OF_FMUS_AND_DOCUMENTS


@pytest.mark.parametrize(
    "name", ["dual_mass_oscillator", "flyball_governor", "one_dof_oscillator", "rotational_spring_mass_damper"]
)
def test_example_systems_that_claim_omsimulator_are_clean_in_its_profile(name):
    assert found(SYSTEMS / name / "SystemStructure.ssd", "omsimulator") == set()
