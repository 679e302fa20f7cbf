"""Two names of one variable of an FMU: one value reference has one value."""

import re
import zipfile

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

VARIABLES = (
    Var("y", "output", needs=["u", "a"]),
    Var("a", "parameter", start=2.0),
    Var("b", "parameter", start=2.0),
    Var("u", "input", start=1.0),
    Var("w", "input", start=1.0),
)


@pytest.fixture
def fmu(tmp_path):
    """y = a + 10 u, where `b` is another name of `a`, and `w` of `u`."""
    path = make_fmu(tmp_path / "S.fmu", VARIABLES, me=None, calc="v->y = v->a + 10 * v->u;")
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    description = entries["modelDescription.xml"].decode()
    for name, other in (("b", "a"), ("w", "u")):
        (own, shared) = (description.split(f'name="{one}" valueReference="')[1].split('"')[0] for one in (name, other))
        description = description.replace(
            f'name="{name}" valueReference="{own}"', f'name="{name}" valueReference="{shared}"'
        )
    entries["modelDescription.xml"] = description.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def run(path, **values):
    settings = {"step_size": 0.1, "stop_time": 0.2, "output": None}
    return ssptool.simulate(
        path, start_values={name.replace("_", "."): one for name, one in values.items()}, **settings
    )


def test_one_of_them_may_be_set_or_both_to_the_same(fmu):
    assert run(fmu, S_b=5.0)["S.y"][-1] == 15.0
    assert run(fmu, S_a=3.0, S_b=3.0)["S.y"][-1] == 13.0


def test_different_values_are_refused(fmu):
    with pytest.raises(Unsupported) as refused:
        run(fmu, S_a=3.0, S_b=4.0)
    assert all(re.search(rf"\b{one}\b", str(refused.value)) for one in ("a", "b", r"3\.0", r"4\.0"))


@pytest.mark.parametrize(("wires", "values"), [(["S.u"], {"S_w": 4.0}), (["S.w"], {"S_u": 4.0}), (["S.u", "S.w"], {})])
def test_what_is_connected_has_no_other_value(tmp_path, fmu, wires, values):
    make_fmu(tmp_path / "One.fmu", [Var("y", "output", needs=[])], me=None, calc="v->y = 7;")
    connections = [("One.y", end) for end in wires]
    system = write_system(tmp_path / "system", tmp_path, {"S": "S", "One": "One"}, connections, 0.2)
    with pytest.raises(Unsupported, match="one variable"):
        run(system, **values)


@pytest.mark.parametrize("end", ["S.u", "S.w"])
def test_one_of_them_may_be_connected(tmp_path, fmu, end):
    make_fmu(tmp_path / "One.fmu", [Var("y", "output", needs=[])], me=None, calc="v->y = 7;")
    system = write_system(tmp_path / "system", tmp_path, {"S": "S", "One": "One"}, [("One.y", end)], 0.2)
    assert run(system)["S.y"][-1] == 72.0
