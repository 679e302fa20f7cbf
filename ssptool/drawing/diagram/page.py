"""All sheets of a system as one HTML page: it zooms, opens nested systems, prints, and needs no network."""

import html
from collections.abc import Sequence
from importlib.resources import files

from ssptool.drawing.diagram.model import Sheet
from ssptool.drawing.diagram.svg import Remarks, sheet_svg
from ssptool.drawing.plot_plotly import dark_style
from ssptool.network.tree import ElementPath


def sheets_page(sheets: Sequence[Sheet], expanded: Sequence[Sheet], remarks: Remarks, title: str) -> str:
    """One section per sheet; the first is shown at first, and on paper all of them are.

    Parameters
    ----------
    expanded
        Those that can be seen with what is inside their elements.
    """
    known = {sheet.path: sheet for sheet in sheets}
    open_ones = {sheet.path: sheet for sheet in expanded}
    sections = "\n".join(_section(sheet, open_ones.get(sheet.path), known, remarks) for sheet in sheets)
    heading = html.escape(title)
    toggle = '<label><input type="checkbox" id="inside"> Show what is inside</label>' if expanded else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{heading}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_resource('page.css')}{dark_style()}</style>\n</head>\n<body>\n<header><h1>{heading}</h1>"
        '<button id="in" aria-label="Zoom in">+</button><button id="out" aria-label="Zoom out">−</button>'
        f'<button id="fit">Fit</button>{toggle}</header>\n'
        f"<main>\n{sections}\n</main>\n<script>{_resource('page.js')}</script>\n</body>\n</html>\n"
    )


def _section(sheet: Sheet, expanded: Sheet | None, known: dict[ElementPath, Sheet], remarks: Remarks) -> str:
    pictures = [f'<div class="picture">{sheet_svg(sheet, remarks, link=_address)}</div>']
    if expanded is not None:
        pictures.append(f'<div class="picture inside">{sheet_svg(expanded, remarks, link=_address)}</div>')
    return (
        f'<section id="{html.escape(_identity(sheet.path))}" aria-label="{html.escape(sheet.name)}">\n'
        f'<nav aria-label="Where this is">{_trail(sheet, known)}</nav>\n{"".join(pictures)}</section>'
    )


def _trail(sheet: Sheet, known: dict[ElementPath, Sheet]) -> str:
    """The systems around, each a link, and the name of this one."""
    around = [sheet.path[:depth] for depth in range(len(sheet.path))]
    links = [
        f'<a href="{html.escape(_address(path))}">{html.escape(known[path].name)}</a>'
        for path in around
        if path in known
    ]
    return " › ".join([*links, f'<span aria-current="page">{html.escape(sheet.name)}</span>'])


def _identity(path: ElementPath) -> str:
    return "/".join(["system", *path])


def _address(path: ElementPath) -> str:
    return "#" + _identity(path)


def _resource(name: str) -> str:
    return (files("ssptool.drawing.diagram") / name).read_text(encoding="utf-8")
