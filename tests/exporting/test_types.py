"""Variables of every type: what an importer sets arrives in the part, and what the part has arrives in the importer."""

import re
from collections.abc import Iterable
from pathlib import Path

import fmpy.validation
import pytest

from ssptool.engine.failure import Unsupported
from tests.engine.carriers import TYPES, build, write_system
from tests.exporting.fmus import exported, initialize, instance

EXTREMES = {
    "Float64": (-0.1, 1.7976931348623157e308),
    "Float32": (-0.5, 3.4028234663852886e38),
    **{f"Int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (1, 2**bits - 1) for bits in (8, 16, 32, 64)},
    "Real": (-0.1, 1.7976931348623157e308),
    "Integer": (-(2**31), 2**31 - 1),
    "Boolean": (True, False),
    "String": ("text", "größer als 100 %"),
    "Enumeration": (2, 1),
}
TOO_LARGE = {"UInt32", "Int64", "UInt64"}
"""What FMI 2.0 has no variables for."""


@pytest.fixture(scope="module")
def carriers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("carriers")
    build(folder)
    return folder


def write_carried(folder: Path, fmus: Path, part: int, kinds: Iterable[str]) -> Path:
    """A system with an input and two outputs of each type, which lead to the same of a carrier of that version."""
    write_system(folder, fmus, [("A", part)], [])
    connectors, connections = "", ""
    for kind in kinds:
        declared = ' name="Gear"' if kind == "Enumeration" else ""
        for name in ("u", "was", "is"):
            side = "input" if name == "u" else "output"
            connectors += f'<ssd:Connector name="{kind}_{name}" kind="{side}"><ssc:{kind}{declared}/></ssd:Connector>'
            inner, outer = f'Element="A" {{}}Connector="{kind}_{name}"', f'Connector="{kind}_{name}"'
            ends = ("start", "end") if name == "u" else ("end", "start")
            connections += f"<ssd:Connection {ends[0]}{outer} {ends[1]}{inner.format(ends[1])}/>"
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text(encoding="utf-8")
    text = text.replace("<ssd:Elements>", f"<ssd:Connectors>{connectors}</ssd:Connectors><ssd:Elements>", 1)
    text = text.replace("<ssd:Connections></ssd:Connections>", f"<ssd:Connections>{connections}</ssd:Connections>")
    ssd.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("part", [2, 3], ids="part{}".format)
def test_values_of_every_type_pass_without_loss(part, fmi, carriers, tmp_path):
    kinds = [kind for kind in TYPES[part] if fmi == 3 or kind not in TOO_LARGE]
    system = write_carried(tmp_path / "system", carriers, part, kinds)
    fmu = exported(system, tmp_path, step_size=0.1, fmi=fmi)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    of_fmi = {one.name: one.type for one in fmpy.read_model_description(str(fmu)).modelVariables}
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        for number in range(2):
            for kind in kinds:
                _set(slave, of_fmi, f"{kind}_u", EXTREMES[kind][number])
            for kind in kinds:
                assert _get(slave, of_fmi, f"{kind}_is") == EXTREMES[kind][number], kind
            slave.doStep(number * 0.1, 0.1)
            for kind in kinds:
                assert _get(slave, of_fmi, f"{kind}_was") == EXTREMES[kind][number], kind


def _suffix(slave, kind):
    integer = "Int64" if hasattr(slave, "fmi3SetInt64") else "Integer"
    return integer if kind == "Enumeration" else kind


def _set(slave, of_fmi, name, value):
    getattr(slave, f"set{_suffix(slave, of_fmi[name])}")([slave.references[name]], [value])


def _get(slave, of_fmi, name):
    (value,) = getattr(slave, f"get{_suffix(slave, of_fmi[name])}")([slave.references[name]])
    return value.decode() if isinstance(value, bytes) else value


def test_variables_of_fmi_3_have_the_type_of_the_connector(carriers, tmp_path):
    system = write_carried(tmp_path / "system", carriers, 3, TYPES[3])
    fmu = exported(system, tmp_path, step_size=0.1, fmi=3)
    found = {one.name: one for one in fmpy.read_model_description(str(fmu)).modelVariables}
    for kind in TYPES[3]:
        assert found[f"{kind}_u"].type == found[f"{kind}_is"].type == kind
        assert found[f"{kind}_u"].variability == ("continuous" if kind.startswith("Float") else "discrete")
    items = {one.name: one.value for one in found["Enumeration_u"].declaredType.items}
    assert items == {"a": "1", "b": "2"}


@pytest.mark.parametrize("kind", sorted(TOO_LARGE))
def test_a_type_that_fmi_2_lacks_is_refused_with_a_way_out(kind, carriers, tmp_path):
    system = write_carried(tmp_path / "system", carriers, 3, [kind])
    message = f"variable {kind}_u: variables of type {kind} are not supported in an exported FMU of FMI 2.0"
    with pytest.raises(Unsupported, match=re.escape(message)) as refused:
        exported(system, tmp_path, step_size=0.1)
    assert "--fmi 3" in str(refused.value)


def test_the_name_of_the_independent_variable_is_one_that_no_other_has(carriers, tmp_path):
    system = write_carried(tmp_path / "system", carriers, 3, ["Float64"])
    ssd = system / "SystemStructure.ssd"
    connectors, connections = 'nector name="Float64_u"', 'startConnector="Float64_u"'
    text = ssd.read_text(encoding="utf-8")
    text = text.replace(connectors, 'nector name="time"', 1).replace(connections, 'startConnector="time"')
    ssd.write_text(text, encoding="utf-8")
    fmu = exported(system, tmp_path, step_size=0.1, fmi=3)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.setFloat64([slave.references["time"]], [7.0])
        slave.doStep(0.0, 0.1)
        found = slave.getFloat64([slave.references[name] for name in ("time", "time_1", "Float64_is")])
        assert found == [7.0, 0.1, 7.0]
