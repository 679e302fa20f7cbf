"""Resources of the server: systems, runs in memory, rules, and the help of commands, by their addresses."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import mcp_types
import typer

import ssptool
from ssptool.cli.app import SUMMARIES, app
from ssptool.cli.mcp_server.folder import Folder
from ssptool.errors import WrongUsage
from ssptool.foreign_text import several_lines

SCHEME = "ssptool://"


class _Kind(NamedTuple):
    """A kind of resource: what it is, the names of those that there are, and the text of one."""

    title: str
    mime_type: str
    names: Callable[[], Mapping[str, str]]
    """Names of the resources, each with a description."""
    text: Callable[[str], str]


def _no_such_resource(uri: str) -> WrongUsage:
    """An address of no resource."""
    return WrongUsage(f"there is no resource {uri}; resources/list and resources/templates/list have their addresses")


class Resources:
    """The resources of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._kinds = {
            "systems": _Kind(
                "Components, variants and experiment of a system", "text/plain", self._systems, self._system
            ),
            "runs": _Kind("Summary of a run or a study in memory", "text/plain", self._runs, self._run),
            "rules": _Kind("Requirement, reason and fix of a rule", "text/plain", dict, ssptool.renderers.rule_page),
            "docs": _Kind("Help of a command of ssptool", "text/plain", lambda: SUMMARIES, _help),
        }

    def listed(self) -> list[mcp_types.Resource]:
        return [
            mcp_types.Resource(
                uri=_address(kind, name), name=f"{kind}/{name}", description=told, mime_type=of.mime_type
            )
            for kind, of in self._kinds.items()
            for name, told in of.names().items()
        ]

    def templates(self) -> list[mcp_types.ResourceTemplate]:
        return [
            mcp_types.ResourceTemplate(
                uri_template=f"{SCHEME}{kind}/{{+name}}", name=kind, description=f"{of.title}.", mime_type=of.mime_type
            )
            for kind, of in self._kinds.items()
        ]

    def read(self, uri: str) -> mcp_types.TextResourceContents:
        """The text of a resource. Raises WrongUsage, and the errors of its function."""
        kind, _, name = uri.removeprefix(SCHEME).partition("/")
        if not uri.startswith(SCHEME) or kind not in self._kinds or not name:
            raise _no_such_resource(uri)
        of = self._kinds[kind]
        return mcp_types.TextResourceContents(
            uri=uri, mime_type=of.mime_type, text=several_lines(of.text(unquote(name)))
        )

    def _systems(self) -> Mapping[str, str]:
        return dict.fromkeys(self._folder.systems(), self._kinds["systems"].title)

    def _system(self, name: str) -> str:
        return ssptool.renderers.INVENTORY_RENDERERS["text"](ssptool.info(self._folder.system(name)))

    def _runs(self) -> Mapping[str, str]:
        return {name: repr(result) for name, result in self._folder.runs.items()}

    def _run(self, name: str) -> str:
        if name not in self._folder.runs:
            raise _no_such_resource(_address("runs", name))
        return str(self._folder.runs[name])


def _help(name: str) -> str:
    """The text of `ssptool COMMAND --help-all`, with those of the commands of a group."""
    known: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    if name not in known:
        raise _no_such_resource(_address("docs", name))
    return "\n\n".join(
        _one_help(f"ssptool {title}", each)
        for title, each in {
            name: known[name],
            **{f"{name} {inner}": one for inner, one in getattr(known[name], "commands", {}).items()},
        }.items()
    )


def _one_help(title: str, command: Any) -> str:
    context = command.make_context("", [], resilient_parsing=True)
    rows = [
        f"  {one.make_metavar(context) if one.param_type_name == 'argument' else ', '.join(one.opts)}  {one.help}"
        for one in command.params
        if one.help
    ]
    return "\n".join([title, "", command.help, *(["", *rows] if rows else [])])


def _address(kind: str, name: str) -> str:
    return f"{SCHEME}{kind}/{quote(name)}"
