"""Units are converted as the standard defines them, against conversions known by heart."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ssptool.documents.document import Document
from ssptool.fmu.units import DisplayUnit, Exponents, PhysicalUnit, named, unit_of_name, with_unit
from ssptool.network.conversion import IncompatibleUnits, conversion, convertible, document_units
from ssptool.network.network import IDENTITY, Conversion

KELVIN = PhysicalUnit("K", Exponents(K=1))
CELSIUS = PhysicalUnit("degC", Exponents(K=1), 1.0, 273.15)
FAHRENHEIT = PhysicalUnit("degF", Exponents(K=1), 5 / 9, 273.15 - 32 * 5 / 9)
METRE = PhysicalUnit("m", Exponents(m=1))
MILLIMETRE = PhysicalUnit("mm", Exponents(m=1), 1e-3)
# One rounding of each factor and offset, magnified by 273.15 / 20 in the worst of the cases here.
ROUNDING = 1e-12


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (CELSIUS, KELVIN, 20.0, 293.15),
        (KELVIN, CELSIUS, 0.0, -273.15),
        (CELSIUS, FAHRENHEIT, 100.0, 212.0),
        (FAHRENHEIT, CELSIUS, -40.0, -40.0),
        (MILLIMETRE, METRE, 250.0, 0.25),
        (METRE, MILLIMETRE, 0.25, 250.0),
    ],
)
def test_values_are_converted(source, target, value, expected):
    assert conversion(source, target)(value) == approx(expected, rel=ROUNDING, abs=1e-10)


def test_a_difference_of_temperatures_has_no_offset():
    assert conversion(CELSIUS, KELVIN, relative=True)(20.0) == 20.0


def test_equal_units_convert_exactly():
    assert conversion(CELSIUS, CELSIUS) == IDENTITY


def test_without_unit_on_one_side_the_value_is_passed_on():
    assert conversion(None, METRE) == conversion(METRE, None) == IDENTITY


def test_different_dimensions_are_refused_with_both_units():
    assert not convertible(METRE, KELVIN)
    with pytest.raises(IncompatibleUnits, match="a value in m cannot be converted to K") as caught:
        conversion(METRE, KELVIN)
    assert (caught.value.source, caught.value.target) == (METRE, KELVIN)


def test_units_known_by_name_only_agree_with_their_own_name_only():
    furlong = named({}, "furlong")
    assert conversion(furlong, PhysicalUnit("furlong", Exponents(m=1), 201.168)) == IDENTITY
    assert not convertible(furlong, METRE)


def test_the_units_of_a_document_are_read_with_their_defaults():
    document = Document(
        "p.ssv",
        b"""<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
        xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0"
        name="p"><ssv:Parameters/> <ssv:Units><ssc:Unit name="degC"><ssc:BaseUnit K="1"
        offset="273.15"/></ssc:Unit> <ssc:Unit
        name="1"><ssc:BaseUnit/></ssc:Unit></ssv:Units></ssv:ParameterSet>""",
    )
    assert document_units(document.root) == {"degC": CELSIUS, "1": PhysicalUnit("1", Exponents())}


def test_no_units_are_no_units():
    assert document_units(SimpleNamespace(units=())) == {}


NUMBERS = st.floats(-1e3, 1e3)
CONVERSIONS = st.builds(Conversion, NUMBERS, NUMBERS)


@given(CONVERSIONS, CONVERSIONS, NUMBERS)
def test_composed_conversions_do_what_they_do_one_after_the_other(first, second, value):
    # Each of four operations rounds once, relative to the largest intermediate value (below 1e3 ** 3).
    assert first.then(second)(value) == approx(second(first(value)), rel=1e-12, abs=1e-5)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_to_which_nothing_is_done_keeps_its_sign(zero):
    signs = [math.copysign(1.0, same(zero)) for same in (IDENTITY, Conversion(1.0, 0.0))]
    assert signs == [math.copysign(1.0, zero)] * 2


KELVIN_OF_FMI1 = PhysicalUnit("K", None, shown=(DisplayUnit("degC", 1.0, -273.15), DisplayUnit("degF", 1.8, -459.67)))
"""Two ways of showing it; its exponents are not known."""


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (PhysicalUnit("degC", Exponents(K=1), 1.0, 273.15), KELVIN_OF_FMI1, 20.0, 293.15),
        (KELVIN_OF_FMI1, PhysicalUnit("degC", Exponents(K=1), 1.0, 273.15), 293.15, 20.0),
        (PhysicalUnit("degF", Exponents(K=1), 5 / 9, 459.67 * 5 / 9), KELVIN_OF_FMI1, 212.0, 373.15),
        (KELVIN_OF_FMI1, PhysicalUnit("degF", None), 373.15, 212.0),
    ],
)
def test_units_in_which_fmi1_shows_another_are_converted(source, target, value, expected):
    """Water freezes at 273.15 K and 32 °F, and boils at 373.15 K and 212 °F. Tolerance: rounding."""
    assert convertible(source, target)
    assert conversion(source, target)(value) == approx(expected, rel=1e-12)


def test_a_relative_quantity_is_shown_without_offset():
    assert conversion(PhysicalUnit("degC", None), KELVIN_OF_FMI1, relative=True)(20.0) == 20.0


def test_units_of_fmi1_that_are_not_shown_in_another_are_not_converted():
    for other in (PhysicalUnit("m", Exponents(m=1)), PhysicalUnit("degR", None), PhysicalUnit("degC2", Exponents(K=1))):
        assert not convertible(KELVIN_OF_FMI1, other)
        with pytest.raises(IncompatibleUnits):
            conversion(other, KELVIN_OF_FMI1)


# Definitions of the SI and of the units in use with it; a Newton is kg·m/s², 1 rpm is 2π/60 rad/s.
TOLD_BY_NAME = [
    ("m", Exponents(m=1), 1.0),
    ("mm", Exponents(m=1), 1e-3),
    ("mm3", Exponents(m=3), 1e-9),
    ("kg", Exponents(kg=1), 1.0),
    ("N.m", Exponents(kg=1, m=2, s=-2), 1.0),
    ("N*m", Exponents(kg=1, m=2, s=-2), 1.0),
    ("Nm", Exponents(kg=1, m=2, s=-2), 1.0),
    ("m/s2", Exponents(m=1, s=-2), 1.0),
    ("m/s^2", Exponents(m=1, s=-2), 1.0),
    ("m/s**2", Exponents(m=1, s=-2), 1.0),
    ("m.s-2", Exponents(m=1, s=-2), 1.0),
    ("m.s^(-2)", Exponents(m=1, s=-2), 1.0),
    ("kg.m2", Exponents(kg=1, m=2), 1.0),
    ("W/(m2.K)", Exponents(kg=1, s=-3, K=-1), 1.0),
    ("rad/s", Exponents(s=-1, rad=1), 1.0),
    ("deg", Exponents(rad=1), math.pi / 180),
    ("rpm", Exponents(s=-1, rad=1), 2 * math.pi / 60),
    ("bar", Exponents(kg=1, m=-1, s=-2), 1e5),
    ("kW", Exponents(kg=1, m=2, s=-3), 1e3),
    ("kW.h", Exponents(kg=1, m=2, s=-2), 3.6e6),
    ("km/h", Exponents(m=1, s=-1), 1 / 3.6),
    ("l/min", Exponents(m=3, s=-1), 1e-3 / 60),
    ("%", Exponents(), 0.01),
    ("1", Exponents(), 1.0),
    ("1/s", Exponents(s=-1), 1.0),
    ("V.s/rad", Exponents(kg=1, m=2, s=-2, A=-1, rad=-1), 1.0),
]


@pytest.mark.parametrize(("name", "exponents", "factor"), TOLD_BY_NAME)
def test_a_plain_si_expression_tells_its_unit(name, exponents, factor):
    unit = unit_of_name(name)
    assert unit is not None
    assert (unit.exponents, unit.offset) == (exponents, 0.0)
    assert unit.factor == approx(factor, rel=2e-16)


def test_degrees_celsius_have_an_offset_but_in_products():
    assert unit_of_name("degC") == CELSIUS
    for name in ("degF", "°F"):
        fahrenheit = unit_of_name(name)
        assert conversion(fahrenheit, KELVIN)(32.0) == pytest.approx(273.15, rel=1e-15)
        assert conversion(fahrenheit, CELSIUS)(212.0) == pytest.approx(100.0, abs=1e-11)
    assert unit_of_name("W/degC") == unit_of_name("W/K")._replace(name="W/degC")


def test_square_brackets_around_a_name_mean_nothing():
    assert unit_of_name("[mm]") == unit_of_name("mm")._replace(name="[mm]")
    assert unit_of_name("[degC]") == CELSIUS._replace(name="[degC]")
    assert unit_of_name("[") is unit_of_name("[]") is unit_of_name("[furlong]") is unit_of_name("[[]]") is None


@pytest.mark.parametrize(
    "name", ["", "foo", "C", "F", "W/m2.K", "m/", "2m", "1e3", "m0", "(m", "dB", " m", "m/(s", "." * 60]
)
def test_what_is_no_plain_si_expression_or_has_two_meanings_is_not_read(name):
    assert unit_of_name(name) is None
    assert named({}, name) == PhysicalUnit(name, None)


@given(st.text(max_size=60))
def test_no_name_breaks_the_reader(name):
    unit = unit_of_name(name)
    assert unit is None or unit.factor > 0


def test_an_undefined_unit_is_read_by_its_name_and_converted():
    assert conversion(named({}, "mm"), named({"m": METRE}, "m"))(250.0) == 0.25


def test_a_name_that_one_side_defines_means_the_same_on_the_other():
    """The definition counts: here `mm` are miles."""
    miles = PhysicalUnit("mm", Exponents(m=1), 1609.344)
    assert conversion(named({}, "mm"), miles) is IDENTITY
    assert conversion(named({}, "mm"), METRE)(1000.0) == 1.0


@pytest.mark.parametrize(("unit", "text"), [("N/m", "2 N/m"), ("1", "2"), ("", "2"), (None, "2")])
def test_a_value_without_dimension_stands_without_unit(unit, text):
    assert with_unit("2", unit) == text
