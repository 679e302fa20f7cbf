"""Write docs/limits.md, from what the source refuses by name: `make docs`.

Each refusal is an exception or a value whose arguments are texts: the page shows these, with the parts that depend on
the system in italics. Masters and rules are asked for their refusals.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ssptool.engine.masters.registry import entry_of
from ssptool.engine.method_names import registered
from ssptool.rules.catalogue import RULES
from ssptool.rules.chapters import CHAPTERS

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "ssptool"
REGISTRY = PACKAGE / "engine" / "masters" / "registry.py"
"""Raises what masters state, which are asked for it."""


class Section(NamedTuple):
    """Refusals of one kind: the names that are called for them, and the folders or files in which they are."""

    title: str
    told: str
    names: frozenset[str]
    places: tuple[str, ...]


SECTIONS = (
    Section(
        "Systems and components",
        "`plan` and `run` refuse these before an FMU is loaded; `validate` accepts what no rule is against.",
        frozenset({"Unsupported"}),
        ("engine/planning/checks.py", "engine/run", "engine/assembly"),
    ),
    Section(
        "Features of documents",
        "Read, kept by edits, and refused by `run`, with file and line.",
        frozenset({"refuse", "IncompatibleUnits", "InvalidValue", "Unpaired"}),
        ("network",),
    ),
    Section(
        "Events and clocks",
        "",
        frozenset({"Unsupported"}),
        ("engine/planning/events.py", "engine/planning/shared_events.py"),
    ),
    Section(
        "FMUs",
        "Refused when the FMU is loaded, or is to do what it does not offer.",
        frozenset({"MissingBinary", "UnusableFmu", "UnsupportedByFmu"}),
        ("fmu", "engine"),
    ),
    Section(
        "Settings",
        "Settings that exclude each other: `ContradictingSettings`, exit status 2.",
        frozenset({"ContradictingSettings"}),
        ("engine", "api"),
    ),
    Section(
        "Export as one FMU",
        "Refused by `export` and `plan --export`, before anything is written.",
        frozenset({"Unsupported"}),
        ("exporting",),
    ),
    Section(
        "Linear models and steady states",
        "`linearize`, `modes` and `trim` need the derivatives of all components.",
        frozenset({"Unsupported", "UnsupportedByFmu"}),
        ("analysis",),
    ),
    Section(
        "Saved simulations and reproduction",
        "",
        frozenset({"NotSavable", "CannotReproduce"}),
        ("engine", "api", "results"),
    ),
    Section(
        "Downgrade to SSP 1.0",
        "SSP 1.0 cannot hold this: `downgrade` refuses it, or drops it with `--drop`; an upgrade restores it.",
        frozenset({"dropped"}),
        ("editing/downgrade.py",),
    ),
    Section(
        "Edits",
        "An edit that is refused changes no file. Editors rename by the same edits.",
        frozenset(
            {
                "EditError",
                "RefusedEdit",
                "SameFmu",
                "SharedStructure",
            }
        ),
        ("editing", "api/edit.py", "language_server/renaming.py"),
    ),
)

IN_PLACE = frozenset({"refuse", "dropped"})
"""Functions that take a place and a text; all other names are those of exceptions."""


class Refused(NamedTuple):
    """One line of the page."""

    what: str
    instead: str
    module: str


_WITHOUT_TEXTS = frozenset({"ssptool.errors", "ssptool.foreign_text", "ssptool.working_directory"})
"""Modules whose functions write what they are given."""


@dataclass(frozen=True)
class Texts:
    """Texts of expressions in a function of a module; what a run makes of them stands in italics.

    `given` are the texts of its arguments, where they are known.
    """

    module: str
    function: ast.AST
    line: int
    depth: int = 0
    given: Mapping[str, str] = field(default_factory=dict)

    def of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return "" if value is None else str(value)
            case ast.JoinedStr(values=parts):
                return "".join(self.of(part) for part in parts)
            case ast.FormattedValue(value=value):
                return self.of(value)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self.of(left) + self.of(right)
            case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=str(text))):
                return text
            case ast.IfExp(body=body, orelse=otherwise):
                return _alternatives([self.of(body), self.of(otherwise)])
            case ast.Name(id=name):
                return self._named(name)
            case ast.Call():
                return self._called(node)
        return _variable(node)

    def _named(self, name: str) -> str:
        """A local text, each of its values; a text of the module; else what the run puts there."""
        if name in self.given:
            return self.given[name]
        values = list(_values(self.function, name, self.line))
        if values and self.depth < 3:
            texts = [replace(self, line=value.lineno, depth=self.depth + 1).of(value) for value in values]
            return _alternatives(texts) if any(not _VARIABLE.fullmatch(text) for text in texts) else f"*{_words(name)}*"
        known = getattr(import_module(self.module), name, None)
        return str(known) if isinstance(known, str | int) else _variable(ast.Name(name))

    def _called(self, node: ast.Call) -> str:
        """Texts that a function of the package returns; else what it was called with."""
        name = _name(node.func)
        if name == "counted":
            return f"*n* {self.of(node.args[1])}s"
        if name == "hint":  # names that are alike
            return ""
        found = getattr(import_module(self.module), name, None)
        home = getattr(found, "__module__", "")
        if self.depth < 2 and home.startswith("ssptool.") and home not in _WITHOUT_TEXTS:
            returned = list(_returned(home, name))
            if any(isinstance(value, ast.Constant | ast.JoinedStr | ast.IfExp) for _, value in returned):
                return _alternatives(
                    [Texts(home, one, value.lineno, self.depth + 1).of(value) for one, value in returned]
                )
        return _variable(node)


def _values(function: ast.AST, name: str, line: int) -> Iterator[ast.expr]:
    """Expressions that a function may have given to a name when it comes to a line: the last of each block around."""
    for block in _blocks_around(function, line):
        for statement in reversed([one for one in block if one.lineno <= line]):
            around = statement.lineno <= line <= (statement.end_lineno or 0)
            yield from _given_by(_head(statement) if around else ast.walk(statement), name)
            if isinstance(statement, ast.Assign) and [ast.unparse(one) for one in statement.targets] == [name]:
                return


def _blocks_around(function: ast.AST, line: int) -> list[list[ast.stmt]]:
    """Lists of statements that include a line, the innermost first."""
    fields = (getattr(node, name, None) for node in ast.walk(function) for name in ("body", "orelse", "handlers"))
    blocks = [block for block in fields if isinstance(block, list) and block]
    return [block for block in blocks if block[0].lineno <= line <= (block[-1].end_lineno or 0)][::-1]


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement without the blocks in it."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield from ast.walk(child)


def _given_by(nodes: Iterable[ast.AST], name: str) -> Iterator[ast.expr]:
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value
            case ast.NamedExpr(target=ast.Name(id=target), value=value) if target == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                yield from (value for one, value in zip(names, values, strict=True) if ast.unparse(one) == name)
            case ast.For(target=ast.Tuple(elts=names), iter=ast.Tuple(elts=rows)):
                pairs = ((names, row.elts) for row in rows if isinstance(row, ast.Tuple))
                yield from (
                    row[place] for names, row in pairs for place, one in enumerate(names) if ast.unparse(one) == name
                )


def _returned(module: str, name: str) -> Iterator[tuple[ast.AST, ast.expr]]:
    """(function, value) of each text that a function of a module returns."""
    for function in _tree(module).body:
        if isinstance(function, ast.FunctionDef) and function.name == name:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
                    yield function, node.value


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))


def _alternatives(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(text for text in texts if text))


_PLAIN = frozenset({"name", "path", "message", "full", "words"})
"""Attributes that say no more than what they belong to."""

_VARIABLE = re.compile(r"\*[^*]+\*")


def _variable(node: ast.expr) -> str:
    """What stands in a text for a value, in italics."""
    return f"*{_words(_word(node))}*"


def _words(name: str) -> str:
    return name.strip("_").replace("_", " ")


def _word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return _word(value) if attribute in _PLAIN and ast.unparse(value) != "self" else attribute
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return _word(value)
        case ast.Call(func=ast.Attribute(attr="join"), args=[argument, *_]):
            return _word(argument)
        case ast.GeneratorExp(generators=[one, *_]) | ast.ListComp(generators=[one, *_]):
            return _word(one.iter)
        case ast.Call(func=ast.Name(id="map"), args=[_, argument]):
            return _word(argument)
        case ast.Call(func=ast.Attribute(value=value)) if not node.args:
            return _word(value)
        case ast.Call(args=[argument, *_]):
            return _word(argument)
        case ast.Call(func=function):
            return _word(function)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(body=first):
            return _word(first)
    return "…"


def refusals(section: Section) -> Iterator[Refused]:
    """Refusals in the source, in the order of files and lines; a text that is there twice is shown once."""
    files = [file for place in section.places for file in sorted((PACKAGE / place).rglob("*.py")) or [PACKAGE / place]]
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file == REGISTRY or not any(f"{name}(" in text for name in section.names):
            continue
        module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for function, call in _calls(_tree(module), section.names):
            if (found := _refused(call, Texts(module, function, call.lineno))) is not None:
                yield found


def _calls(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[ast.AST, ast.Call]]:
    """(innermost function, call) of these names, by line."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in names]
    for call in sorted(calls, key=lambda one: one.lineno):
        around = [one for one in functions if one.lineno <= call.lineno <= (one.end_lineno or 0)]
        yield max(around, key=lambda one: one.lineno, default=tree), call


def _name(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _refused(call: ast.Call, texts: Texts) -> Refused | None:
    """None for a text that another call makes."""
    name = _name(call.func)
    if name in IN_PLACE:
        what, instead = (texts.of(call.args[1]), "") if len(call.args) > 1 else ("", "")
    elif any(isinstance(argument, ast.Starred) for argument in call.args):
        what, instead = texts.of(call.args[0]), ""  # the rest is what a master states
    else:
        what, instead = _message(getattr(import_module(texts.module), name), [texts.of(one) for one in call.args])
    return None if not what or _VARIABLE.fullmatch(what) else Refused(what, instead, texts.module)


def _message(kind: type, arguments: list[str]) -> tuple[str, str]:
    """(text, advice) of an exception: what its constructors make of these arguments."""
    home = next(one for one in kind.__mro__ if "__init__" in vars(one))
    if not home.__module__.startswith("ssptool."):
        return arguments[0], ""
    constructor = next(
        one for one in ast.walk(_class(home)) if isinstance(one, ast.FunctionDef) and one.name == "__init__"
    )
    given = dict(zip([one.arg for one in constructor.args.args[1:]], arguments, strict=False))
    above = next(
        one
        for one in ast.walk(constructor)
        if isinstance(one, ast.Call) and ast.unparse(one.func) == "super().__init__"
    )
    texts = Texts(home.__module__, constructor, above.lineno, given=given)
    text, advice = _message(home.__mro__[1], [texts.of(one) for one in above.args])
    advice = advice or given.get("advice", "")
    return text.removesuffix(f"; {advice}") if advice else text, advice


def _class(kind: type) -> ast.ClassDef:
    classes = (node for node in ast.walk(_tree(kind.__module__)) if isinstance(node, ast.ClassDef))
    return next(one for one in classes if one.name == kind.__name__)


def refused_by_masters() -> Iterator[Refused]:
    """Inputs that a master cannot use, and settings that only some masters take."""
    for master in registered():
        entry = entry_of(master)
        for name, (reason, advice) in entry.refused_approximations.items():
            yield Refused(f"master {master.name} with approximation {name}: {reason}", advice, master.module)
        for refusal in dict.fromkeys(entry.settings.values()):
            settings = ", ".join(name for name, one in entry.settings.items() if one == refusal)
            yield Refused(f"{settings} with another master: {refusal.reason}", refusal.advice, master.module)


def page() -> str:
    """The page in Markdown."""
    return "\n".join(_page()) + "\n"


_INTRODUCTION = """# Known limits

<!-- Generated by `make docs` from the source; do not edit. -->

ssptool stops with one of these messages instead of dropping a feature silently. Words in *italics*
depend on the system, and a slash separates alternatives. General limits, such
as platforms, are in the [README](../README.md#limits); words are in the [glossary](glossary.md).
"""


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    for section in SECTIONS:
        if section.title == "Edits":
            yield from _blocking()
        found = [*refusals(section), *(refused_by_masters() if section.title == "Settings" else ())]
        yield f"## {section.title}\n"
        if section.told:
            yield f"{section.told}\n"
        yield from _table(found)
        yield ""


def _table(rows: list[Refused]) -> Iterator[str]:
    advised = any(row.instead for row in rows)
    yield f"| refused |{' instead |' * advised}\n|---|{'---|' * advised}"
    for row in dict.fromkeys((row.what, row.instead) for row in rows):
        yield f"| {' | '.join(map(_cell, row if advised else row[:1]))} |"
    modules = dict.fromkeys(f"`{row.module.replace('.', '/')}.py`" for row in rows)
    yield f"\nSource: {', '.join(modules)}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;").replace("**", "* *").replace("<", "&lt;")


def _blocking() -> Iterator[str]:
    yield "## Rules that block a run\n"
    yield "A system that violates one of these cannot be run, not even with `--accept`.\n"
    yield "| rule | a correct document |\n|---|---|"
    for chapter in CHAPTERS:
        for rule in sorted((one for one in RULES.values() if one.chapter == chapter), key=lambda one: one.code):
            if rule.blocks_run:
                yield f"| [{rule.code}](rules.md#{rule.code.lower()}) | {_cell(rule.title)} |"
    yield ""


if __name__ == "__main__":
    (DOCS / "limits.md").write_text(page(), encoding="utf-8")
