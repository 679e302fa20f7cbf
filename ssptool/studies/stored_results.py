"""Results of a study so far, read from its folder."""

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssptool.documents.saving import replaced_atomically
from ssptool.engine.recording.formats import check_output, open_writer
from ssptool.engine.trace import Trace, Values
from ssptool.errors import UnknownName, UnusableFile, WrongValue, counted, in_other_case, package_for, studies_need
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import Printed
from ssptool.public_calls import public
from ssptool.studies.accuracy import ACCURACY, REMARK, StudyAccuracy
from ssptool.studies.dataset import Dataset
from ssptool.studies.definition import RunStatus, rows_of_design
from ssptool.studies.designs import Computed
from ssptool.studies.optimum import Optimize, Optimum, aligned, cell_text, optimum
from ssptool.studies.run import StudyStatus, study_status
from ssptool.studies.sensitivity import (
    SENSITIVITY_DESIGNS,
    Morris,
    Saltelli,
    Sensitivity,
    sensitivity,
)
from ssptool.studies.study_file import study_from

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import polars
    import xarray  # type: ignore[import-not-found, unused-ignore]

SHOWN_ROWS = 20
"""Number of runs that are shown."""


@public
@dataclass(frozen=True, slots=True, eq=False)
class StudyResults(Printed, Mapping[str, Values]):
    """Content of a result folder; a mapping from the names of its columns to their values (runs,).

    Attributes
    ----------
    status
        Progress of the study when this object was created.
        factors, results
            Names of the varied columns and of the computed columns.
    """

    status: StudyStatus
    factors: tuple[str, ...]
    results: tuple[str, ...]

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def folder(self) -> Path:
        return self.status.folder

    @property
    def ok(self) -> bool:
        """True if all runs are completed."""
        return self.status.ok

    @property
    def runs(self) -> Path:
        """The dataset, for any reader of Parquet: `polars.read_parquet(results.runs)`."""
        return Dataset(self.folder).runs

    def table(self) -> Any:
        """All runs so far, as an Arrow table in the order of the design. Raises UnusableFile if there is none."""
        return Dataset(self.folder).table()

    def rows(self) -> list[dict[str, Any]]:
        """All runs as dictionaries; empty while there are none."""
        found: list[dict[str, Any]] = self.table().to_pylist() if Dataset(self.folder).parts else []
        return found

    def __getitem__(self, column: str) -> Values:
        """The values (runs,) of a factor, a result, or another column, in the order of the design. A name is also found
        with other upper and lower case.

        Raises
        ------
        UnknownName
            A KeyError: the column does not exist.
        UnusableFile
            No run has finished yet.
        """
        table = self.table()
        found = column if column in table.column_names else in_other_case(column, table.column_names)
        if found is None:
            raise UnknownName(f"column {column!r} is not in the results", column, table.column_names)
        return _values(table[found])

    def __contains__(self, column: object) -> bool:
        names = self._names
        return column in names or (isinstance(column, str) and in_other_case(column, names) is not None)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self._names)

    def __len__(self) -> int:
        """Number of columns; see `status` for the number of runs."""
        return len(self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        found = self.table().column_names if Dataset(self.folder).parts else (*self.factors, *self.results)
        return tuple(found)

    def items(self) -> ItemsView[str, Values]:
        return self.to_numpy().items()

    def values(self) -> ValuesView[Values]:
        return self.to_numpy().values()

    def to_numpy(self) -> dict[str, Values]:
        """The columns of `table` as arrays (runs,)."""
        table = self.table()
        return {name: _values(table[name]) for name in table.column_names}

    @property
    def traced(self) -> bool:
        """True if signals over time were kept."""
        return bool(Dataset(self.folder).traces.parts)

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a frame of pandas, with units in `attrs["units"]`. Raises MissingPackage."""
        package_for("to_pandas", "pandas")
        frame = self.table().to_pandas()
        frame.attrs["units"] = self.units
        return frame

    def to_polars(self) -> "polars.DataFrame":
        """The table as a frame of polars, which has no units. Raises MissingPackage."""
        frame: polars.DataFrame = package_for("to_polars", "polars").from_arrow(self.table())
        return frame

    def to_xarray(self) -> "xarray.Dataset":
        """The table as a dataset of xarray along `run`, with the units of the factors. Raises MissingPackage."""
        library, units = package_for("to_xarray", "xarray"), self.units
        columns = self.to_numpy()
        runs = columns.pop("run")
        variables = {
            name: library.Variable("run", values, {"units": units[name]} if units.get(name) else {})
            for name, values in columns.items()
        }
        dataset: xarray.Dataset = library.Dataset(variables, coords={"run": runs})
        return dataset

    @property
    def definition(self) -> dict[str, Any]:
        """Definition of the study, as written with its results."""
        return Dataset(self.folder).definition()

    @property
    def units(self) -> dict[str, str | None]:
        """Units of the factors, by name."""
        return dict(self.definition["units"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of completed runs, each with the number of its run. Those of failed runs are in the table."""
        rows = (row for row in self.rows() if row["status"] == RunStatus.COMPLETED and row["message"])
        return tuple(f"run {row['number']}: {row['message']}" for row in rows)

    def trace(self, run: str) -> Trace:
        """The signals of a run over time. Raises UnusableFile if none were kept."""
        return self._kept(run)[0]

    def manifest(self, run: str) -> dict[str, Any]:
        """Manifest of a run whose signals over time were kept. Raises UnusableFile if none were."""
        return self._kept(run)[1]

    def _kept(self, run: str) -> tuple[Trace, dict[str, Any]]:
        found = Dataset(self.folder).traces.of(run)
        if found is None:
            raise UnusableFile(self.folder, f"there is no trace of the run {run!r}; does the study have [traces]?")
        return found

    def sensitivity(self) -> tuple[Sensitivity, ...]:
        """Sensitivity of each result to the factors, from the finished runs; empty for other designs.

        Sobol' indices of a `saltelli` design, elementary effects of a `morris` design.
        """
        if self.definition.get("design") not in SENSITIVITY_DESIGNS:
            return ()
        study = study_from(self.definition["study"])
        assert isinstance(study.design, Saltelli | Morris)
        _, ids = rows_of_design(study, {})
        factors = [factor.name for factor in study.factors if not isinstance(factor.source, Computed)]
        rows = {row["run"]: row for row in self.rows() if row["status"] == RunStatus.COMPLETED}
        found = []
        for name in self.results:
            values = (rows[run][name] if run in rows else None for run in ids)
            numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
            found.append(sensitivity(study.design, factors, name, numbers))
        return tuple(one for one in found if one is not None)

    def optimum(self) -> Optimum | None:
        """The best run so far of an `optimize` design; None for other designs."""
        definition = self.definition
        if definition.get("design") != Optimize.word:
            return None
        design = study_from(definition["study"]).design
        assert isinstance(design, Optimize)
        found = optimum(design, self.rows(), self.units, definition.get("ended", ""))
        return replace(found, verified=definition.get("verified", ""))

    @property
    def accuracy(self) -> StudyAccuracy:
        """Accuracy checks of runs by finer runs; see `accuracy` and `accuracy_remark` of their rows."""
        return self._accuracy(self.rows())

    def _accuracy(self, rows: Sequence[Mapping[str, Any]]) -> StudyAccuracy:
        wanted = self.definition.get("accuracy")
        checked = tuple(row for row in rows if row.get(REMARK))
        return StudyAccuracy(checked, len(rows), wanted if isinstance(wanted, float) else None)

    def write_trace(self, number: int, path: Path) -> None:
        """Write the signals of a run over time, by its number, into a file of results: CSV, Parquet, MAT, HDF5 or MDF4.

        Raises
        ------
        WrongValue
            The run does not exist.
        UnusableFile
            Signals over time of the run were not kept.
        WrongValue, MissingPackage
            The ending of the file is not supported, or needs a package that is not installed.
        ResultsNotWritten
            The file cannot be written.
        """
        check_output(path)
        rows = self.rows()
        run = next((row["run"] for row in rows if row["number"] == number), None)
        if run is None:
            raise WrongValue(f"{self.folder}: there is no run {number} among the {counted(len(rows), 'run')}")
        trace, manifest = self._kept(run)
        writer = open_writer(path, trace.columns, trace.contents)
        writer.write(np.column_stack([trace.t, trace.cells]))
        writer.close(json_text(manifest))

    def write(self, path: Path) -> None:
        """Write the table to a .csv or .parquet file. Raises ValueError for another ending."""
        arrow_csv, parquet = studies_need("pyarrow.csv"), studies_need("pyarrow.parquet")
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise WrongValue(f"{path}: the table can be written as .csv or .parquet")
        table = self.table()
        with replaced_atomically(path) as file:
            if path.suffix.lower() == ".csv":
                arrow_csv.write_csv(table, file)
            else:
                parquet.write_table(table, file)

    def text(self, rows: int = SHOWN_ROWS) -> str:
        """The first runs as a table, followed by the text of `str`."""
        every = self.rows()
        if not every:
            return str(self)
        accuracy = self._accuracy(every)
        names = ["number", *self.factors, *self.results, "status"]
        cells = [names, *([cell_text(row[name]) for name in names] for row in every[:rows])]
        if accuracy.checked:
            marks = [ACCURACY, *map(accuracy.mark, every[:rows])]
            cells = [[*line, mark] for line, mark in zip(cells, marks, strict=True)]
        lines = aligned(cells)
        if len(every) > rows:
            lines.append(f"… and {len(every) - rows} more")
        return f"{joined_lines(lines)}\n\n{self}"

    def _repr_html_(self) -> str:
        """HTML representation in notebooks."""
        return str(self.to_pandas()._repr_html_())


def _values(column: Any) -> Values:
    """A column of Arrow as an array: missing numbers are nan, strings are objects."""
    values: Values = column.to_numpy()
    return values


def read_results(folder: Path) -> StudyResults:
    """Results in a folder. Raises UnusableFile."""
    definition = Dataset(folder).definition()
    return StudyResults(study_status(folder), tuple(definition["factors"]), tuple(definition["results"]))
