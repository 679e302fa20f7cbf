"""Tools that edit: dry runs with a diff, and saved edits if the server allows them.

The verbs are the methods of `ssptool.types.Editor`; names, arguments and types come from their signatures.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, create_model

import ssptool
from ssptool.cli.mcp_server.arguments import MOST_ENTRIES, schema_of, wrong_arguments
from ssptool.cli.mcp_server.folder import Folder, plain_path
from ssptool.cli.mcp_server.pages import Answer
from ssptool.cli.mcp_server.tools import System, Variant
from ssptool.editing.editor import VERBS, no_such_verb
from ssptool.errors import WrongUsage


@dataclass(frozen=True, slots=True)
class Verb:
    """A method of the editor: a model of its arguments, which of them are files, and the one that takes several."""

    name: str
    model: type[BaseModel]
    files: frozenset[str]
    several: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of a call of this verb."""
        schema = schema_of(self.model, limits=False)
        purpose = (getattr(ssptool.types.Editor, self.name).__doc__ or "").split("\n\n")[0]
        return {
            **schema,
            "description": " ".join(purpose.split()),
            "properties": {"verb": {"const": self.name}, **schema.get("properties", {})},
            "required": ["verb", *schema.get("required", [])],
        }


@cache
def verbs() -> Mapping[str, Verb]:
    return {name: _verb(name) for name in VERBS}


def _verb(name: str) -> Verb:
    method = getattr(ssptool.types.Editor, name)
    hints, fields, several = get_type_hints(method), {}, ""
    parameters = [one for one in inspect.signature(method).parameters.values() if one.name != "self"]
    for one in parameters:
        kind, default = _in_json(hints[one.name]), one.default
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            several, kind, default = one.name, list[kind], inspect.Parameter.empty  # type: ignore[valid-type]
        fields[one.name] = (kind, ... if default is inspect.Parameter.empty else default)
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
    files = frozenset(one.name for one in parameters if Path in {hints[one.name], *get_args(hints[one.name])})
    return Verb(name, model, files, several)


def _in_json(kind: Any) -> Any:
    """An annotation without the classes of ssptool in a union, whose objects no JSON holds."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    held = [one for one in get_args(kind) if not getattr(one, "__module__", "").startswith("ssptool")]
    return Union[tuple(held)]  # noqa: UP007 (its members are known at run time only)


def _unknown_verb(name: object) -> WrongUsage:
    """An edit without a verb, or with an unknown one."""
    return WrongUsage(no_such_verb(name))


Edits = Annotated[
    Sequence[Mapping[str, Any]],
    Field(min_length=1),
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_ENTRIES,
            "description": 'Edits in order: {"verb": "connect", "a": "A.y", "b": "B.u"}. Names are full names; files '
            "are paths in the folder, or entries of the package.",
            "items": {"oneOf": [one.schema for one in verbs().values()]},
        }
    ),
]
Apply = Annotated[
    bool, Field(description="Save the edits; needs `ssptool mcp --allow-edits`. Default: show them, write nothing.")
]


class EditTools:
    """The tools that edit systems of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def edit(
        self,
        edits: Edits,
        system: System = "",
        variant: Variant = "",
        apply: Apply = False,
        shared: Annotated[
            Literal["refuse", "all", "copy"],
            Field(description="For a document that several components use: refuse, edit it for all, or copy it first."),
        ] = "refuse",
    ) -> Answer:
        """Edit a system: add, connect, set, rename, … Answers with the changes and their unified diff. The edited
        system is checked first: edits that cause new errors are rejected, and all edits of a call are saved or none.
        """
        self._require_allowed(apply)
        path = self._folder.system(system)
        chosen = [_edit_of(one) for one in edits]
        text = ""
        try:
            with ssptool.edit(path, variant=variant or None, shared=shared, save=apply, wait=apply) as editor:
                for verb, arguments in chosen:
                    _carry_out(editor, verb, arguments)
                text = _shown(editor.notes, editor.diff())
        except ssptool.exceptions.BrokenEdit as problem:
            problem.args = (f"{problem}\n{text}",)  # what is not saved is worth seeing even so
            raise
        return f"{_conclusion(apply, bool(text))}\n{text}"

    def new(
        self,
        system: Annotated[str, Field(description="The new .ssp, .ssd or folder, by its path in the folder.")],
        fmus: Annotated[Sequence[str], Field(description="FMUs that become components, by their paths.")] = (),
        edits: Annotated[
            Sequence[Mapping[str, Any]], Field(description="Edits after that, in order, as those of `edit`.")
        ] = (),
        start_time: Annotated[float | None, Field(description="Start of the default experiment [s].")] = None,
        stop_time: Annotated[float | None, Field(description="Stop of the default experiment [s].")] = None,
        apply: Apply = False,
    ) -> Answer:
        """Make a system of FMUs: a component of each, with its connectors, then edits such as connect. Answers with the
        changes and their unified diff. Existing files are not overwritten.
        """
        self._require_allowed(apply)
        files = [plain_path(one) for one in fmus]
        chosen = [_edit_of(one) for one in edits]
        path, times = plain_path(system), {"start_time": start_time, "stop_time": stop_time}
        with ssptool.new(path, *files, **times, save=apply) as editor:  # type: ignore[arg-type]
            for verb, arguments in chosen:
                _carry_out(editor, verb, arguments)
            text = _shown(editor.notes, editor.diff())
        return f"{_conclusion(apply, True)}\n{text}"

    def fix(
        self,
        system: System = "",
        variant: Variant = "",
        select: Annotated[Sequence[str], Field(description="Only findings of these rules.")] = (),
        unsafe: Annotated[bool, Field(description="Also apply guesses, such as the nearest known name.")] = False,
        apply: Apply = False,
    ) -> Answer:
        """Fix findings of `validate` that have a certain remedy. Answers with what is fixed and the unified diff."""
        self._require_allowed(apply)
        path = self._folder.system(system)
        mended = ssptool.fix(path, variant=variant or None, select=list(select), unsafe=unsafe, save=apply)
        notes = [f"fixed {one.code} {one.position}: {one.message}" for one in mended.fixed]
        left = f"left: {ssptool.renderers.report_summary(mended.report)}"
        return "\n".join([_conclusion(apply, bool(mended.fixed)), _shown([*notes, left], mended.diff)])

    def _require_allowed(self, apply: bool) -> None:
        if apply and not self._folder.allow_edits:
            raise WrongUsage("this server shows edits and saves none; start it with `ssptool mcp --allow-edits`")


def _conclusion(saved: bool, changed: bool) -> str:
    if not changed:
        return "nothing to change"
    return "saved" if saved else "dry run, nothing is written; the edits cause no new errors"


def _shown(notes: Iterable[str], diff: str) -> str:
    return "\n".join(filter(None, [*notes, diff.rstrip("\n")]))


def _edit_of(stated: Mapping[str, Any]) -> tuple[Verb, dict[str, Any]]:
    """Raises WrongUsage."""
    arguments = dict(stated)
    name = arguments.pop("verb", None)
    verb = verbs().get(name) if isinstance(name, str) else None
    if verb is None:
        raise _unknown_verb(name)
    try:
        model = verb.model(**arguments)
    except ValidationError as problem:
        raise wrong_arguments(verb.name, problem, list(verb.model.model_fields)) from None
    given = {one: getattr(model, one) for one in model.model_fields_set}
    for file in verb.files & given.keys():
        for path in given[file] if file == verb.several else [given[file]]:
            if path is not None:
                plain_path(str(path))
    return verb, given


def _carry_out(editor: "ssptool.types.Editor", verb: Verb, given: dict[str, Any]) -> None:
    several = given.pop(verb.several, ()) if verb.several else ()
    getattr(editor, verb.name)(*several, **given)
