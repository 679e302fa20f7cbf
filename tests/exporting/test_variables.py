"""Inputs, parameters and outputs of an exported system: described as they are, and acting as they should."""

import re
import zipfile

import fmpy
import fmpy.validation
import numpy as np
import pytest

import ssptool
from tests.engine.stimuli.pushed_mass import MASS, step, write_pushed_mass
from tests.engine.systems import write_system
from tests.exporting.fmus import SYSTEMS, exported, in_fmpy, initialize, instance, real, set_real

ONE = SYSTEMS / "one_dof_oscillator"


@pytest.fixture
def pushed(tmp_path):
    return write_pushed_mass(tmp_path / "pushed", ONE / "resources")


def test_connectors_become_variables_with_unit_start_and_description(pushed, fmi, tmp_path):
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.z", "Mass.m"], fmi=fmi)
    push, z, m, *time = fmpy.read_model_description(str(fmu)).modelVariables
    assert (push.name, push.causality, push.unit, push.start) == ("push", "input", "N", "0.0")
    assert (z.name, z.causality, z.unit, z.description, z.start) == ("Mass.z", "output", "m", "position", None)
    assert (m.name, m.causality, m.start) == ("Mass.m", "parameter", repr(MASS))
    assert [(one.name, one.causality, one.unit) for one in time] == [("time", "independent", "s")] * (fmi == 3)


def test_nominal_values_are_those_of_the_components(tmp_path):
    """They are what iterations of an importer are judged by."""
    own = fmpy.read_model_description(str(SYSTEMS / "dual_mass_oscillator" / "resources" / "System1.fmu"))
    stated = {f"System1.{one.name}": float(one.nominal) for one in own.modelVariables if one.nominal}
    assert set(stated.values()) - {1.0}
    fmu = exported(SYSTEMS / "dual_mass_oscillator", tmp_path, expose=["System1.*"])
    found = {one.name: float(one.nominal or 1.0) for one in fmpy.read_model_description(str(fmu)).modelVariables}
    assert {name: found[name] for name in stated if name in found} == {n: v for n, v in stated.items() if n in found}


def test_an_input_acts_as_a_force_that_jumps(pushed, fmi, tmp_path):
    """Held over each communication step, as FMI has it: z and v follow the closed form to rounding."""
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.z", "Mass.v"], fmi=fmi)
    times = np.array([0.0, 0.5, 0.5, 1.0])
    signals = np.array(list(zip(times, [0.0, 0.0, 3.0, 3.0], strict=True)), dtype=[("time", float), ("push", float)])
    found = in_fmpy(fmu, 0.01, input=signals, stop_time=1.0)
    z, v = step(found["time"], 0.5, 3.0)
    np.testing.assert_allclose(found["Mass.v"], v, atol=1e-12)
    np.testing.assert_allclose(found["Mass.z"], z, atol=2e-3)  # of the FMU's own first-order steps


def test_the_same_bits_as_a_run_with_the_same_inputs(pushed, fmi, tmp_path):
    """Of a table that is held, at whose jumps macro steps end in both."""
    times = [0.0, 0.1, 0.25, 0.6]
    forces = [1.0, -2.0, 5.0, 0.5]
    table = tmp_path / "push.csv"
    table.write_text("time,push\n" + "".join(f"{t},{f}\n" for t, f in zip(times, forces, strict=True)))
    run = ssptool.simulate(
        pushed, inputs=table, interpolation="hold", step_size=0.01, stop_time=1.0, output_step=None
    ).unwrap()
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.z", "Mass.v"], fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "push", forces[0])
        initialize(slave)
        for begin, end, force in zip(times, [*times[1:], 1.0], forces, strict=True):
            set_real(slave, "push", force)
            slave.doStep(begin, end - begin)
            last = np.flatnonzero(run.t <= end + 1e-9)[-1]
            assert real(slave, "Mass.z") == run["Mass.z"][last]
            assert real(slave, "Mass.v") == run["Mass.v"][last]


def test_a_parameter_that_the_importer_sets_is_that_of_the_part(fmi, tmp_path):
    run = ssptool.simulate(ONE, master="jacobi", start_values={"Mass.m": 0.5, "Mass.z": 0.02}).unwrap()
    fmu = exported(ONE, tmp_path, master="jacobi", expose=["Mass.m", "Mass.z", "SpringDamper.k"], fmi=fmi)
    found = in_fmpy(fmu, 0.001, start_values={"Mass.m": 0.5})
    assert found.dtype.names == ("time", "Mass.z")
    again = ssptool.simulate(ONE, master="jacobi", start_values={"Mass.m": 0.5}).unwrap()
    np.testing.assert_array_equal(found["Mass.z"], again["Mass.z"])
    assert not np.array_equal(again["Mass.z"], run["Mass.z"])


def test_a_parameter_of_the_system_is_set_and_read_in_its_own_unit(pushed, tmp_path, fmi):
    """`half` leads to Mass.m, twice as large: v = F t / m under a constant force."""
    ssd = pushed / "SystemStructure.ssd"
    text = ssd.read_text()
    text = text.replace(
        "</ssd:Connectors>",
        '<ssd:Connector name="half" kind="parameter"><ssc:Real unit="kg"/></ssd:Connector></ssd:Connectors>',
        1,
    )
    text = text.replace(
        '<ssd:Connector name="F" kind="input">',
        '<ssd:Connector name="m" kind="parameter"><ssc:Real unit="kg"/></ssd:Connector>'
        '<ssd:Connector name="F" kind="input">',
    )
    text = text.replace(
        "</ssd:Connections>",
        '<ssd:Connection startConnector="half" endElement="Mass" endConnector="m">'
        '<ssc:LinearTransformation factor="2"/></ssd:Connection></ssd:Connections>',
    )
    text = text.replace(
        "<ssv:Parameters>", '<ssv:Parameters><ssv:Parameter name="half"><ssv:Real value="1.0"/></ssv:Parameter>'
    )
    text = text.replace('<ssv:Parameter name="Mass.m"><ssv:Real value="2.0"/></ssv:Parameter>', "")
    ssd.write_text(text)
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.m", "Mass.v"], fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "half", 4.0)
        set_real(slave, "push", 1.0)
        initialize(slave)
        slave.doStep(0.0, 1.0)
        assert (real(slave, "half"), real(slave, "Mass.m")) == (4.0, 8.0)
        assert real(slave, "Mass.v") == pytest.approx(1.0 / 8.0, rel=1e-9)


def test_outputs_depend_on_the_inputs_that_reach_them_at_once_and_on_no_others(models, fmi, tmp_path):
    """Two inputs of the system; one reaches y at once, through an affine component, the other only the mass."""
    folder = write_system(
        tmp_path / "system",
        models,
        {"Gain": "Affine", "Mass": "Mass"},
        [],
    )
    ssd = folder / "SystemStructure.ssd"
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/></ssd:Connector>'
        for name, kind in (("a", "input"), ("b", "input"), ("y", "output"), ("z", "output"))
    )
    wires = "".join(
        f'<ssd:Connection {start} {end} suppressUnitConversion="true"/>'
        for start, end in (
            ('startConnector="a"', 'endElement="Gain" endConnector="u"'),
            ('startConnector="b"', 'endElement="Mass" endConnector="F"'),
            ('startElement="Gain" startConnector="y"', 'endConnector="y"'),
            ('startElement="Mass" startConnector="z"', 'endConnector="z"'),
        )
    )
    text = ssd.read_text()
    before, elements = text.split("<ssd:Elements>")
    elements, after = elements.split("</ssd:Elements>")
    ssd.write_text(
        f"{before}<ssd:Connectors>{connectors}</ssd:Connectors><ssd:Elements>{elements}</ssd:Elements>"
        f"<ssd:Connections>{wires}</ssd:Connections>{after}"
    )
    fmu = exported(folder, tmp_path, step_size=0.01, stop_time=0.1, fmi=fmi)
    description = fmpy.read_model_description(str(fmu))
    dependencies = {one.variable.name: [each.name for each in one.dependencies] for one in description.outputs}
    assert dependencies == {"y": ["a"], "z": []}


def test_all_variables_of_parts_make_a_valid_description(fmi, models, tmp_path):
    """Constants and structural parameters among them, which nobody can set from outside."""
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    with (
        zipfile.ZipFile(models.parent / "fmi3" / "Affine.fmu") as made,
        zipfile.ZipFile(fmus / "A.fmu", "w") as changed,
    ):
        for name in made.namelist():
            content = made.read(name)
            if name == "modelDescription.xml":
                content = re.sub(rb'(name="b".*?)causality="parameter" variability="tunable"', _CONSTANT, content)
                content = content.replace(b"</ModelVariables>", _STRUCTURAL + b"</ModelVariables>")
            changed.writestr(name, content)
    folder = write_system(tmp_path / "system", fmus, {"A": "A"}, [])
    fmu = exported(folder, tmp_path, step_size=0.1, expose=["A.*"] if fmi == 3 else ["A.[!n]"], fmi=fmi)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    found = {one.name: (one.causality, one.variability) for one in fmpy.read_model_description(str(fmu)).modelVariables}
    assert found["A.b"] == ("local", "fixed")
    assert found["A.a"] == ("parameter", "tunable")
    assert found.get("A.n", ("local", "fixed")) == ("local", "fixed")


_CONSTANT = rb'\1causality="local" variability="constant"'
_STRUCTURAL = (
    b'<UInt64 name="n" valueReference="99" causality="structuralParameter" variability="fixed" initial="exact" '
    b'start="2"/>'
)


def test_a_pattern_that_matches_nothing_is_named_with_what_is_near(tmp_path):
    with pytest.raises(ssptool.exceptions.UnknownName, match=r"--expose Mass.mm.*did you mean Mass\.m"):
        exported(ONE, tmp_path, expose=["Mass.mm"])
    assert list(tmp_path.iterdir()) == []
