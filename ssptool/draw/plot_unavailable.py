"""When the library that draws is missing."""


class PlotUnavailable(Exception):
    """matplotlib, which draws pictures, or plotly, which draws pages, is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(f"this plot is drawn by {library}, which is not installed: pip install 'ssptool[plot]'")
        self.library = library
