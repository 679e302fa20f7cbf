"""Units that an edit can name although no document of the system defines them: the edit writes their definition."""

from math import pi

from ssptool.fmu.units import Exponents, Unit

_LENGTH, _TIME, _ANGLE = Exponents(m=1), Exponents(s=1), Exponents(rad=1)
_SPEED, _TURNING = Exponents(m=1, s=-1), Exponents(rad=1, s=-1)
_FORCE, _TORQUE = Exponents(kg=1, m=1, s=-2), Exponents(kg=1, m=2, s=-2)
_STIFFNESS, _DAMPING = Exponents(kg=1, s=-2), Exponents(kg=1, s=-1)
_PRESSURE, _POWER = Exponents(kg=1, m=-1, s=-2), Exponents(kg=1, m=2, s=-3)

COMMON_UNITS: tuple[Unit, ...] = (
    Unit("1", Exponents()),
    Unit("%", Exponents(), 0.01),
    Unit("m", _LENGTH),
    Unit("km", _LENGTH, 1000.0),
    Unit("cm", _LENGTH, 0.01),
    Unit("mm", _LENGTH, 0.001),
    Unit("m2", Exponents(m=2)),
    Unit("m3", Exponents(m=3)),
    Unit("l", Exponents(m=3), 0.001),
    Unit("s", _TIME),
    Unit("ms", _TIME, 0.001),
    Unit("min", _TIME, 60.0),
    Unit("h", _TIME, 3600.0),
    Unit("Hz", Exponents(s=-1)),
    Unit("kHz", Exponents(s=-1), 1000.0),
    Unit("kg", Exponents(kg=1)),
    Unit("g", Exponents(kg=1), 0.001),
    Unit("t", Exponents(kg=1), 1000.0),
    Unit("kg.m2", Exponents(kg=1, m=2)),
    Unit("rad", _ANGLE),
    Unit("deg", _ANGLE, pi / 180),
    Unit("m/s", _SPEED),
    Unit("km/h", _SPEED, 1 / 3.6),
    Unit("m/s2", Exponents(m=1, s=-2)),
    Unit("rad/s", _TURNING),
    Unit("deg/s", _TURNING, pi / 180),
    Unit("rpm", _TURNING, pi / 30),
    Unit("rad/s2", Exponents(rad=1, s=-2)),
    Unit("N", _FORCE),
    Unit("kN", _FORCE, 1000.0),
    Unit("N.m", _TORQUE),
    Unit("N/m", _STIFFNESS),
    Unit("N/mm", _STIFFNESS, 1000.0),
    Unit("N.s/m", _DAMPING),
    Unit("Pa", _PRESSURE),
    Unit("kPa", _PRESSURE, 1e3),
    Unit("MPa", _PRESSURE, 1e6),
    Unit("bar", _PRESSURE, 1e5),
    Unit("J", _TORQUE),
    Unit("kJ", _TORQUE, 1000.0),
    Unit("kWh", _TORQUE, 3.6e6),
    Unit("W", _POWER),
    Unit("kW", _POWER, 1000.0),
    Unit("kg/s", Exponents(kg=1, s=-1)),
    Unit("m3/s", Exponents(m=3, s=-1)),
    Unit("K", Exponents(K=1)),
    Unit("degC", Exponents(K=1), 1.0, 273.15),
    Unit("A", Exponents(A=1)),
    Unit("V", Exponents(kg=1, m=2, s=-3, A=-1)),
    Unit("Ohm", Exponents(kg=1, m=2, s=-3, A=-2)),
)
"""Spelled as FMI and Modelica do; the definitions are those of the SI, 1 bar = 100 kPa, 0 °C = 273.15 K."""
