"""Write the table of integrators in docs/events.md: errors and evaluations, with state events and without."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from ssptool import Result
from ssptool.engine.method_names import IntegratorName
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import Floats, System, bounces, bouncing, oscillator, relaxation, thermal, thermostat
from tests.accuracy.thermostat import HIGH, LOW, START, switching_times

EXCHANGE = {"exchange": True, "co_simulation": False}


@dataclass(frozen=True)
class Switched:
    """A system of model exchange, and the exact times of its state events [s]."""

    system: System
    events: Sequence[float] = ()


def stick_slip() -> Switched:
    """2 kg on a belt of 0.5 m/s, spring of 50 N/m; it breaks away at 6 N and slides with 3 N."""
    part = Part(
        states={"place": (0.0, "speed"), "speed": (0.5, "slip ? (3 - 50 * place) / 2 : 0")},
        outputs={"x": "place"},
        kept={"slip": False},
        event="if (!slip && place >= 0.12) slip = 1; "
        "else if (slip && speed >= 0.5 && place < 0.1) { slip = 0; speed = 0.5; }",
        indicators=("50 * place - 6", "slip ? speed - 0.5 : -1"),
        **EXCHANGE,
    )
    angle = np.arctan2(0.3, 0.5)
    sliding = (2 * np.pi - 2 * angle) / 5
    period = 0.24 + sliding

    def exact(t: Floats) -> Mapping[str, Floats]:
        since = t % period
        turn = 5 * (since - 0.24)
        return {"One.x": np.where(since < 0.24, 0.5 * since, 0.06 + 0.06 * np.cos(turn) + 0.1 * np.sin(turn))}

    stop = 5.0
    times = [k * period + late for k in range(10) for late in (0.24, period)]
    return Switched(System({"One": part}, [], stop, exact), [one for one in times if one < stop])


def contact(stiffness: float) -> Switched:
    """A mass of 2 kg, 3 m/s, against a stop at 0.1 m of this stiffness [N/m]; after contact it flies back."""
    part = Part(
        states={"place": (0.0, "speed"), "speed": (3.0, f"touch ? -{stiffness!r} * (place - 0.1) / 2 : 0")},
        outputs={"x": "place"},
        kept={"touch": False},
        event="touch = place > 0.1;",
        indicators=("place - 0.1",),
        **EXCHANGE,
    )
    rate, begin = np.sqrt(stiffness / 2), 0.1 / 3
    end = begin + np.pi / rate

    def exact(t: Floats) -> Mapping[str, Floats]:
        inside = 0.1 + 3 / rate * np.sin(rate * (t - begin))
        return {"One.x": np.where(t < begin, 3 * t, np.where(t < end, inside, 0.1 - 3 * (t - end)))}

    return Switched(System({"One": part}, [], 0.2, exact), [begin, end])


def sensed(rate: float = 1e4) -> Switched:
    """A room (time constant 100 s) with a thermostat whose sensor follows at this rate [1/s]."""
    rule = f"if (felt <= {LOW!r}) on = 1; if (felt >= {HIGH!r}) on = 0;"
    part = Part(
        states={"heat": (START, "((on ? 35 : 5) - heat) / 100"), "felt": (START, f"{rate!r} * (heat - felt)")},
        outputs={"T": "felt"},
        kept={"on": True},
        event=rule,
        indicators=(f"felt - {LOW!r}", f"felt - {HIGH!r}"),
        **EXCHANGE,
    )
    lag = rate / (rate - 0.01)

    def felt(since: Floats, target: float, heat: float, sensor: float) -> Floats:
        slow = (heat - target) * lag
        return target + slow * np.exp(-since / 100) + (sensor - target - slow) * np.exp(-rate * since)

    stretches = [(0.0, 35.0, START, START)]
    while stretches[-1][0] < 300:
        begin, target, heat, _ = stretches[-1]
        limit = HIGH if target > HIGH else LOW
        since = brentq(lambda s, own=stretches[-1], to=limit: felt(s, *own[1:]) - to, 1e-2, 300, xtol=1e-14)
        heat = target + (heat - target) * np.exp(-since / 100)
        stretches.append((begin + since, 40.0 - target, heat, limit))
    starts = np.array([one[0] for one in stretches])

    def exact(t: Floats) -> Mapping[str, Floats]:
        own = np.array(stretches)[np.searchsorted(starts, t, side="right") - 1].T
        return {"One.T": felt(t - own[0], *own[1:])}

    return Switched(System({"One": part}, [], 300.0, exact), [one for one in starts[1:] if one < 300])


def rod(count: int = 60) -> System:
    """Heat along a rod of `count` cells from 1 at one end, the other end cold: as many states in one FMU."""
    names = [f"c{k}" for k in range(count)]
    rate = float(count**2)
    heights = np.sin(np.pi * np.arange(1, count + 1) / (count + 1))
    states = {
        name: (float(height), f"{rate!r} * ({left} - 2 * {name} + {right})")
        for name, height, left, right in zip(names, heights, ("0", *names[:-1]), (*names[1:], "0"), strict=True)
    }
    decay = 4 * rate * np.sin(np.pi / 2 / (count + 1)) ** 2
    middle = count // 2
    part = Part(states=states, outputs={"y": f"c{middle}"}, **EXCHANGE)
    return System({"One": part}, [], 0.5, lambda t: {"One.y": heights[middle] * np.exp(-decay * t)})


BALL = bouncing(**EXCHANGE)

CASES: Mapping[str, Switched] = {
    "ball on a moving table": Switched(BALL, [one[0] for one in bounces(BALL.stop)]),
    "stick and slip": stick_slip(),
    "contact of 1e4 N/m": contact(1e4),
    "contact of 1e6 N/m": contact(1e6),
    "thermostat": Switched(thermostat(**EXCHANGE), switching_times(300.0)),
    "thermostat with a sensor of 0.1 ms (stiff)": sensed(),
    "oscillator": Switched(oscillator(**EXCHANGE)),
    "van der Pol (stiff)": Switched(relaxation(**EXCHANGE)),
    "thermal link of 1e4 W/K (stiff)": Switched(thermal(1e4, **EXCHANGE)),
    "rod of 60 states (stiff)": Switched(rod()),
}


def event_error(result: Result, events: Sequence[float]) -> float:
    """Largest distance of an exact event from the nearest one of the run [s]."""
    found = result.t[1:][result.t[1:] == result.t[:-1]]
    return max((float(np.min(np.abs(found - one), initial=np.inf)) for one in events), default=0.0)


BEGIN, END = "<!-- table: make verify -->", "<!-- end of the table -->"


def main(page: Path) -> None:
    names = [str(one) for one in IntegratorName]
    rows = [f"| system | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    times = [*rows]
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = written(case.system, Path(folder))
            runs = [carried_out(case.system, path, integrator=method) for method in IntegratorName]
        values = (f"{true_error(case.system, one)[0]:.0e}, {one.statistics.evaluations}" for one in runs)
        rows.append(f"| {name} | {' | '.join(values)} |")
        if len(case.events):
            times.append(f"| {name} | {' | '.join(f'{event_error(one, case.events):.0e}' for one in runs)} |")
        print(rows[-1], flush=True)
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    values, late = "Errors relative to the range, and evaluations of all derivatives:", "Errors of event times [s]:"
    table = "\n".join([values, "", *rows, "", late, "", *times]).replace("e-0", "e-")
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
