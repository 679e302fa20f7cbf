"""Arrays: start values and sizes of parts, arrays of the system and of its components, in FMI 2.0 by their elements."""

import fmpy
import fmpy.validation
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import ssptool
from ssptool.fmu.read_description import read_description
from tests.exporting.fmus import (
    Messages,
    assert_same_bits,
    exported,
    in_fmpy,
    initialize,
    instance,
    real,
    set_real,
    set_up,
)
from tests.fmu.array_fmus import (
    TYPES,
    build,
    component,
    connector,
    reversed_arrays,
    state_space,
    values,
    write_packed_system,
    write_system,
)

A = np.array([[0.0, 1.0, 0.2], [-4.0, -0.5, 0.0], [0.3, 0.0, -1.0]])
C = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])
X0 = (1.0, -2.0, 0.5)
STEP = {"step_size": 0.125}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    build(folder)
    return folder


@pytest.fixture
def system(libraries, tmp_path):
    """Writes a system of these FMUs (name → description)."""
    return lambda fmus, *arguments, **options: write_packed_system(
        tmp_path / "system", libraries, fmus, *arguments, **options
    )


@pytest.fixture
def linear(system):
    """x' = A x + u, y = C x of the first component, whose y is the input of a second one; sizes are structural
    parameters. The system has the input u of the first and the outputs y of both.
    """

    def write(more=()):
        def sizes(part, numbers):
            return "".join(values(f"{part}.{name}", [n], type="UInt64") for name, n in zip("nmp", numbers, strict=True))

        def matrix(name, content):
            content = np.asarray(content, float)
            return values(name, content.ravel().tolist(), *content.shape)

        parameters = sizes("P", (3, 3, 2)) + sizes("Q", (2, 2, 2))
        parameters += matrix("P.A", A) + matrix("P.B", np.eye(3)) + matrix("P.C", C) + matrix("P.x0", X0)
        parameters += matrix("Q.A", -np.eye(2)) + matrix("Q.B", np.eye(2)) + matrix("Q.C", np.eye(2))
        parameters += matrix("Q.x0", [0.25, -0.5])
        io = [connector("u", "input", None), connector("y", "output", None)]
        return system(
            {"S": state_space(1, 1, 1, sized=True)},
            [component("P", "S.fmu", io), component("Q", "S.fmu", io)],
            ["u -> P.u", "P.y -> Q.u", "P.y -> y", "Q.y -> z", *more],
            parameters,
            [connector("u", "input", 3), connector("y", "output", 2), connector("z", "output", 2)],
        )

    return write


def test_the_same_bits_as_a_run_with_sizes_and_arrays_that_the_system_gives(linear, fmi, tmp_path):
    folder = linear()
    run = ssptool.simulate(folder, settings=ssptool.Settings(**STEP)).unwrap()
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    found = in_fmpy(fmu, 0.125)
    if fmi == 2:
        assert found.dtype.names == ("time", "y[1]", "y[2]", "z[1]", "z[2]")
        assert_same_bits(found, run)
        return
    assert found["y"].shape == (9, 2)
    for name in "yz":
        for i in range(2):
            np.testing.assert_array_equal(found[name][:, i], run[f"{name}[{i + 1}]"])


def test_arrays_of_fmi_3_have_dimensions_and_start_values_and_dependencies(linear, tmp_path):
    fmu = exported(linear(), tmp_path, **STEP, fmi=3, expose=["P.A", "P.x0[2]", "Q.x*", "P.n"])
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    stated = fmpy.read_model_description(str(fmu))
    found = {one.name: one for one in stated.modelVariables}
    extents = {name: [int(one.start) for one in each.dimensions] for name, each in found.items()}
    assert extents == {
        "u": [3],
        "y": [2],
        "z": [2],
        "P.A": [3, 3],
        "P.x0[2]": [],
        "Q.x": [2],
        "Q.x0": [2],
        "P.n": [],
        "time": [],
    }
    assert found["u"].start.split() == ["0.0"] * 3
    assert [float(one) for one in found["P.A"].start.split()] == A.ravel().tolist()
    assert found["P.x0[2]"].start == "-2.0"
    assert {one.variable.name: one.dependencies for one in stated.outputs} == {"y": [], "z": []}
    assert read_description(fmu).variables["P.A"].shape == (3, 3)


def test_fmi_2_has_the_elements(linear, tmp_path):
    fmu = exported(linear(), tmp_path, **STEP, expose=["P.A", "P.x0[2]"])
    found = {one.name: one.start for one in fmpy.read_model_description(str(fmu)).modelVariables}
    assert [float(found[f"P.A[{i},{j}]"]) for i in (1, 2, 3) for j in (1, 2, 3)] == A.ravel().tolist()
    assert found["P.x0[2]"] == "-2.0" and found["u[3]"] == "0.0"


def test_an_input_that_is_an_array_acts_by_its_elements(linear, fmi, tmp_path):
    """Against our own run with these start values of P.u, which nothing else feeds."""
    given = [0.5, -0.25, 2.0]
    folder = linear()
    run = ssptool.simulate(
        folder,
        settings=ssptool.Settings(**STEP),
        start_values={f"u[{i + 1}]": value for i, value in enumerate(given)},
    ).unwrap()
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        _set_array(slave, "u", given)
        assert fmi == 2 or _array(slave, "u", 3) == given  # in the state Instantiated
        initialize(slave)
        for step in range(8):
            slave.doStep(step * 0.125, 0.125)
            assert _array(slave, "z", 2) == [run["z[1]"][step + 1], run["z[2]"][step + 1]]
        assert _array(slave, "u", 3) == given


def _array(slave, name, size):
    if name in slave.references:
        return slave.getFloat64([slave.references[name]], size)
    return [real(slave, f"{name}[{i + 1}]") for i in range(size)]


def _set_array(slave, name, content):
    if name in slave.references:
        slave.setFloat64([slave.references[name]], content)
        return
    for i, value in enumerate(content):
        set_real(slave, f"{name}[{i + 1}]", value)


@pytest.mark.parametrize("when", ["instantiated", "initialization"])
def test_an_element_that_is_set_leaves_the_others(when, linear, fmi, tmp_path):
    """The output of P at the start is C x0."""
    fmu = exported(linear(), tmp_path, **STEP, fmi=fmi, expose=["P.x0[3]", "P.x0[1]"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        if when == "initialization":
            set_up(slave)
        set_real(slave, "P.x0[3]", 4.0)
        set_real(slave, "P.x0[1]", 3.0)
        if fmi == 3 or when == "initialization":
            assert (real(slave, "P.x0[3]"), real(slave, "P.x0[1]")) == (4.0, 3.0)
        if when == "instantiated":
            set_up(slave)
        slave.exitInitializationMode()
        assert _array(slave, "y", 2) == (C @ [3.0, -2.0, 4.0]).tolist()


def test_a_saved_state_has_arrays_with_it(linear, fmi, tmp_path):
    fmu = exported(linear(), tmp_path, **STEP, fmi=fmi, expose=["P.x0"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        _set_array(slave, "P.x0", [3.0, 2.0, 1.0])
        instantiated = slave.serializeFMUState(slave.getFMUState())
        initialize(slave)
        slave.doStep(0.0, 0.25)
        state = slave.getFMUState()
        slave.doStep(0.25, 0.25)
        after = _array(slave, "z", 2)
        slave.setFMUState(state)
        slave.doStep(0.25, 0.25)
        assert _array(slave, "z", 2) == after
    with instance(fmu, tmp_path / "other") as slave:
        slave.setFMUState(slave.deserializeFMUState(instantiated))
        assert fmi == 2 or _array(slave, "P.x0", 3) == [3.0, 2.0, 1.0]
        initialize(slave)
        slave.doStep(0.0, 0.5)
        assert _array(slave, "z", 2) == after


def test_after_a_reset_sizes_and_arrays_are_those_of_the_system_again(linear, fmi, tmp_path):
    fmu = exported(linear(), tmp_path, **STEP, fmi=fmi, expose=["P.x0"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        _set_array(slave, "P.x0", [3.0, 2.0, 1.0])
        initialize(slave)
        slave.doStep(0.0, 0.25)
        slave.terminate()
        slave.reset()
        initialize(slave)
        assert _array(slave, "y", 2) == (C @ X0).tolist()


def test_derivatives_of_arrays_by_arrays(system, fmi, tmp_path):
    """y = D u of a part with direct feedthrough, with D as the closed form."""
    d = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 4.0]])
    folder = system(
        {"S": state_space(0, 3, 2, feedthrough=True)},
        [component("P", "S.fmu", [connector("u", "input", 3), connector("y", "output", 2)])],
        ["u -> P.u", "P.y -> y"],
        values("P.D", d.ravel().tolist(), 2, 3),
        [connector("u", "input", 3), connector("y", "output", 2)],
    )
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        whole = [slave.references[name] for name in ("y", "u") if name in slave.references]
        if fmi == 2:
            whole = [slave.references[f"y[{i}]"] for i in (1, 2)], [slave.references[f"u[{i}]"] for i in (1, 2, 3)]
            found = slave.getDirectionalDerivative(*whole, [1.0, 10.0, 100.0])
            assert found == (d @ [1.0, 10.0, 100.0]).tolist()
            return
        assert slave.getDirectionalDerivative([whole[0]], [whole[1]], [1.0, 10.0, 100.0], 2) == [31.0, 430.0]
        found = slave.getAdjointDerivative([whole[0]], [whole[1]], [1.0, 10.0], 3)
        assert found == (np.array([1.0, 10.0]) @ d).tolist()


# --- of every type ----------------------------------------------------------------------------------------------------

CONTENT = {
    "Float64": [-0.1, 1.7976931348623157e308, 0.0],
    "Float32": [-0.5, 3.4028234663852886e38, 0.0],
    **{f"Int{bits}": [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 7] for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": [1, 2**bits - 1, 0] for bits in (8, 16, 32, 64)},
    "Boolean": [True, False, False],
    "String": ["text", "größer als 100 %", ""],
}


@pytest.fixture
def reversing(system):
    """An input and an output of each type: the array the other way around, twice."""
    names = [(f"{kind}_{side}", way, kind) for kind in TYPES for side, way in (("u", "input"), ("y", "output"))]
    connectors = [connector(name, way, 3, type=kind) for name, way, kind in names]
    connections = [f"{kind}_u -> P.{kind}_u" for kind in TYPES]
    connections += [f"P.{kind}_y -> Q.{kind}_u" for kind in TYPES]
    connections += [f"Q.{kind}_y -> {kind}_y" for kind in TYPES]
    parts = [component(name, "R.fmu", connectors) for name in "PQ"]
    return system({"R": reversed_arrays()}, parts, connections, connectors=connectors)


def test_arrays_of_every_type_pass_without_loss(reversing, tmp_path):
    fmu = exported(reversing, tmp_path, **STEP, fmi=3, expose=["P.*_y"])
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        for kind in TYPES:
            getattr(slave, f"set{kind}")([slave.references[f"{kind}_u"]], CONTENT[kind])
        slave.doStep(0.0, 0.125)
        for kind in TYPES:
            get = getattr(slave, f"get{kind}")
            found = {name: get([slave.references[name]], 3) for name in (f"{kind}_y", f"P.{kind}_y", f"{kind}_u")}
            found = {name: [_plain(one) for one in content] for name, content in found.items()}
            assert found[f"{kind}_y"] == found[f"{kind}_u"] == CONTENT[kind], kind
            assert found[f"P.{kind}_y"] == CONTENT[kind][::-1], kind


def _plain(value):
    return value.decode() if isinstance(value, bytes) else value


def test_a_nested_export_keeps_arrays(reversing, tmp_path):
    """The exported FMU as a part of a system, with arrays of every type connected as a whole."""
    inner = exported(reversing, tmp_path, **STEP, fmi=3)
    folder = tmp_path / "outer"
    folder.mkdir()
    (folder / "inner.fmu").write_bytes(inner.read_bytes())
    names = [(f"{kind}_{side}", way, kind) for kind in TYPES for side, way in (("u", "input"), ("y", "output"))]
    connectors = [connector(name, way, 3, type=kind) for name, way, kind in names]
    ways = [f"{kind}_u -> I.{kind}_u" for kind in TYPES] + [f"I.{kind}_y -> {kind}_y" for kind in TYPES]
    write_system(folder, [component("I", "inner.fmu", connectors)], ways, connectors=connectors)
    fmu = exported(folder, tmp_path, **STEP, fmi=3)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        for kind in TYPES:
            getattr(slave, f"set{kind}")([slave.references[f"{kind}_u"]], CONTENT[kind])
        slave.doStep(0.0, 0.125)
        for kind in TYPES:
            found = getattr(slave, f"get{kind}")([slave.references[f"{kind}_y"]], 3)
            assert [_plain(one) for one in found] == CONTENT[kind], kind


def test_as_many_values_as_elements(reversing, tmp_path):
    fmu = exported(reversing, tmp_path, **STEP, fmi=3)
    said = Messages()
    with instance(fmu, tmp_path / "unpacked", said) as slave:
        initialize(slave)
        with pytest.raises(FMICallException, match="fmi3SetInt8"):
            slave.setInt8([slave.references["Int8_u"]], [1, 2])
    assert said[0][2] == "fmi3SetInt8: 2 values for 3 scalar variables"
