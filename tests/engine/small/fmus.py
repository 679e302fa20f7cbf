"""FMUs of a few lines of C, with the functions of FMI 2.0 or 3.0 from small2.c or small3.c around them."""

import hashlib
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from tests.fmu import building
from tests.fmu.building import PLATFORM, build_shared, write_missing

_HERE = Path(__file__).parent
_HEADERS = Path(fmpy.__file__).parent / "c-code"
_KEPT = _HERE.parents[2] / "build" / "test-libraries"
_VARIES = 'canHandleVariableCommunicationStepSize="true" '
_SLAVES = {2: FMU2Slave, 3: FMU3Slave}
_MEMORY = {
    2: 'canGetAndSetFMUstate="true" canSerializeFMUstate="true"',
    3: 'canGetAndSetFMUState="true" canSerializeFMUState="true"',
}
_C = {  # of an FMI type: that of C, and its word in small.h
    "Float64": ("double", "F64"),
    "Float32": ("float", "F32"),
    **{
        f"{sign}Int{bits}": (f"{sign.lower()}int{bits}_t", f"{sign or 'I'}{bits}")
        for sign in ("", "U")
        for bits in (8, 16, 32, 64)
    },
    "Boolean": ("bool", "BOOL"),
    "Enumeration": ("int64_t", "ENUM"),
    "String": ("char *", "STR"),
    "Binary": ("Bytes", "BIN"),
    "Clock": ("bool", "CLK"),
}
_IN_FMI2 = {"Float64": "Real", "Int32": "Integer"}
_CAUSALITIES = {
    "indicator": "local",
    "state": "local",
    "der": "local",
    "structural": "structuralParameter",
    "calculated": "calculatedParameter",
}
_EXACT = ("parameter", "structural", "state")
_LARGEST = 8  # elements that structural parameters can ask for

# Of each function that a model may have: how it is declared, and what it is without.
_FUNCTIONS = {
    "calc": ("void calc(V *v)", ""),
    "event": ("Status event(V *v, Event *e)", "return OK;"),
    "completed": ("Status completed(V *v, bool *enter, bool *terminate)", "return OK;"),
    "check": ("Status check(V *v)", "return OK;"),
    "lead": ("Status lead(V *v, VR r, int order, double x)", "return ERROR;"),
    "got": ("Status got(V *v)", "return OK;"),
    "on_exit_init": ("Status on_exit_init(V *v)", "return OK;"),
    "partial": ("double partial(V *v, VR z, VR x)", "return 0;"),
    "interval": ("int interval(V *v, VR r, double *x)", "return 0;"),
    "interval_fraction": ("int interval_fraction(V *v, VR r, uint64_t *a, uint64_t *b)", "return 0;"),
    "shift": ("double shift(V *v, VR r)", "return 0;"),
}


@dataclass(frozen=True, slots=True)
class Var:
    """A variable; in C it is `v->name`.

    Attributes
    ----------
    kind
        A causality of FMI, `state`, `der`, the derivative of the state `of`, or `indicator` of events.
    sizes
        Of an array: numbers, and names of structural parameters.
    needs, at_start
        Names of what it depends on, and does in initialization mode; None: nothing is declared. `at_start` is `needs`
        if nothing else is said.
    """

    name: str
    kind: str
    type: str = "Float64"
    start: Any = None
    of: str = ""
    sizes: tuple[int | str, ...] = ()
    needs: Sequence[str] | None = None
    at_start: Sequence[str] | str | None = "as needs"
    unit: str = ""
    initial: str = ""
    variability: str = ""
    attributes: str = ""

    @property
    def length(self) -> int:
        length = 1
        for size in self.sizes:
            length *= size if isinstance(size, int) else _LARGEST
        return length

    @property
    def stated_initial(self) -> str:
        exact = self.kind in _EXACT or (self.kind == "local" and self.start is not None)
        return self.initial or ("" if self.kind == "input" else "exact" if exact else "calculated")

    @property
    def starts(self) -> bool:
        return self.kind == "input" or self.stated_initial in ("exact", "approx")


def make_fmu(
    path: Path,
    variables: Iterable[Var],
    *,
    version: int = 2,
    me: str | None = "",
    cs: str | None = "",
    own: str = "",
    step: str = "rk4(s, t, h); return OK;",
    units: Mapping[str, str] = {},
    items: Mapping[str, int] = {},
    experiment: str = "",
    varies: bool = True,
    saves: bool = True,
    **functions: str,
) -> Path:
    """Write an FMU of these variables and functions: bodies in C, by the names of `_FUNCTIONS`.

    `me` and `cs` are further attributes of the interfaces, None: it is not offered. `own` are further members of the
    struct of the variables, `step` the body of a step from t to t + h of co-simulation, `units` the attributes of base
    units by name, `items` those of the enumeration. `experiment` are the attributes of the default experiment.
    `varies`: communication steps may have any size. `saves`: the state can be saved.
    """
    every, name = list(variables), path.stem
    folder = path.parent / f"{name}-{version}"
    folder.mkdir(parents=True)
    rest = f"static Status model_step(Instance *s, V *v, double t, double h, Step *a)\n{{\n    {step}\n}}\n"
    (folder / "model.h").write_text(_model([Var("time", "independent"), *every], own, functions))
    (folder / "step.h").write_text(rest)
    library = _compiled(folder, version)
    memory = _MEMORY[version] * saves
    interfaces = _interfaces(name, memory, me, None if cs is None else f"{_VARIES * varies}{cs}")
    with zipfile.ZipFile(path, "w") as archive:
        description = _Description(version, [*every], units, items, experiment).text(name, interfaces)
        archive.writestr("modelDescription.xml", description)
        archive.write(library, f"binaries/{PLATFORM[version]}/{name}{fmpy.sharedLibraryExtension}")
    return path


def _compiled(folder: Path, version: int) -> Path:
    """The library of the model in a folder. Many tests have the same model: it is compiled once and kept."""
    content = b"\0".join(file.read_bytes() for file in (folder / "model.h", folder / "step.h"))
    kept = _KEPT / f"{hashlib.sha256(content + _around_models(version)).hexdigest()}{fmpy.sharedLibraryExtension}"
    if not kept.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        missing = write_missing(folder / "missing.c", _SLAVES[version])
        flags = ["-w", "-O0", f"-I{folder}", f"-I{_HERE}", f"-I{_HEADERS}", "-DFMI2_OVERRIDE_FUNCTION_PREFIX"]
        with TemporaryDirectory(dir=_KEPT) as place:  # others may build the same
            made = build_shared(Path(place, kept.name), *flags, _HERE / f"small{version}.c", missing, "-lm")
            made.replace(kept)
    return kept


@cache
def _around_models(version: int) -> bytes:
    """All that a library is made from beside its model."""
    code = [*sorted(_HERE.glob("*.[ch]")), Path(__file__), Path(building.__file__)]
    compiler = os.environ.get("CC", "cc")
    return b"\0".join(file.read_bytes() for file in code) + f"{version} {compiler} {fmpy.__version__}".encode()


def _interfaces(name: str, memory: str, me: str | None, cs: str | None) -> str:
    offered = {"ModelExchange": me, "CoSimulation": cs}
    return "".join(
        f'<{kind} modelIdentifier="{name}" {more} {memory}/>' for kind, more in offered.items() if more is not None
    )


# -- the model in C --------------------------------------------------------------------------------------------------


def _model(every: Sequence[Var], own: str, functions: Mapping[str, str]) -> str:
    number = {one.name: place for place, one in enumerate(every)}
    members = "".join(f"    {_C[one.type][0]} {one.name}{f'[{one.length}]' if one.sizes else ''};\n" for one in every)
    names = ", ".join(f'"{one.name}"' for one in every)
    indicators = [one.name for one in every if one.kind == "indicator"]
    signs = " ".join(f"z[{place}] = v->{name};" for place, name in enumerate(indicators))
    clocks = ", ".join(str(int(one.type == "Clock" and one.kind == "input")) for one in every)
    bodies = "".join(
        f"static {declared}\n{{\n    {functions.get(name, body)}\n}}\n" for name, (declared, body) in _FUNCTIONS.items()
    )
    return (
        f"typedef struct {{\n{members}    bool event_mode;\n    {own}\n}} V;\n"
        f"enum {{ INDICATORS = {len(indicators)} }};\nenum {{ {', '.join(f'VR_{name}' for name in number)}, ROWS }};\n"
        f"static const char *const names[] = {{{names}}};\nstatic const bool clock_input[] = {{{clocks}}};\n"
        f"static const Row rows[] = {{\n{''.join(_row(one, number) for one in every)}}};\n"
        f"static void v_start(V *v)\n{{\n    memset(v, 0, sizeof *v);\n{''.join(map(_starts, every))}}}\n"
        f"static void indicators(V *v, double *z)\n{{\n    {signs}\n}}\n{bodies}"
    )


def _row(one: Var, number: Mapping[str, int]) -> str:
    sizes = (f"{{{size}, 0}}" if isinstance(size, int) else f"{{0, {number[size]}}}" for size in one.sizes)
    state = number[one.of] if one.of else -1
    place, kind = f"offsetof(V, {one.name})", _C[one.type][1]
    return f"    {{{place}, {kind}, {len(one.sizes)}, {{{', '.join(sizes)}}}, {state}, {int(one.kind == 'state')}}},\n"


def _starts(one: Var) -> str:
    values = one.start if isinstance(one.start, list) else [one.start] * one.length
    places = (f"{one.name}[{place}]" if one.sizes else one.name for place in range(len(values)))
    return "".join(_start(f"v->{place}", one.type, value) for place, value in zip(places, values, strict=True))


def _start(place: str, kind: str, value: Any) -> str:
    if kind == "String":
        return f'    set_text(&{place}, "{value or ""}");\n'
    if kind == "Binary":
        content = "".join(f"\\x{byte:02x}" for byte in value or b"")
        return f'    set_bytes(&{place}, "{content}", {len(value or b"")});\n'
    literal = (
        repr(value or 0)
        if kind in ("Float64", "Float32")
        else f"{int(value or 0)}{'ULL' if kind == 'UInt64' else 'LL'}"
    )
    return f"    {place} = {literal};\n"


# -- its description -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Description:
    version: int
    variables: Sequence[Var]
    units: Mapping[str, str]
    items: Mapping[str, int]
    experiment: str

    def text(self, name: str, interfaces: str) -> str:
        indicators = len([one for one in self.variables if one.kind == "indicator"])
        head = f'fmiVersion="2.0" guid="{name}" numberOfEventIndicators="{indicators}"'
        if self.version == 3:
            head = f'fmiVersion="3.0" instantiationToken="{name}"'
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<fmiModelDescription {head} modelName="{name}">{interfaces}'
            f"{self._units()}{self._types()}{f'<DefaultExperiment {self.experiment}/>' * bool(self.experiment)}"
            f"<ModelVariables>{self._rows()}</ModelVariables>"
            f"<ModelStructure>{self._structure()}</ModelStructure></fmiModelDescription>"
        )

    def _units(self) -> str:
        inside = "".join(f'<Unit name="{name}"><BaseUnit {base}/></Unit>' for name, base in self.units.items())
        return f"<UnitDefinitions>{inside}</UnitDefinitions>" if inside else ""

    def _types(self) -> str:
        inside = "".join(f'<Item name="{name}" value="{value}"/>' for name, value in self.items.items())
        old = f'<SimpleType name="E"><Enumeration>{inside}</Enumeration></SimpleType>'
        new = f'<EnumerationType name="E">{inside}</EnumerationType>'
        return f"<TypeDefinitions>{old if self.version == 2 else new}</TypeDefinitions>" if inside else ""

    def _rows(self) -> str:
        if self.version == 2:
            return "".join(map(self._row2, self.variables))
        time = '<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
        return time + "".join(map(self._row3, self.variables))

    def _facts(self, one: Var) -> str:
        continuous = one.type in ("Float64", "Float32")
        fixed = one.kind in ("parameter", "structural", "calculated")
        variability = one.variability or ("fixed" if fixed else "continuous" if continuous else "discrete")
        facts = f'name="{one.name}" valueReference="{self._number(one.name)}" '
        facts += f'causality="{_CAUSALITIES.get(one.kind, one.kind)}"'
        if "variability" not in one.attributes:
            facts += f' variability="{variability}"'
        stated = one.type != "Clock" and not (self.version == 3 and one.kind in ("parameter", "structural"))
        return facts + (f' initial="{one.stated_initial}"' if one.stated_initial and stated else "")

    def _type_facts(self, one: Var) -> str:
        facts = ' declaredType="E"' if one.type == "Enumeration" else ""
        facts += f' unit="{one.unit}"' if one.unit else ""
        return facts + (f' derivative="{self._number(one.of)}"' if one.of else "")

    def _row2(self, one: Var) -> str:
        kind, start = _IN_FMI2.get(one.type, one.type), f' start="{_written(one)}"' if one.starts else ""
        facts = self._facts(one)
        return f"<ScalarVariable {facts}><{kind}{self._type_facts(one)}{start} {one.attributes}/></ScalarVariable>"

    def _row3(self, one: Var) -> str:
        outside = one.type not in ("String", "Binary", "Clock")
        start = f' start="{_written(one)}"' if one.starts and outside else ""
        inside = "".join(
            f'<Dimension start="{size}"/>'
            if isinstance(size, int)
            else f'<Dimension valueReference="{self._number(size)}"/>'
            for size in one.sizes
        )
        if one.starts and one.type in ("String", "Binary"):
            inside += f'<Start value="{_written(one)}"/>' * one.length
        return f"<{one.type} {self._facts(one)}{self._type_facts(one)}{start} {one.attributes}>{inside}</{one.type}>"

    def _number(self, name: str) -> int:
        return 1 + next(place for place, one in enumerate(self.variables) if one.name == name)

    def _structure(self) -> str:
        signs = [one for one in self.variables if one.kind == "indicator"] if self.version == 3 else []
        outputs = [one for one in self.variables if one.kind == "output" and one.type != "Clock"]
        derivatives = [one for one in self.variables if one.kind == "der"]
        unknown = [one for one in self.variables if one.type != "Clock" and _is_unknown(one)]
        parts = {"Output": (outputs, False), "Derivative": (derivatives, False), "InitialUnknown": (unknown, True)}
        text = ""
        for kind, (found, at_start) in parts.items():
            tag = kind.replace("Derivative", "ContinuousStateDerivative") if self.version == 3 else "Unknown"
            rows = "".join(self._unknown(tag, one, one.at_start if at_start else "as needs") for one in found)
            text += f"<{kind}s>{rows}</{kind}s>" if self.version == 2 and rows else rows
        return text + "".join(f'<EventIndicator valueReference="{self._number(one.name)}"/>' for one in signs)

    def _unknown(self, tag: str, one: Var, needs: Sequence[str] | str | None) -> str:
        chosen = one.needs if isinstance(needs, str) else needs
        numbers = None if chosen is None else " ".join(str(self._number(name)) for name in chosen)
        declared = "" if numbers is None else f' dependencies="{numbers}"'
        which = "index" if self.version == 2 else "valueReference"
        return f'<{tag} {which}="{self._number(one.name)}"{declared}/>'


def _is_unknown(one: Var) -> bool:
    return one.kind in ("output", "der", "calculated", "state") and one.stated_initial in ("calculated", "approx")


def _written(one: Var) -> str:
    if isinstance(one.start, list):
        return " ".join(map(str, one.start))
    if one.type == "Boolean":
        return str(bool(one.start)).lower()
    if one.type == "Binary":
        return bytes(one.start or b"").hex()
    return str(one.start or ("" if one.type == "String" else 0))
