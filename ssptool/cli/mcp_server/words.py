"""Hints of the command line in the words of the protocol: options become arguments, commands become tools."""

import re
from collections.abc import Collection, Mapping

from ssptool.cli.settings_options import PLANNED

_COMMAND = re.compile(r"`ssptool ([a-z]+)((?: [^`]*)?)`")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")

_OTHER_NAMES: Mapping[str, str] = {"set": "start_values"}
"""Option → argument of another name."""

_OTHER_TOOLS: Mapping[str, str] = {"validate --fix": "fix"}
"""Begin of a command → tool of another name."""


def in_protocol_words(text: str, arguments: Collection[str], tools: Collection[str]) -> str:
    """The text with `settings.init` for `--init`, `accept` for `--accept`, and `validate` for `ssptool validate`.

    Options of `ssptool mcp` itself, and options and commands that the protocol does not have, stay.

    Parameters
    ----------
    arguments
        Names of the arguments of the tool that answers.
    tools
        Names of all tools.
    """

    def command(found: re.Match[str]) -> str:
        name, rest = found[1], found[2]
        for begin, tool in _OTHER_TOOLS.items():
            if begin == f"{name} {rest.split()[-1]}" if rest.split() else False:
                return f"`{tool}`"
        return f"`{name}{rest}`" if name in tools else found[0]

    def option(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        name = _OTHER_NAMES.get(name, name)
        return (
            f"settings.{name}"
            if name in PLANNED and "settings" in arguments
            else name
            if name in arguments
            else found[0]
        )

    parts = re.split(r"(`ssptool mcp[^`]*`)", text)
    return "".join(
        part if part.startswith("`ssptool mcp") else _OPTION.sub(option, _COMMAND.sub(command, part)) for part in parts
    )
