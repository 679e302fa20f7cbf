"""Error for a plotting library that is not installed."""


class PlotUnavailable(Exception):
    """matplotlib (plots), plotly (plots that zoom), resvg_py (diagrams as PNG) or jinja2 (reports) is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(f"this is drawn with {library}, which is not installed: pip install 'ssptool[plot]'")
        self.library = library
