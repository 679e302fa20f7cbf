"""FMUs from equations, with the capabilities that an exporter may give them or not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.engine.small.fmus import Var, make_fmu

FOLLOWS = 'canInterpolateInputs="true"'
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Part:
    """The equations of a component, and what its FMU can do.

    Names are of one word, and none of v, s, t, h, a, which the C code around has; `time` is the time [s].

    Attributes
    ----------
    inputs, parameters
        Start values; truth values make Booleans.
    states
        Start value and derivative.
    outputs
        Expressions of inputs, parameters, states and `kept`.
    kept
        Discrete values and their start.
    each_step
        Statements at the end of each step of co-simulation; a name that they assign is one of `kept`.
    denied
        Inputs on which outputs depend although the description denies it.
    euler
        Size of the explicit Euler steps inside [s]; None: they are far more exact than the coupling.
    event, indicators
        Statements that may change states and kept values, and set `next`, the time of the next event; and expressions
        whose change of sign is an event. For model exchange.
    longest
        Longer steps are discarded [s].
    varies
        Steps may have any size.
    """

    inputs: Mapping[str, float | bool] = field(default_factory=dict)
    states: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float | bool] = field(default_factory=dict)
    each_step: str = ""
    denied: tuple[str, ...] = ()
    euler: float | None = None
    event: str = ""
    indicators: tuple[str, ...] = ()
    longest: float | None = None
    saves: bool = False
    follows: bool = False
    exchange: bool = False
    co_simulation: bool = True
    experiment: str = ""
    varies: bool = True

    def able(self, **what: object) -> "Part":
        """The same equations with other capabilities."""
        return replace(self, **what)


def write_part(path: Path, part: Part, version: int = 2) -> Path:
    """The FMU of a part."""
    return make_fmu(
        path,
        _variables(part),
        version=version,
        me="" if part.exchange else None,
        cs=FOLLOWS * part.follows if part.co_simulation else None,
        own=_own(part),
        calc=_calc(part),
        lead=_lead(part) if part.follows else "return ERROR;",
        event=_event(part) if part.event else "return OK;",
        step=_step(part),
        saves=part.saves,
        varies=part.varies,
        experiment=part.experiment,
    )


def _kind(value: float | bool) -> str:
    return "Boolean" if isinstance(value, bool) else "Float64"


def _variables(part: Part) -> list[Var]:
    rows = [Var(name, "input", _kind(start), start) for name, start in part.inputs.items()]
    rows += [Var(name, "parameter", start=start) for name, start in part.parameters.items()]
    for name, (start, rate) in part.states.items():
        rows += [Var(name, "state", start=start), Var(f"der_{name}", "der", of=name, needs=_needs(part, rate))]
    for name, expression in part.outputs.items():
        kind = _kind(part.kept.get(expression, 0.0))
        discrete = "discrete" if expression in part.kept else ""
        rows.append(Var(name, "output", kind, needs=_needs(part, expression), variability=discrete))
    return rows + [Var(f"sign{place}", "indicator") for place in range(len(part.indicators))]


def _needs(part: Part, expression: str) -> list[str]:
    words = dict.fromkeys(_WORD.findall(expression))
    return [one for one in words if (one in part.inputs and one not in part.denied) or one in part.states]


def _own(part: Part) -> str:
    slopes = "".join(f"double slope_{name}; " for name in part.inputs)
    kept = "".join(
        f"{'bool' if isinstance(start, bool) else 'double'} kept_{name}; " for name, start in part.kept.items()
    )
    return f"double begin, next; bool alive; {slopes}{kept}"


def _names(part: Part) -> str:
    """Locals by the names of the equations; inputs as they are at this time."""
    start = "".join(f"v->kept_{name} = {float(value)!r}; " for name, value in part.kept.items())
    text = f"if (!v->alive) {{ v->alive = true; v->next = INFINITY; {start}}} const double time = v->time; (void)time; "
    for name in part.inputs:
        text += f"const double {name} = v->{name} + v->slope_{name} * (v->time - v->begin); (void){name}; "
    for name in part.parameters:
        text += f"const double {name} = v->{name}; (void){name}; "
    for name in part.kept:
        text += f"const double {name} = v->kept_{name}; (void){name}; "
    return text


def _calc(part: Part) -> str:
    text = _names(part) + "".join(f"const double {name} = v->{name}; (void){name}; " for name in part.states)
    text += "".join(f"v->der_{name} = {rate}; " for name, (_, rate) in part.states.items())
    text += "".join(f"v->{name} = {expression}; " for name, expression in part.outputs.items())
    return text + "".join(f"v->sign{place} = {one}; " for place, one in enumerate(part.indicators))


def _lead(part: Part) -> str:
    rows = (f"if (r == VR_{name}) {{ v->slope_{name} = x; v->begin = v->time; return OK; }}" for name in part.inputs)
    return f"if (order != 1) return ERROR; {' '.join(rows)} return ERROR;"


def _event(part: Part) -> str:
    """Its statements see, and change, states and kept values by their names."""
    begin = "".join(f"double {name} = v->{name}; " for name in part.states)
    begin += "".join(f"double {name} = v->kept_{name}; " for name in part.kept)
    fixed = "".join(f"const double {name} = v->{name}; (void){name}; " for name in (*part.inputs, *part.parameters))
    end = "".join(f"if (v->{name} != {name}) e->states = true; v->{name} = {name}; " for name in part.states)
    end += "".join(f"v->kept_{name} = {name}; " for name in part.kept)
    return (
        f"const double time = v->time; (void)time; double next = v->next; {fixed}{begin}{part.event} "
        f"{end}v->next = next; e->has_next = isfinite(next); e->next = next; return OK;"
    )


def _step(part: Part) -> str:
    text = f"if (h > {part.longest!r} * (1 + 1e-9)) return DISCARD; " if part.longest else ""
    if part.euler:
        moves = "".join(f"v->{name} += d * v->der_{name}; " for name in part.states)
        text += (
            f"int n = (int)fmax(1, round(h / {part.euler!r})); double d = h / n; "
            f"for (int k = 0; k < n; k++) {{ v->time = t + k * d; calc(v); {moves}}} "
        )
    elif part.states:
        text += "rk4(s, t, h); "
    text += "v->time = t + h; "
    for name in part.inputs if part.follows else ():
        text += f"v->{name} += v->slope_{name} * h; v->slope_{name} = 0; "
    text += "v->begin = t + h; calc(v); "
    if part.each_step:
        text += f"{{ {_changing(part)}}} calc(v); "
    return text + "return OK;"


def _changing(part: Part) -> str:
    """`each_step`, with names for what it reads and for kept values, which it may change."""
    fixed = (*part.inputs, *part.parameters, *part.states)
    begin = "".join(f"const double {name} = v->{name}; (void){name}; " for name in fixed)
    begin += "".join(f"double {name} = v->kept_{name}; " for name in part.kept)
    end = "".join(f"v->kept_{name} = {name}; " for name in part.kept)
    return f"const double time = v->time; (void)time; {begin}{part.each_step} {end}"
