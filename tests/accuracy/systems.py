"""Systems of FMUs with an exact answer each: stiff, switched, sampled, resonant, aliased, multi-rate, coarse inside.

Masses are 2 kg, springs 50 N/m where nothing else is said: 5 rad/s.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from tests.accuracy.parts import Part
from tests.accuracy.thermostat import HIGH, LOW, START, switching_times, temperature

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Switches:
    """A signal that changes at these times (n,) [s]."""

    times: Floats


@dataclass(frozen=True)
class System:
    """Components, connections, and what comes out.

    Attributes
    ----------
    exact
        Of times (n,) [s] the values (n,) of signals, or when they switch until the last of them.
    settings
        Of the run, where it is not the default one.
    blind
        An error that no other step shows, so that the statement says what it does not see.
    """

    parts: Mapping[str, Part]
    wires: Sequence[tuple[str, str]]
    stop: float
    exact: Callable[[Floats], Mapping[str, Floats | Switches]]
    settings: Mapping[str, object] = field(default_factory=dict)
    blind: bool = False


# -- solutions -------------------------------------------------------------------------------------------------------


def linear(names: Sequence[str], matrix: Sequence[Sequence[float]], start: Sequence[float]) -> Callable:
    """x' = matrix x by the matrix exponential; a last row of zeros drives."""

    def exact(t: Floats) -> Mapping[str, Floats]:
        values, vectors = np.linalg.eig(np.array(matrix, dtype=float))
        weights = np.linalg.solve(vectors, np.array(start, dtype=complex))
        found = ((vectors * weights) @ np.exp(np.outer(values, t))).real
        end = expm(np.array(matrix) * t[-1]) @ start
        assert np.allclose(found[:, -1], end, rtol=1e-7, atol=1e-9 * np.abs(found).max())
        return {name: row for name, row in zip(names, found, strict=False) if name}

    return exact


def integrated(names: Sequence[str], rates: Callable, start: Sequence[float]) -> Callable:
    """An independent solution of x' = rates(t, x), 1e-12."""

    def exact(t: Floats) -> Mapping[str, Floats]:
        solved = solve_ivp(rates, (0.0, t[-1]), start, "DOP853", t_eval=np.unique(t), rtol=1e-12, atol=1e-13)
        assert solved.success
        rows = np.searchsorted(solved.t, t)
        return {name: row[rows] for name, row in zip(names, solved.y, strict=True) if name}

    return exact


# -- mass and spring -------------------------------------------------------------------------------------------------


def mass(**can: object) -> Part:
    return Part(
        inputs={"force": 0.0},
        states={"place": (1.0, "speed"), "speed": (0.0, "force / mass")},
        outputs={"x": "place", "w": "speed"},
        parameters={"mass": 2.0},
        **can,
    )


def spring(damping: float = 0.0, stiffness: float = 50.0, **can: object) -> Part:
    return Part(
        inputs={"x": 0.0, "w": 0.0},
        outputs={"force": "-stiffness * x - damping * w"},
        parameters={"stiffness": stiffness, "damping": damping},
        **can,
    )


MASS_ON_SPRING = [("Spring.force", "Mass.force"), ("Mass.x", "Spring.x"), ("Mass.w", "Spring.w")]


def oscillator(damping: float = 0.0, stop: float = 5.0, settings: Mapping[str, object] = {}, **can: object) -> System:
    exact = linear(("Mass.x", "Mass.w"), [[0, 1], [-25, -damping / 2]], [1, 0])
    return System({"Mass": mass(**can), "Spring": spring(damping, **can)}, MASS_ON_SPRING, stop, exact, settings)


def by_steps(made: System) -> System:
    """The same, as co-simulation although its FMUs offer model exchange."""
    return replace(made, settings={**made.settings, "implementation": "cs"})


COARSE = {"step_size": 0.04}
"""Four steps inside of an FMU, whose error does not fall with the macro step."""


def coarse(**can: object) -> System:
    """The FMU of the mass integrates by explicit Euler steps of 10 ms inside."""
    made = oscillator(damping=8.0, stop=3.0)
    parts = {"Mass": mass(euler=0.01, **can), "Spring": spring(8.0, exchange="exchange" in can)}
    return System(parts, MASS_ON_SPRING, 3.0, made.exact, COARSE, blind=True)


def lone_coarse(**can: object) -> System:
    """x'' = −25 x in one FMU, by Euler steps of 10 ms."""
    part = Part(
        states={"place": (1.0, "speed"), "speed": (0.0, "-25 * place")}, outputs={"x": "place"}, euler=0.01, **can
    )
    exact = linear(("One.x", ""), [[0, 1], [-25, 0]], [1, 0])
    return System({"One": part}, [], 3.0, exact, COARSE, blind=True)


def _on_grid(spacing: float, force: str, **more: object) -> Part:
    """A mass of 2 kg by Euler steps on a grid of its own, which it never shortens."""
    euler = f"double old = place; (void)old; place += {spacing!r} * speed; speed += {spacing!r} * ({force}) / 2;"
    return Part(
        kept={"place": 1.0, "speed": 0.0, "clock": 0.0},
        outputs={"x": "1.0 * place", "w": "1.0 * speed"},
        each_step=f"while (clock + {spacing!r} <= time + 1e-9) {{ {euler} clock += {spacing!r}; }}",
        **more,
    )


def clocked(**can: object) -> System:
    """x'' = −25 x in one FMU on a grid of 10 ms."""
    exact = linear(("One.x", "One.w"), [[0, 1], [-25, 0]], [1, 0])
    return System({"One": _on_grid(0.01, "-50 * old", **can)}, [], 3.0, exact, blind=True)


def clocked_mass(spacing: float, **can: object) -> System:
    """A damped oscillator, whose mass is on a grid."""
    parts = {"Mass": _on_grid(spacing, "force", inputs={"force": 0.0}, **can), "Spring": spring(8.0, **can)}
    return System(parts, MASS_ON_SPRING, 3.0, oscillator(damping=8.0).exact, blind=True)


def driven(frequency: float) -> System:
    """A source drives a damped oscillator of 5 rad/s."""
    source = Part(outputs={"force": f"7 * sin({frequency!r} * time)"})
    one = Part(
        inputs={"force": 0.0},
        states={"place": (0.0, "speed"), "speed": (0.0, "(force - 50 * place - 0.4 * speed) / 2")},
        outputs={"x": "place"},
    )
    matrix = [[0, 1, 0, 0], [-25, -0.2, 3.5, 0], [0, 0, 0, frequency], [0, 0, -frequency, 0]]
    exact = linear(("One.x", "", "", ""), matrix, [0, 0, 0, 1])
    return System({"Source": source, "One": one}, [("Source.force", "One.force")], 5.0, exact)


def summed(expression: str, integral: Callable[[Floats], Floats], stop: float = 1.0, **can: object) -> System:
    """A source and its integral, from 2."""
    parts = {
        "Source": Part(outputs={"y": expression}),
        "Sum": Part(inputs={"u": 0.0}, states={"total": (2.0, "u")}, outputs={"y": "total"}, **can),
    }
    return System(parts, [("Source.y", "Sum.u")], stop, lambda t: {"Sum.y": 2 + integral(t)})


def discarding() -> System:
    made = oscillator(saves=True, follows=True, stop=2.0)
    return System({**made.parts, "Mass": mass(saves=True, follows=True, longest=0.0004)}, made.wires, 2.0, made.exact)


# -- heat ------------------------------------------------------------------------------------------------------------


def thermal(conductance: float, stop: float = 5.0, settings: Mapping[str, object] = {}, **can: object) -> System:
    """Heat capacities 1, 10, 5 J/K; the first link has this conductance [W/K], the second 1."""

    def body(size: float, start: float) -> Part:
        return Part(
            inputs={"q": 0.0, "p": 0.0},
            states={"heat": (start, "(q + p) / size")},
            outputs={"T": "heat"},
            parameters={"size": size},
            **can,
        )

    def link(k: float) -> Part:
        return Part(
            inputs={"one": 300.0, "other": 300.0},
            outputs={"forth": "k * (one - other)", "back": "k * (other - one)"},
            parameters={"k": k},
            **can,
        )

    parts = {
        "A": body(1.0, 400.0),
        "B": body(10.0, 300.0),
        "D": body(5.0, 310.0),
        "L": link(conductance),
        "M": link(1.0),
    }
    wires = [("A.T", "L.one"), ("B.T", "L.other"), ("L.back", "A.q"), ("L.forth", "B.q")]
    wires += [("B.T", "M.one"), ("D.T", "M.other"), ("M.back", "B.p"), ("M.forth", "D.p")]
    k = conductance
    matrix = [[-k, k, 0], [k / 10, -(k + 1) / 10, 1 / 10], [0, 1 / 5, -1 / 5]]
    return System(parts, wires, stop, linear(("A.T", "B.T", "D.T"), matrix, [400, 300, 310]), settings)


def day() -> System:
    """A wall with a time constant of an hour, outside temperature of a day."""
    outside = Part(outputs={"T": "280 + 8 * cos(7.27e-5 * time)"})
    wall = Part(inputs={"T": 280.0}, states={"heat": (295.0, "(T - heat) / 3600")}, outputs={"y": "heat"})
    exact = linear(
        ("Wall.y", "", "", ""),
        [[-1 / 3600, 1 / 3600, 0, 1 / 3600], [0, 0, -7.27e-5, 0], [0, 7.27e-5, 0, 0], [0, 0, 0, 0]],
        [295, 8, 0, 280],
    )
    return System({"Out": outside, "Wall": wall}, [("Out.T", "Wall.T")], 86400.0, exact)


# -- switches --------------------------------------------------------------------------------------------------------


def thermostat(**can: object) -> System:
    """Room (time constant 100 s) and thermostat; the same as tests/accuracy/thermostat.py, from equations."""
    room = Part(inputs={"on": True}, states={"heat": (START, "((on ? 35 : 5) - heat) / 100")}, outputs={"T": "heat"})
    rule = f"if (T <= {LOW!r}) on = 1; if (T >= {HIGH!r}) on = 0;"
    switch = Part(
        inputs={"T": START},
        outputs={"on": "on"},
        kept={"on": True},
        each_step=rule,
        event=rule,
        indicators=(f"T - {LOW!r}", f"T - {HIGH!r}"),
    )

    def exact(t: Floats) -> Mapping[str, Floats | Switches]:
        return {"Room.T": temperature(t), "Switch.on": Switches(switching_times(t[-1]))}

    parts = {"Room": room.able(**can), "Switch": switch.able(**can)}
    return System(parts, [("Room.T", "Switch.T"), ("Switch.on", "Room.on")], 300.0, exact)


def hysteresis() -> System:
    """x' = ±1, switched at ±0.05: a triangle of period 0.2 s."""
    ramp = Part(inputs={"up": True}, states={"place": (0.0, "up ? 1 : -1")}, outputs={"x": "place"})
    relay = Part(
        inputs={"x": 0.0},
        outputs={"up": "up"},
        kept={"up": True},
        each_step="if (x >= 0.05) up = 0; if (x <= -0.05) up = 1;",
    )

    def exact(t: Floats) -> Mapping[str, Floats | Switches]:
        phase = (t + 0.05) % 0.2
        x = np.where(phase < 0.1, phase - 0.05, 0.15 - phase)
        return {"Ramp.x": x, "Relay.up": Switches(np.arange(0.05, t[-1] + 1e-9, 0.1))}

    return System({"Ramp": ramp, "Relay": relay}, [("Relay.up", "Ramp.up"), ("Ramp.x", "Relay.x")], 2.0, exact)


def bouncing(**can: object) -> System:
    """A ball on a table that moves as 0.05 sin 15 t; restitution 0.8."""
    ball = Part(
        inputs={"table": 0.0, "speed": 0.0},
        states={"place": (1.0, "fall"), "fall": (0.0, "-9.81")},
        outputs={"h0": "place"},
        event="if (place <= table + 1e-9 && fall < speed) { place = table; fall = speed - 0.8 * (fall - speed); }",
        indicators=("place - table",),
        exchange=True,
        co_simulation=False,
    )
    table = Part(outputs={"y": "0.05 * sin(15 * time)", "w": "0.75 * cos(15 * time)"}, **can)

    def exact(t: Floats) -> Mapping[str, Floats]:
        flights = np.array([(0.0, 1.0, 0.0), *bounces(t[-1])])
        start, height, speed = flights[np.searchsorted(flights[:, 0], t, side="right") - 1].T
        return {"Ball.h0": height + speed * (t - start) - 9.81 / 2 * (t - start) ** 2}

    return System({"Ball": ball, "Table": table}, [("Table.y", "Ball.table"), ("Table.w", "Ball.speed")], 2.0, exact)


@cache
def bounces(stop: float) -> list[tuple[float, float, float]]:
    """Time, height and speed after each bounce."""
    t, height, speed, found = 0.0, 1.0, 0.0, []
    while True:

        def gap(s: float, t: float = t, height: float = height, speed: float = speed) -> float:
            return height + speed * (s - t) - 9.81 / 2 * (s - t) ** 2 - 0.05 * np.sin(15 * s)

        grid = np.arange(t + 1e-6, stop, 1e-4)
        below = np.flatnonzero(gap(grid) < 0)
        if not len(below):
            return found
        s = brentq(gap, grid[max(below[0] - 1, 0)], grid[below[0]], xtol=1e-15)
        moving, before = 0.75 * np.cos(15 * s), speed - 9.81 * (s - t)
        t, height, speed = s, 0.05 * np.sin(15 * s), moving - 0.8 * (before - moving)
        found.append((t, height, speed))


# -- control ---------------------------------------------------------------------------------------------------------


def sampled(clocked: bool) -> System:
    """y' = u + 1 with u = −5 y of the last multiple of 0.1 s: by time events, or by each step of 0.1 s."""
    rule = "if (time >= count * 0.1 - 1e-9) { u = -5 * y; count = count + 1; }"
    controller = Part(
        inputs={"y": 1.0},
        outputs={"u": "u"},
        kept={"u": -5.0, "count": 0.0 if clocked else 1.0},
        each_step=rule,
        event=f"{rule} next = count * 0.1;",
        exchange=clocked,
        co_simulation=not clocked,
    )
    plant = Part(inputs={"u": -5.0}, states={"level": (1.0, "u + 1")}, outputs={"y": "level"})

    def exact(t: Floats) -> Mapping[str, Floats]:
        number = np.floor(t / 0.1 + 1e-9).astype(int)
        level = [1.0]
        for _ in range(number.max() + 1):
            level.append(level[-1] + 0.1 * (1 - 5 * level[-1]))
        last = np.array(level)[number]
        return {"P.y": last + (1 - 5 * last) * (t - 0.1 * number)}

    return System({"C": controller, "P": plant}, [("C.u", "P.u"), ("P.y", "C.y")], 2.0, exact)


def drive() -> System:
    """A PI controller that integrates by its own steps, and a DC motor with a time constant of 2 ms."""
    motor = Part(
        inputs={"volt": 0.0},
        states={
            "amp": (0.0, "(volt - 0.5 * amp - 0.05 * turn) / 1e-3"),
            "turn": (0.0, "(0.05 * amp - 1e-4 * turn) / 5e-4"),
        },
        outputs={"w": "turn", "i": "amp"},
        euler=2e-5,
    )
    control = Part(
        inputs={"w": 0.0}, outputs={"volt": "volt"}, kept={"volt": 0.0, "total": 0.0, "past": 0.0},
        each_step="total += (100 - w) * (time - past); past = time; volt = 0.02 * (100 - w) + 0.5 * total;",
    )  # fmt: skip
    matrix = [
        [-500, -50 - 1000 * 0.02, 1000 * 0.5, 1000 * 0.02 * 100],
        [100, -0.2, 0, 0],
        [0, -1, 0, 100],
        [0, 0, 0, 0],
    ]
    exact = linear(("Motor.i", "Motor.w", "", ""), matrix, [0, 0, 0, 1])
    return System({"Motor": motor, "C": control}, [("Motor.w", "C.w"), ("C.volt", "Motor.volt")], 0.5, exact)


def fixed_sampler() -> System:
    """Two FMUs that take steps of 0.1 s only: y' = 0.5 z, z' = −0.5 y, with inputs held."""

    def one(start: float, sign: str) -> Part:
        return Part(
            inputs={"u": 0.0},
            states={"level": (start, f"{sign}0.5 * u")},
            outputs={"y": "level"},
            experiment='stopTime="1" stepSize="0.1"',
        )

    exact = linear(("A.y", "B.y"), [[0, 0.5], [-0.5, 0]], [1, 2])
    return System({"A": one(1.0, ""), "B": one(2.0, "-")}, [("A.y", "B.u"), ("B.y", "A.u")], 6.0, exact)


# -- nonlinear, algebraic, fast --------------------------------------------------------------------------------------


def coupled(one: tuple[float, str], other: tuple[float, str], stop: float, rates: Callable, **can: object) -> System:
    """x' and y' in an FMU each: start and right-hand side, in which the other's state is `u`."""
    parts = {
        "X": Part(inputs={"u": other[0]}, states={"x": one}, outputs={"y": "x"}, **can),
        "Y": Part(inputs={"u": one[0]}, states={"x": other}, outputs={"y": "x"}, **can),
    }
    exact = integrated(("X.y", "Y.y"), rates, [one[0], other[0]])
    return System(parts, [("X.y", "Y.u"), ("Y.y", "X.u")], stop, exact)


def predators(**can: object) -> System:
    def rates(t: float, x: Floats) -> list[float]:
        return [1.5 * x[0] - x[0] * x[1], -3 * x[1] + x[0] * x[1]]

    return coupled((10.0, "1.5 * x - x * u"), (5.0, "-3 * x + x * u"), 4.0, rates, **can)


def relaxation(**can: object) -> System:
    def rates(t: float, x: Floats) -> list[float]:
        return [20 * (x[0] - x[0] ** 3 / 3 + x[1]), -x[0] / 20]

    return coupled((2.0, "20 * (x - x * x * x / 3 + u)"), (0.0, "-u / 20"), 40.0, rates, **can)


def growth(**can: object) -> System:
    made = coupled((1.0, "4 * u"), (1.5, "4 * u"), 2.0, lambda t, x: [4 * x[1], 4 * x[0]], **can)
    exact = linear(("X.y", "Y.y"), [[0, 4], [4, 0]], [1, 1.5])
    return System(made.parts, made.wires, made.stop, exact)


def contact(stiffness: float, **can: object) -> System:
    """A mass of 2 kg, 3 m/s, against a stop at 0.1 m of this stiffness [N/m]; after contact it flies back."""
    moving = Part(
        inputs={"force": 0.0},
        states={"place": (0.0, "speed"), "speed": (3.0, "force / 2")},
        outputs={"x": "place"},
        **can,
    )
    stop = Part(inputs={"x": 0.0}, outputs={"force": f"x > 0.1 ? -{stiffness!r} * (x - 0.1) : 0"}, **can)

    def exact(t: Floats) -> Mapping[str, Floats]:
        rate = np.sqrt(stiffness / 2)
        begin = 0.1 / 3
        end = begin + np.pi / rate
        inside = 0.1 + 3 / rate * np.sin(rate * (t - begin))
        return {"Mass.x": np.where(t < begin, 3 * t, np.where(t < end, inside, 0.1 - 3 * (t - end)))}

    return System({"Mass": moving, "Stop": stop}, [("Stop.force", "Mass.force"), ("Mass.x", "Stop.x")], 0.2, exact)


def loop(gain: float) -> System:
    """y = gain · u + 3 + t with u = y."""
    one = Part(inputs={"u": 0.0}, outputs={"y": f"{gain!r} * u + 3 + time"})
    through = Part(inputs={"u": 0.0}, outputs={"y": "u"})
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    return System({"A": one, "B": through}, wires, 1.0, lambda t: {"A.y": (3 + t) / (1 - gain)})


def hidden(saves: bool) -> System:
    """The same loop, but the first FMU denies that its output depends on its input."""
    made = loop(-0.5)
    parts = {"A": made.parts["A"].able(denied=("u",), saves=saves), "B": made.parts["B"].able(saves=saves)}
    return System(parts, made.wires, 1.0, made.exact)


def chain() -> System:
    """A sine through five gains of direct feedthrough."""
    parts = {"S": Part(outputs={"y": "4 * sin(6 * time) + 1"})}
    parts |= {f"G{k}": Part(inputs={"u": 0.0}, outputs={"y": "1.2 * u - 0.1"}) for k in range(5)}
    names = list(parts)
    wires = [(f"{one}.y", f"{other}.u") for one, other in pairwise(names)]

    def exact(t: Floats) -> Mapping[str, Floats]:
        y = 4 * np.sin(6 * t) + 1
        for _ in range(5):
            y = 1.2 * y - 0.1
        return {"G4.y": y}

    return System(parts, wires, 2.0, exact)


def resonator(settings: Mapping[str, object] = {}, **can: object) -> System:
    """1 pF and 1 nH, five periods in 1 ns."""
    parts = {
        "C": Part(inputs={"i": 0.0}, states={"volt": (1.0, "i / 1e-12")}, outputs={"u": "volt"}, **can),
        "L": Part(inputs={"u": 1.0}, states={"amp": (0.0, "-u / 1e-9")}, outputs={"i": "amp"}, **can),
    }
    rate = 1 / np.sqrt(1e-21)

    def exact(t: Floats) -> Mapping[str, Floats]:
        return {"C.u": np.cos(rate * t), "L.i": -np.sqrt(1e-3) * np.sin(rate * t)}

    return System(parts, [("L.i", "C.i"), ("C.u", "L.u")], 1e-9, exact, settings)


def late(when: float = 1.9001, ramp: bool = False) -> System:
    """Nothing moves until 1.9 of 2 s; then a mode of 200 rad/s is struck, by the time or by what a ramp has reached."""
    reached = "level > {when} ? 100 : 0" if ramp else "time > {when} ? 100 : 0"
    strike = Part(inputs={"level": 0.0} if ramp else {}, outputs={"force": reached.format(when=when)})
    one = Part(
        inputs={"force": 0.0},
        states={"place": (0.5, "speed"), "speed": (0.0, "force - 40000 * (place - 0.5)")},
        outputs={"x": "place"},
    )

    def exact(t: Floats) -> Mapping[str, Floats]:
        since = np.maximum(t - when, 0)
        return {"One.x": 0.5 + 100 / 40000 * (1 - np.cos(200 * since))}

    parts, wires = {"Strike": strike, "One": one}, [("Strike.force", "One.force")]
    if ramp:
        parts, wires = {"Ramp": Part(outputs={"y": "time"}), **parts}, [("Ramp.y", "Strike.level"), *wires]
    return System(parts, wires, 2.0, exact)


def offset() -> System:
    """An oscillation of 1e-3 about 1e6."""
    source = Part(outputs={"y": "1e6 + 1e-3 * sin(8 * time)"})
    lag = Part(inputs={"u": 1e6}, states={"x": (1e6, "(u - x) / 0.05")}, outputs={"y": "x"})
    exact = linear(("", "", "Lag.y"), [[0, 8, 0], [-8, 0, 0], [1e-3 / 0.05, 0, -1 / 0.05]], [0, 1, 0])
    return System({"S": source, "Lag": lag}, [("S.y", "Lag.u")], 2.0, lambda t: {"Lag.y": 1e6 + exact(t)["Lag.y"]})


KILO = 2 * np.pi * 1000

SYSTEMS: Mapping[str, System] = {
    "oscillator that holds": oscillator(),
    "oscillator that saves": oscillator(saves=True),
    "oscillator that follows": oscillator(saves=True, follows=True),
    "oscillator of model exchange": oscillator(exchange=True, co_simulation=False),
    "oscillator of both interfaces": oscillator(exchange=True, saves=True, follows=True),
    "oscillator of both interfaces, co-simulated": by_steps(oscillator(exchange=True, saves=True, follows=True)),
    "damped oscillator that holds": oscillator(damping=3.0),
    "damped oscillator that follows": oscillator(damping=3.0, saves=True, follows=True),
    "oscillator with adaptive steps": oscillator(saves=True, follows=True, settings={"adaptive": 1e-4}),
    "oscillator by 50 ms": oscillator(settings={"step_size": 0.05}),
    "oscillator iterated by 50 ms": oscillator(saves=True, follows=True, settings={"step_size": 0.05}),
    "mass that discards": discarding(),
    "mass of coarse steps inside": coarse(),
    "mass of coarse steps inside, with model exchange": coarse(exchange=True),
    "mass of coarse steps inside, with model exchange, co-simulated": by_steps(coarse(exchange=True)),
    "one FMU of coarse steps": lone_coarse(),
    "one FMU of coarse steps, with model exchange": lone_coarse(exchange=True),
    "one FMU of coarse steps, with model exchange, co-simulated": by_steps(lone_coarse(exchange=True)),
    "driven at resonance": driven(5.0),
    "driven at 300 rad/s": driven(300.0),
    "source of 990 Hz": summed("cos(6220.353 * time)", lambda t: np.sin(6220.353 * t) / 6220.353),
    "cosine of 1000 Hz and a slow one": summed(
        f"cos({KILO!r} * time) + cos(3 * time)", lambda t: np.sin(KILO * t) / KILO + np.sin(3 * t) / 3
    ),
    "square of a sine of 1000 Hz": summed(
        f"2 * sin({KILO!r} * time) * sin({KILO!r} * time)", lambda t: t - np.sin(2 * KILO * t) / (2 * KILO)
    ),
    "slow source": summed("3 + 2 * cos(3 * time)", lambda t: 3 * t + 2 / 3 * np.sin(3 * t)),
    "slow source of model exchange": summed(
        "3 + 2 * cos(3 * time)", lambda t: 3 * t + 2 / 3 * np.sin(3 * t), exchange=True, co_simulation=False
    ),
    "soft thermal link": thermal(1.0),
    "thermal link of 100 W/K": thermal(100.0),
    "thermal link of 100 W/K that follows": thermal(100.0, saves=True, follows=True),
    "thermal link of 1e4 W/K": thermal(1e4),
    "thermal link of 1e4 W/K that follows": thermal(1e4, saves=True, follows=True),
    "thermal link of 1e6 W/K that follows": thermal(1e6, saves=True, follows=True),
    "thermal link of 1e4 W/K, model exchange": thermal(1e4, exchange=True, co_simulation=False),
    "a day": day(),
    "thermostat of co-simulation": thermostat(),
    "thermostat of model exchange": thermostat(exchange=True, co_simulation=False),
    "relay": hysteresis(),
    "bouncing ball": bouncing(),
    "bouncing ball, all model exchange": bouncing(exchange=True, co_simulation=False),
    "sampled by time events": sampled(clocked=True),
    "sampled by steps": sampled(clocked=False),
    "drive": drive(),
    "steps of 0.1 s": fixed_sampler(),
    "predators": predators(),
    "predators that follow": predators(saves=True, follows=True),
    "relaxation": relaxation(),
    "growth": growth(),
    "contact of 1e4 N/m": contact(1e4),
    "contact of 1e6 N/m": contact(1e6),
    "contact of 1e4 N/m that follows": contact(1e4, saves=True, follows=True),
    "loop of gain -0.5": loop(-0.5),
    "loop of gain -2": loop(-2.0),
    "hidden loop": hidden(saves=False),
    "hidden loop that saves": hidden(saves=True),
    "chain of gains": chain(),
    "resonator of 1 ns": resonator(saves=True, follows=True),
    "resonator with adaptive steps": resonator({"adaptive": 1e-3}, saves=True, follows=True),
    "late strike": late(),
    "late strike that steps of three sizes notice at once": late(1.9019),
    "late strike at a communication point, but for rounding": late(1.90199999),
    "late strike that a ramp sets off": late(1.8639, ramp=True),
    "small oscillation about 1e6": offset(),
}
