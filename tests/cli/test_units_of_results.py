"""Results in other units: factors and offsets, differences without offsets, and display units of FMUs."""

import zipfile

import numpy as np
import pytest
from lxml import etree

import ssptool as library
from ssptool.engine.trace import Column
from ssptool.errors import WrongValue
from ssptool.fmu.read_description import display_units, read_description
from ssptool.fmu.units import DisplayUnit
from tests.editing.small_systems import DUAL_MASS, fmu
from tests.engine.recording.files import write
from tests.network.packages import model

T = np.array([0.0, 0.5, 2.0])
DEGREES = DisplayUnit("degF", 1.8, -459.67)
COLUMNS = {
    "M.w": Column("M.w", "rad/s"),
    "M.T": Column("M.T", "K", display=DEGREES),
    "M.dT": Column("M.dT", "K", relative=True, display=DEGREES),
    "M.bare": Column("M.bare"),
    "M.n": Column("M.n", "1", "Int32"),
}


@pytest.fixture
def trace():
    values = np.array([10.0, 20.0, 30.0])
    columns = [(column, values.astype(int) if column.type == "Int32" else values) for column in COLUMNS.values()]
    return library.types.Trace.of(T, columns)


def test_factors_and_offsets(trace):
    other = trace.in_units({"M.w": "rpm", "M.T": "degC"})
    assert np.allclose(other["M.w"], trace["M.w"] * 30 / np.pi, rtol=1e-15)
    assert np.allclose(other["M.T"], trace["M.T"] - 273.15, rtol=1e-15)
    assert dict(zip(other.signals, other.units, strict=True))["M.T"] == "degC"
    assert np.array_equal(other["M.dT"], trace["M.dT"]) and trace.units[1] == "K"
    assert np.array_equal(other["M.n"], trace["M.n"])


def test_differences_have_no_offset(trace):
    assert np.array_equal(trace.in_units({"M.dT": "degC"})["M.dT"], trace["M.dT"])
    assert np.allclose(trace.in_units({"M.dT": "degF"})["M.dT"], 1.8 * trace["M.dT"], rtol=1e-15)


def test_display_units(trace):
    other = trace.in_units("display")
    assert other.units == ("rad/s", "degF", "degF", None, "1")
    assert np.allclose(other["M.T"], 1.8 * trace["M.T"] - 459.67, rtol=1e-15)
    assert np.allclose(other["M.dT"], 1.8 * trace["M.dT"], rtol=1e-15)


@pytest.mark.parametrize(
    ("signal", "unit", "message"),
    [
        ("M.w", "kg", "a value in rad/s cannot be converted to kg"),
        ("M.w", "furlong", "the unit 'furlong' is unknown"),
        ("M.bare", "m", "has no unit"),
        ("M.n", "m", "is of type Int32"),
    ],
)
def test_impossible_units_are_refused_by_name(trace, signal, unit, message):
    with pytest.raises(WrongValue, match=signal) as caught:
        trace.in_units({signal: unit})
    assert message in str(caught.value)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".mat", ".h5", ".mf4"])
def test_files_keep_display_units_and_differences(trace, tmp_path, ending):
    write(tmp_path / f"t{ending}", trace)
    again = library.read_trace(tmp_path / f"t{ending}")
    assert {column.signal: (column.relative, column.display) for column in again.columns} == {
        column.signal: (column.relative, column.display) for column in trace.columns
    }


def test_compared_differences_are_converted_without_offset(trace):
    reference = library.types.Trace.of(
        T, [(Column("M.dT", "degC"), trace["M.dT"]), (Column("M.w", "rpm"), np.zeros(3))]
    )
    found = {one.signal: one for one in library.compare(trace, reference).signals}
    assert (found["M.dT"].verdict, found["M.w"].verdict) == ("agrees", "differs")


def test_plots_are_drawn_in_these_units(trace):
    curves = {curve.label: curve for curve in library.plot(trace, units={"*.w": "rpm", "M.T": "degC"}).curves}
    assert (curves["M.w"].unit, curves["M.T"].unit, curves["M.dT"].unit) == ("rpm", "degC", "K")
    assert np.allclose(curves["M.w"].y, trace["M.w"] * 30 / np.pi)
    shown = {curve.label: curve.unit for curve in library.plot(trace, units="display").curves}
    assert shown == {"M.w": "rad/s", "M.T": "degF", "M.dT": "degF", "M.bare": None}
    with pytest.raises(ValueError, match=r"M\.x"):
        library.plot(trace, units={"M.x": "rpm"})


def test_display_units_of_model_descriptions(tmp_path):
    types = '<SimpleType name="Angle"><Real unit="rad" displayUnit="deg"/></SimpleType>'
    text = model(
        'output a Real unit="K" displayUnit="degF"; output b Real declaredType="Angle"; output c Real unit="K" '
        'displayUnit="other"',
        types=types,
    ).replace(
        "</UnitDefinitions>",
        '<Unit name="rad"><BaseUnit rad="1"/><DisplayUnit name="deg" factor="57.29577951308232"/></Unit>'
        "</UnitDefinitions>",
    )
    text = text.replace(
        '<BaseUnit K="1"/>', '<BaseUnit K="1"/><DisplayUnit name="degF" factor="1.8" offset="-459.67"/>', 1
    )
    variables = read_description(fmu(tmp_path, "M", text)).variables
    assert variables["a"].display == DisplayUnit("degF", 1.8, -459.67)
    assert variables["b"].display == DisplayUnit("deg", 57.29577951308232, 0.0)
    assert variables["c"].display is None


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run of an FMU with a display unit of position 1."""
    folder = tmp_path_factory.mktemp("run")
    with zipfile.ZipFile(DUAL_MASS / "resources/System1.fmu") as old, zipfile.ZipFile(folder / "S.fmu", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "modelDescription.xml":
                shown = b'<BaseUnit m="1"/><DisplayUnit name="mark" factor="4" offset="-3"/>'
                content = content.replace(b'<BaseUnit m="1"/>', shown)
                content = content.replace(b'<Real unit="m" nominal="0.5"/>', b'<Real unit="m" displayUnit="mark"/>')
            new.writestr(name, content)
    result = library.simulate(folder / "S.fmu", output=folder / "r.csv", start_values={"x1_start": 0.7}, stop_time=1)
    return folder, result


def test_a_run_knows_the_display_units_of_its_fmus(results):
    folder, result = results
    shown = result.in_units("display")
    assert dict(zip(shown.signals, shown.units, strict=True))["x1"] == "mark"
    assert np.allclose(shown["x1"], 4 * result["x1"] - 3, rtol=1e-15)
    again = library.read_trace(folder / "r.csv").in_units("display")
    assert np.array_equal(again["x1"], shown["x1"])
    assert shown["x1"][0] == pytest.approx(4 * 0.7 - 3)


def test_a_run_writes_in_these_units(results, ssptool, tmp_path):
    """The file, what is kept in memory, and the run that is made again, whatever the units of others."""
    folder, result = results
    options = ["--start-values", "x1_start=0.7", "--stop-time", "1"]
    said = ssptool("run", str(folder / "S.fmu"), "--unit", "x*=mm", *options, "-o", "mm.csv", "-o", "mm.mf4")
    assert said[0] == 0
    assert "x1 [mm]" in (tmp_path / "mm.csv").read_text().split("\n")[0]
    for name in ("mm.csv", "mm.mf4"):
        written = library.read_trace(tmp_path / name)
        assert np.array_equal(written["x1"], 1000 * result["x1"])
        assert np.array_equal(written["v1"], result["v1"])
    columns = {one["signal"]: one["unit"] for one in library.read_manifest(tmp_path / "mm.csv")["columns"]}
    assert (columns["x1"], columns["v1"]) == ("mm", "m/s")
    assert library.compare(tmp_path / "mm.csv", folder / "r.csv").agrees
    assert "same bits" in ssptool("reproduce", "mm.csv")[1]
    assert ssptool("run", str(folder / "S.fmu"), "--display-units", *options, "-o", "shown.csv")[0] == 0
    shown = library.read_trace(tmp_path / "shown.csv")
    assert np.array_equal(shown["x1"], 4 * result["x1"] - 3)
    assert dict(zip(shown.signals, shown.units, strict=True))["x1"] == "mark"
    kept = library.simulate(folder / "S.fmu", units={"x1": "mm"}, start_values={"x1_start": 0.7}, stop_time=1)
    assert np.array_equal(kept["x1"], 1000 * result["x1"]) and kept.units["x1"] == "mm"


def test_units_that_cannot_be_are_refused_before_the_run(results, ssptool, tmp_path):
    folder, _ = results
    for unit, message in (("x1=kg", "cannot be converted"), ("nothing=mm", "no recorded signal")):
        status, _, err = ssptool("run", str(folder / "S.fmu"), "--unit", unit, "-o", "no.csv")
        assert (status, message in err, (tmp_path / "no.csv").exists()) == (2, True, False)


def test_inverse_display_units_are_told_of(tmp_path):
    """FMI 3.0: the value in an inverse display unit is factor / value."""
    root = etree.fromstring(
        '<fmiModelDescription><UnitDefinitions><Unit name="s"><DisplayUnit name="Hz" inverse="true"/></Unit>'
        "</UnitDefinitions></fmiModelDescription>"
    )
    inverse = display_units(root)["s", "Hz"]
    assert inverse.inverse
    columns = [(Column("M.T", "s", display=inverse), [0.5, 2.0]), (Column("M.K", "K", display=DEGREES), [300.0, 0.0])]
    trace = library.types.Trace.of([0.0, 1.0], columns)
    with pytest.raises(WrongValue, match=r"M\.T cannot be given in Hz: .*inverse"):
        trace.in_units({"M.T": "Hz"})
    shown = trace.in_units("display")
    assert (shown.units, shown["M.T"].tolist()) == (("s", "degF"), [0.5, 2.0])
    assert "M.T stays in its unit" in shown.assumptions[0] and "inverse" in shown.assumptions[0]
    write(tmp_path / "t.csv", trace)
    assert library.read_trace(tmp_path / "t.csv").columns == trace.columns


def test_a_signal_in_another_unit_is_not_the_one_that_a_connection_carries_on():
    columns = [(Column("A.y", "m"), [1.0]), (Column("B.u", "m", carried_from="A.y"), [1.0])]
    changed = library.types.Trace.of([0.0], columns).in_units({"A.y": "mm"})
    assert [one.carried_from for one in changed.columns] == ["", ""]


def test_the_commands_draw_in_these_units(results, ssptool, tmp_path):
    folder, _ = results
    assert ssptool("plot", str(folder / "r.csv"), "-o", "p.svg", "--unit", "x1=mm", "--unit", "v1=km/h")[0] == 0
    text = (tmp_path / "p.svg").read_text()
    assert "[mm]" in text and "[km/h]" in text
    assert ssptool("plot", str(folder / "r.csv"), "-o", "d.html", "--display-units")[0] == 0
    assert "[mark]" in (tmp_path / "d.html").read_text()
    status, _, err = ssptool("report", str(folder / "S.fmu"), str(folder / "r.csv"), "-o", "r.html", "--unit", "x1=mm")
    assert (status, err) == (0, "")
    assert "[mm]" in (tmp_path / "r.html").read_text()
    assert ssptool("plot", str(folder / "r.csv"), "--unit", "x1=kg")[0] == 2
    assert ssptool("plot", str(folder / "r.csv"), "--unit", "x1=mm", "--display-units")[0] == 2
