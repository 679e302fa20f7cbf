"""An export with an export inside: an algebraic loop across the boundary, with another one within it, and coupling over
steps across it.
"""

import numpy as np
import pytest

import ssptool
from tests.engine.systems import write_system
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy
from tests.exporting.test_derivatives import connected

INNER, OUTER = (0.5, 0.25, 2.0), (-3.0, 4.0)


@pytest.fixture
def inner(models, tmp_path):
    """y = b r / (1 - a k), from A.y = a B.y + b r and B.y = k A.y."""
    a, k, b = INNER
    folder = write_system(tmp_path / "inner", models, {"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")])
    connected(folder, {"r": "input", "y": "output"}, [("r", "A.w"), ("A.y", "y")])
    return exported(folder, tmp_path, step_size=0.1, stop_time=1.0, start_values={"A.a": a, "A.b": b, "B.a": k})


@pytest.fixture
def outer(inner, models, tmp_path):
    """The inner system feeds C.y = p y + q, which feeds it: y = G q / (1 - G p)."""
    place = tmp_path / "fmus"
    place.mkdir()
    inner.rename(place / "Inner.fmu")
    (place / "Affine.fmu").write_bytes((models / "Affine.fmu").read_bytes())
    return write_system(tmp_path / "outer", place, {"I": "Inner", "C": "Affine"}, [("I.y", "C.u"), ("C.y", "I.r")])


def test_an_algebraic_loop_across_the_boundary(outer, tmp_path):
    p, q = OUTER
    options = {"start_values": {"C.a": p, "C.c": q}, "step_size": 0.1, "stop_time": 1.0}
    a, k, b = INNER
    gain = b / (1.0 - a * k)
    run = ssptool.simulate(outer, **options).unwrap()
    np.testing.assert_allclose(run["I.y"], gain * q / (1.0 - gain * p), rtol=1e-12)
    assert_same_bits(in_fmpy(exported(outer, tmp_path, **options), 0.1), run)


def test_coupling_over_steps_across_the_boundary(tmp_path):
    """The spring of the oscillator as an export of its own: iterated steps save and set back its state."""
    oscillator = SYSTEMS / "one_dof_oscillator"
    place = tmp_path / "fmus"
    place.mkdir()
    for name in ("Mass", "SpringDamper"):
        (place / f"{name}.fmu").write_bytes((oscillator / "resources" / f"{name}.fmu").read_bytes())
    spring = write_system(tmp_path / "spring", place, {"S": "SpringDamper"}, [])
    connected(spring, {"z": "input", "v": "input", "F": "output"}, [("z", "S.z"), ("v", "S.v"), ("S.F", "F")])
    values = {"Mass.m": 0.03575, "Mass.z": 0.0016}
    exported(spring, place, step_size=0.001, stop_time=1.0, start_values={"S.k": 69.48}).rename(place / "Spring.fmu")
    wires = [("Mass.z", "S.z"), ("Mass.v", "S.v"), ("S.F", "Mass.F")]
    nested = write_system(tmp_path / "nested", place, {"Mass": "Mass", "S": "Spring"}, wires)
    flat = write_system(tmp_path / "flat", place, {"Mass": "Mass", "S": "SpringDamper"}, wires)
    options = {"step_size": 0.001, "master": "iterated", "approximation": "hold"}
    own = ssptool.simulate(flat, **options, start_values={**values, "S.k": 69.48}).unwrap()
    run = ssptool.simulate(nested, **options, start_values=values).unwrap()
    np.testing.assert_allclose(run["Mass.z"], own["Mass.z"], atol=1e-11)
    assert_same_bits(in_fmpy(exported(nested, tmp_path, **options, start_values=values), 0.001), run)
