"""Orders of masters whose steps begin at events: a sampled damper beside a mass on a spring, by closed forms."""

import numpy as np
import pytest

from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import System


def sampled_damper(period, **can):
    """A mass of 2 kg on a spring of 50 N/m, and a force of −1.5 times its speed at the last sample."""
    rule = f"if (time >= count * {period!r} - 1e-9) {{ u = -1.5 * w; count = count + 1; }}"
    damper = Part(
        inputs={"w": 0.0},
        outputs={"u": "u"},
        kept={"u": 0.0, "count": 0.0},
        event=f"{rule} next = count * {period!r};",
        exchange=True,
        co_simulation=False,
    )
    mass = Part(
        inputs={"force": 0.0, "u": 0.0},
        states={"place": (1.0, "speed"), "speed": (0.0, "(force + u) / 2")},
        outputs={"x": "place", "w": "speed"},
        **can,
    )
    spring = Part(inputs={"x": 0.0}, outputs={"force": "-50 * x"}, **can)
    parts = {"C": damper, "M": mass, "S": spring}
    wires = [("C.u", "M.u"), ("M.w", "C.w"), ("M.x", "S.x"), ("S.force", "M.force")]
    return System(parts, wires, 2.0, lambda t: _between_samples(t, period))


def _between_samples(t, period):
    """5 rad/s about u / 50 from each sample to the next."""
    number = np.floor(t / period + 1e-9).astype(int)
    at_samples = [(1.0, 0.0, 0.0)]
    for _ in range(number.max() + 1):
        place, speed, _ = at_samples[-1]
        at_samples[-1] = (place, speed, -1.5 * speed)
        at_samples.append((*_free(*at_samples[-1], period), 0.0))
    place, speed = _free(*np.array(at_samples)[number].T, t - number * period)
    return {"M.x": place, "M.w": speed}


def _free(place, speed, force, since):
    rest = force / 50
    cosine, sine = np.cos(5 * since), np.sin(5 * since)
    return rest + (place - rest) * cosine + speed / 5 * sine, speed * cosine - 5 * (place - rest) * sine


FOLLOWS = {"saves": True, "follows": True}


@pytest.mark.parametrize(
    ("can", "settings", "order"),
    [
        ({}, {"master": "jacobi"}, 2),
        ({}, {"master": "gauss-seidel"}, 2),
        ({}, {"master": "jacobi", "approximation": "hold"}, 1),
        ({"saves": True}, {}, 2),
        ({"saves": True}, {"master": "iterated", "approximation": "mid-step"}, 2),
        (FOLLOWS, {"master": "jacobi"}, 2),
        (FOLLOWS, {}, 2),
    ],
)
def test_steps_that_all_begin_at_a_sample_have_the_order_of_others(can, settings, order, tmp_path):
    errors = []
    for step in (0.02, 0.01, 0.005):
        system = sampled_damper(step, **can)
        folder = tmp_path / f"{step:g}"
        folder.mkdir()
        result = carried_out(system, written(system, folder), step_size=step, accuracy="off", **settings)
        errors.append(true_error(system, result)[0])
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.25)
    assert order == 1 or errors[1] < 2e-3
