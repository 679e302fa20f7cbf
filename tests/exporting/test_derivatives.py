"""Directional derivatives of exported systems, through algebraic loops, against closed forms."""

import pytest
from fmpy.fmi1 import FMICallException

from ssptool.fmu.read_description import read_description
from tests.engine.systems import write_system
from tests.exporting.fmus import exported, initialize, instance, real, set_real, set_up


def connected(folder, connectors, wires):
    """The system in a folder with connectors of its own (name → kind) and connections to and from these."""
    ssd = folder / "SystemStructure.ssd"
    declared = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/></ssd:Connector>' for name, kind in connectors.items()
    )
    made = "".join(f"<ssd:Connection {_end('start', one)} {_end('end', other)}/>" for one, other in wires)
    text = ssd.read_text()
    text = text.replace("<ssd:Elements>", f"<ssd:Connectors>{declared}</ssd:Connectors><ssd:Elements>")
    if "<ssd:Connections>" in text:
        text = text.replace("<ssd:Connections>", f"<ssd:Connections>{made}")
    else:
        text = text.replace("</ssd:Elements>", f"</ssd:Elements><ssd:Connections>{made}</ssd:Connections>")
    ssd.write_text(text.replace("/></ssd:Connections>", "/></ssd:Connections>"))
    return folder


def _end(which, name):
    element, dot, connector = name.rpartition(".")
    of = f'{which}Element="{element}" ' if dot else ""
    return f'{of}{which}Connector="{connector}"'


@pytest.fixture
def loop(models, tmp_path):
    """A.y = a B.y + b r and B.y = k A.y: A.y = b r / (1 - a k), out of the system as y and, over B, as z."""
    folder = write_system(tmp_path / "loop", models, {"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")])
    return connected(folder, {"r": "input", "y": "output", "z": "output"}, [("r", "A.w"), ("A.y", "y"), ("B.y", "z")])


@pytest.mark.parametrize(("a", "k"), [(0.5, 0.5), (-2.0, 1.0), (3.0, 4.0)])
def test_through_an_algebraic_loop(a, k, loop, fmi, tmp_path):
    b = 1.5
    values = {"A.a": a, "A.b": b, "B.a": k}
    fmu = exported(loop, tmp_path, start_values=values, step_size=0.1, stop_time=1.0, fmi=fmi)
    assert read_description(fmu).co_simulation.directional_derivatives
    with instance(fmu, tmp_path / "unpacked") as slave:
        r, y, z = (slave.references[name] for name in ("r", "y", "z"))
        set_real(slave, "r", 2.0)
        set_up(slave)
        at_start = slave.getDirectionalDerivative([y, z], [r], [1.0])
        slave.exitInitializationMode()
        slave.doStep(0.0, 0.1)
        later = slave.getDirectionalDerivative([y, z], [r], [-2.0])
        gain = b / (1.0 - a * k)
        assert at_start == pytest.approx([gain, gain * k], rel=1e-12)
        assert later == pytest.approx([-2.0 * gain, -2.0 * gain * k], rel=1e-12)
        assert [real(slave, "y"), real(slave, "z")] == pytest.approx([2.0 * gain, 2.0 * gain * k], rel=1e-12)


def test_adjoint_derivatives_are_the_transposed_ones(loop, tmp_path):
    """Only FMI 3.0 has them: of y and z by r, weighted with the seed."""
    a, k, b = 0.5, -1.5, 2.0
    values = {"A.a": a, "A.b": b, "B.a": k}
    fmu = exported(loop, tmp_path, start_values=values, step_size=0.1, stop_time=1.0, fmi=3)
    assert read_description(fmu).co_simulation.adjoint_derivatives
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        r, y, z = (slave.references[name] for name in ("r", "y", "z"))
        gain = b / (1.0 - a * k)
        found = slave.getAdjointDerivative([y, z], [r], [3.0, -1.0], 1)
        assert found == pytest.approx([gain * (3.0 - k)], rel=1e-12)


def test_by_a_variable_that_is_no_input(loop, fmi, tmp_path):
    fmu = exported(loop, tmp_path, step_size=0.1, stop_time=1.0, start_values={"A.a": 0.5}, expose=["A.b"], fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        with pytest.raises(FMICallException, match="Directional"):
            slave.getDirectionalDerivative([slave.references["y"]], [slave.references["A.b"]], [1.0])
