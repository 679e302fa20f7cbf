"""A system as a diagram that can be shown and saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ssptool.drawing.diagram.model import Sheet
from ssptool.drawing.diagram.page import sheets_page
from ssptool.drawing.diagram.picture import png
from ssptool.drawing.diagram.svg import Remarks, sheet_svg
from ssptool.drawing.plot import check_plot_name

DRAWINGS = (".svg", ".png", ".html")


@dataclass(frozen=True, slots=True)
class Drawing:
    """One system as a picture, or all of them as a page. Notebooks show the picture.

    Attributes
    ----------
    sheet
        The system of which the picture is, with what is inside its elements as far as it was asked for.
    sheets
        All systems, the root first.
    expanded
        Those that have systems inside, with these drawn in the boxes of their elements.
    remarks
        What stands out.
    """

    title: str
    sheet: Sheet
    sheets: Sequence[Sheet]
    expanded: Sequence[Sheet]
    remarks: Remarks

    @property
    def svg(self) -> str:
        return sheet_svg(self.sheet, self.remarks)

    @property
    def page(self) -> str:
        """An HTML page that zooms, opens nested systems, and needs no network."""
        return sheets_page(self.sheets, self.expanded, self.remarks, self.title)

    def save(self, path: Path | str) -> None:
        """Write an .svg or .png picture or an .html page.

        Raises
        ------
        ValueError
            The ending is another.
        PlotUnavailable
            The library that makes a PNG is not installed.
        """
        path = Path(path)
        check_plot_name(path, DRAWINGS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._content(path.suffix.lower()))

    def _content(self, ending: str) -> bytes:
        match ending:
            case ".html":
                return self.page.encode()
            case ".png":
                return png(self.svg)
            case _:
                return self.svg.encode()

    def _repr_svg_(self) -> str:
        return self.svg
