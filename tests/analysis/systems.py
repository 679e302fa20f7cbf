"""Systems whose linear models are known in closed form."""

from pathlib import Path

import numpy as np
from scipy.linalg import expm

from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

OFFERED = 'providesDirectionalDerivative="true"'


def drive(folder: Path) -> Path:
    """A DC drive: L i' = u - R i - k w, J w' = k i - d w - load, with u of the system in V and the load free."""
    armature = (
        Var("u", "input", start=0.0),
        Var("w", "input", start=0.0),
        Var("i", "state", start=2.0),
        Var("di", "der", of="i", needs=["i", "u", "w"]),
        Var("torque", "output", needs=["i"]),
    )
    rotor = (
        Var("torque", "input", start=0.0),
        Var("load", "input", start=0.5),
        Var("w", "state", start=3.0),
        Var("dw", "der", of="w", needs=["w", "torque", "load"]),
        Var("speed", "output", needs=["w"]),
    )
    make_fmu(
        folder / "Armature.fmu",
        armature,
        calc="v->di = (v->u - R * v->i - K * v->w) / L; v->torque = K * v->i;".replace("R", "1.5")
        .replace("K", "0.25")
        .replace("L", "0.01"),
    )
    make_fmu(folder / "Rotor.fmu", rotor, calc="v->dw = (v->torque - 0.002 * v->w - v->load) / 0.05; v->speed = v->w;")
    connectors = (
        '<ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>'
        '<ssd:Connector name="speed" kind="output"><ssc:Real/></ssd:Connector>'
    )
    wires = [(".u", "A.u"), ("A.torque", "R.torque"), ("R.speed", "A.w"), ("R.speed", ".speed")]
    return write_system(folder / "drive", folder, {"A": "Armature", "R": "Rotor"}, wires, connectors=connectors)


def thermal_chain(folder: Path, count: int) -> Path:
    """Capacities of 4 J/K in a row, with conductances of 3 W/K between them and to an ambient on both sides."""
    node = (
        Var("q1", "input", start=0.0),
        Var("q2", "input", start=0.0),
        Var("T", "state", start=20.0),
        Var("dT", "der", of="T", needs=["q1", "q2"]),
        Var("out", "output", needs=["T"]),
    )
    link = (
        Var("a", "input", start=15.0),
        Var("b", "input", start=15.0),
        Var("q", "output", needs=["a", "b"]),
        Var("back", "output", needs=["a", "b"]),
    )
    make_fmu(folder / "Node.fmu", node, version=3, calc="v->dT = (v->q1 + v->q2) / 4; v->out = v->T;")
    make_fmu(folder / "Link.fmu", link, version=3, calc="v->q = 3 * (v->a - v->b); v->back = -v->q;")
    parts = {f"N{k}": "Node" for k in range(count)} | {f"L{k}": "Link" for k in range(count + 1)}
    wires = [(f"L{k}.q", f"N{k}.q1") for k in range(count)] + [(f"L{k + 1}.back", f"N{k}.q2") for k in range(count)]
    wires += [(f"N{k}.out", f"L{k}.b") for k in range(count)] + [(f"N{k}.out", f"L{k + 1}.a") for k in range(count)]
    return write_system(folder / "chain", folder, parts, wires)


def limit_cycle(folder: Path) -> Path:
    """Van der Pol's oscillator in two parts: x' = v, v' = -4 (x - 1.5) + F, F = 0.6 (1 - (x - 1.5)²) v."""
    mass = (
        Var("F", "input", start=0.0),
        Var("x", "state", start=3.5),
        Var("dx", "der", of="x", needs=["v"]),
        Var("v", "state", start=0.0),
        Var("dv", "der", of="v", needs=["x", "F"]),
        Var("place", "output", needs=["x"]),
        Var("speed", "output", needs=["v"]),
    )
    friction = (
        Var("x", "input", start=0.0),
        Var("v", "input", start=0.0),
        Var("F", "output", needs=["x", "v"]),
    )
    calc = "v->dx = v->v; v->dv = -4 * (v->x - 1.5) + v->F; v->place = v->x; v->speed = v->v;"
    make_fmu(folder / "Mass.fmu", mass, calc=calc)
    make_fmu(folder / "Friction.fmu", friction, calc="v->F = 0.6 * (1 - (v->x - 1.5) * (v->x - 1.5)) * v->v;")
    wires = [("M.place", "F.x"), ("M.speed", "F.v"), ("F.F", "M.F")]
    return write_system(folder / "cycle", folder, {"M": "Mass", "F": "Friction"}, wires)


def stiff_link(folder: Path, conductance: float) -> Path:
    """Capacities of 4 and 10 J/K with a very good link between them, and one of 3 W/K from the second to an ambient."""
    node = "v->dT = v->q / {}; v->out = v->T;"
    variables = (
        Var("q", "input", start=0.0),
        Var("T", "state", start=20.0),
        Var("dT", "der", of="T", needs=["q"]),
        Var("out", "output", needs=["T"]),
    )
    link = (
        Var("a", "input", start=0.0),
        Var("b", "input", start=0.0),
        Var("ambient", "input", start=12.5),
        Var("qa", "output", needs=["a", "b"]),
        Var("qb", "output", needs=["a", "b", "ambient"]),
    )
    make_fmu(folder / "Small.fmu", variables, calc=node.format(4))
    make_fmu(folder / "Large.fmu", variables, calc=node.format(10))
    flow = f"v->qa = {conductance!r} * (v->b - v->a); v->qb = -v->qa + 3 * (v->ambient - v->b);"
    make_fmu(folder / "Link.fmu", link, calc=flow)
    wires = [("S.out", "K.a"), ("L.out", "K.b"), ("K.qa", "S.q"), ("K.qb", "L.q")]
    return write_system(folder / "stiff", folder, {"S": "Small", "L": "Large", "K": "Link"}, wires)


def pendulum(folder: Path, *, said: str = "") -> Path:
    """phi'' = -9.81 sin phi - 0.4 w + u; `said` is the body of its directional derivatives."""
    variables = (
        Var("u", "input", start=0.0),
        Var("phi", "state", start=0.7),
        Var("dphi", "der", of="phi", needs=["w"]),
        Var("w", "state", start=0.2),
        Var("dw", "der", of="w", needs=["phi", "w", "u"]),
        Var("height", "output", needs=["phi"]),
    )
    offer = {"me": OFFERED, "partial": said} if said else {}
    calc = "v->dphi = v->w; v->dw = -9.81 * sin(v->phi) - 0.4 * v->w + v->u; v->height = 2 - cos(v->phi);"
    make_fmu(folder / "Pendulum.fmu", variables, calc=calc, **offer)
    return write_system(folder / "pendulum", folder, {"P": "Pendulum"})


H = 0.05
A = np.array([[0.0, 1.0], [-9.0, -0.8]])
B = np.array([[0.0], [2.5]])
C = np.array([[1.5, 0.2]])
D = 0.3


def exact(A, B, h=H):
    """Transition over a step, and the effect of an input that is held."""
    n, m = B.shape
    whole = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * h)
    return whole[:n, :n], whole[:n, n:]


def plant(folder: Path, **more) -> Path:
    """Co-simulation alone; its steps are exact for a held input: y = 1.5 x + 0.2 v + 0.3 u + 0.7."""
    (phi, gamma) = exact(A, B)
    rows = [(*phi[k], gamma[k, 0]) for k in range(2)]
    new = [" + ".join(f"({c!r}) * {n}" for c, n in zip(row, ("v->x", "v->v", "v->u"), strict=True)) for row in rows]
    variables = (
        Var("u", "input", start=0.4),
        Var("x", "local", start=0.5),
        Var("v", "local", start=-0.25),
        Var("y", "output", needs=["u"]),
    )
    step = f"double x = {new[0]}; v->v = {new[1]}; v->x = x; calc(v); return OK;".replace("np.float64", "")
    make_fmu(
        folder / "Plant.fmu",
        variables,
        me=None,
        calc="v->y = 1.5 * v->x + 0.2 * v->v + 0.3 * v->u + 0.7;",
        step=step,
        **more,
    )
    return write_system(folder / "plant", folder, {"P": "Plant"})
