"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ssptool.arguments import parse_time

SystemPath = Annotated[
    Path,
    typer.Argument(
        metavar="SYSTEM",
        help="An .ssp file, an unpacked one (folder), an .ssd file, one FMU, or an OspSystemStructure.xml.",
    ),
]
Variant = Annotated[
    str | None,
    typer.Option("--variant", metavar="NAME", help="Which SSD of the package; without it SystemStructure.ssd."),
]
ParameterFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--parameters",
        metavar="FILE.ssv",
        help="Apply this parameter set on top of the system's own; repeated: the last wins.",
    ),
]
StartValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "--start-values",
        metavar="NAME=VALUE",
        help="Set one parameter or start value, in the variable's unit, e.g. System1.m1=2; repeated: several.",
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="CODE,…",
        help="Run in spite of the findings of these rules; `ssptool rule CODE` says what becomes of them.",
    ),
]
AllowOutside = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-outside",
        metavar="FOLDER",
        help="Let an .ssp read files in this folder, which lies outside of it; repeated: several.",
    ),
]


def time(text: str) -> float:
    """Seconds of what was typed: `10`, `1ms`, `2min`."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise typer.BadParameter(f"must be {error}; found {text!r}") from None


class TextOrJson(StrEnum):
    TEXT = "text"
    JSON = "json"


def parse_start_values(texts: list[str] | None, hint: str = "--set") -> dict[str, str]:
    """`["System1.m1=2"]` → `{"System1.m1": "2"}`; a text without a name or "=" is wrong usage."""
    found = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=hint)
        found[name.strip()] = value.strip()
    return found


def codes(texts: list[str] | None) -> list[str]:
    """`["URI,PKG-016", "VER"]` → `["URI", "PKG-016", "VER"]`."""
    return [code.strip() for text in texts or [] for code in text.split(",") if code.strip()]


def changes_from(
    start_values: StartValues = None,
    parameters: ParameterFiles = None,
    variant: Variant = None,
    allow_outside: AllowOutside = None,
) -> dict[str, Any]:
    """Which system is meant, as keyword arguments of the public API."""
    return {
        "variant": variant,
        "parameters": parameters or [],
        "start_values": parse_start_values(start_values),
        "allow_outside": allow_outside or [],
    }
