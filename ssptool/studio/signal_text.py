"""Edits of single rows of a CSV file with signals over time; all other rows keep every byte."""

import csv
import io
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass

from ssptool.documents.csv_columns import CsvForm, bracketed, labelled
from ssptool.errors import WrongUsage


@dataclass(frozen=True, slots=True)
class SignalText:
    """Lines of a file, the first of which is the header. `rows` are the numbers of lines with values."""

    lines: tuple[str, ...]
    form: CsvForm
    rows: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "SignalText":
        """Lines of a text. Raises WrongUsage if a value spans several lines."""
        form = CsvForm.of(text)
        lines = tuple(text.splitlines(keepends=True))
        if any(line.count('"') % 2 for line in lines):
            raise WrongUsage("a value in quotes reaches over several lines; edit this file with another program")
        first = form.first_line
        return cls(lines, form, tuple(k for k in range(first, len(lines)) if lines[k].strip()))

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def times(self) -> tuple[float, ...]:
        return tuple(float(*self.form.numbers(self._cells(row)[:1])) for row in self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signals, without units."""
        header = self._cells(self.form.first_line - 1)[1:]
        return tuple(found[0] if (found := bracketed(name)) else name for name in header)

    def with_point(self, row: int, signal: str, time: float, value: str | None) -> "SignalText":
        """Change a row: another time, which must stay between its neighbours, and another value of a signal."""
        line, times = self._row(row), self.times
        low = times[row - 1] if row else float("-inf")
        high = times[row + 1] if row + 1 < len(times) else float("inf")
        if not low <= time <= high:
            raise WrongUsage(f"a row stays between those beside it: from {low:g} s to {high:g} s")
        cells = {} if time == times[row] else {0: self._number(time)}
        if value is not None:
            cells[self._column(signal)] = self._value(value)
        return self._with_line(line, self._replaced(self.lines[line], cells))

    def with_row(self, signal: str, time: float, value: str, linear: Collection[str]) -> "SignalText":
        """Set the value of a signal at a time. In a new row, the other signals keep their present values."""
        times, column = self.times, self._column(signal)
        if time in times:
            return self.with_point(times.index(time), signal, time, value)
        after = bisect_right(times, time)
        cells = [self._number(time)]
        for place, name in enumerate(self.names, 1):
            cells.append(self._value(value) if place == column else self._between(place, name, after, time, linear))
        ended = self.lines[self.rows[-1]] if self.rows else self.lines[self.form.first_line - 1]
        line = self.form.separator.join(cells) + (_newline(ended) or _newline(self.lines[0]) or "\n")
        at = self.rows[after - 1] + 1 if after else self.form.first_line
        lines = [*self.lines[:at], line, *self.lines[at:]]
        if at and not _newline(lines[at - 1]):
            lines[at - 1] += "\n"
        return SignalText.of("".join(lines))

    def without_row(self, row: int) -> "SignalText":
        line = self._row(row)
        if len(self.rows) == 1:
            raise WrongUsage("a file of inputs needs a row; take the file from the run instead")
        return SignalText.of("".join((*self.lines[:line], *self.lines[line + 1 :])))

    def with_signal(self, signal: str, unit: str | None, value: str) -> "SignalText":
        """Add a signal with the same value in all rows."""
        if signal in self.names:
            raise WrongUsage(f"{signal} has values in this file already")
        header = self.form.first_line - 1
        added = {header: self._cell(labelled(signal, unit)), **dict.fromkeys(self.rows, self._value(value))}
        lines = [
            f"{line.rstrip(chr(13) + chr(10))}{self.form.separator}{added[k]}{_newline(line)}" if k in added else line
            for k, line in enumerate(self.lines)
        ]
        return SignalText.of("".join(lines))

    # -- cells -----------------------------------------------------------------------------------------------------

    def _row(self, row: int) -> int:
        if not 0 <= row < len(self.rows):
            raise WrongUsage(f"there is no row {row + 1}")
        return self.rows[row]

    def _column(self, signal: str) -> int:
        if signal not in self.names:
            raise WrongUsage(f"there is no signal {signal!r} in this file")
        return self.names.index(signal) + 1

    def _cells(self, line: int) -> list[str]:
        reader = csv.reader(io.StringIO(self.lines[line]), delimiter=self.form.separator, skipinitialspace=True)
        return [cell.strip() for cell in next(reader)]

    def _between(self, place: int, name: str, after: int, time: float, linear: Collection[str]) -> str:
        """Value of another signal in a new row."""
        before = self._cells(self.rows[max(after - 1, 0)])[place]
        if not 0 < after < len(self.rows) or name not in linear:
            return self._cell(before)
        pair = [float(one) for one in self.form.numbers([before, self._cells(self.rows[after])[place]])]
        if pair[0] == pair[1]:
            return self._cell(before)
        start, end = self.times[after - 1], self.times[after]
        return self._number(pair[0] + (time - start) / (end - start) * (pair[1] - pair[0]))

    def _number(self, value: float) -> str:
        text = f"{value:.12g}"
        return text.replace(".", ",") if self.form.decimals and self.form.separator != "," else text

    def _value(self, value: str) -> str:
        """A value that the user has typed: a number, or a quoted string."""
        try:
            return self._number(float(value))
        except ValueError:
            return self._cell(value)

    def _cell(self, text: str) -> str:
        written = io.StringIO()
        csv.writer(written, delimiter=self.form.separator, lineterminator="").writerow([text])
        return written.getvalue()

    def _with_line(self, line: int, text: str) -> "SignalText":
        return SignalText.of("".join((*self.lines[:line], text, *self.lines[line + 1 :])))

    def _replaced(self, line: str, cells: dict[int, str]) -> str:
        parts = _split(line.rstrip("\r\n"), self.form.separator)
        for place, cell in cells.items():
            old = parts[place]
            start = old[: len(old) - len(old.lstrip())]
            parts[place] = f"{start}{cell}{old[len(old.rstrip()) :]}" if old.strip() else cell
        return self.form.separator.join(parts) + _newline(line)


def new_signals(signal: str, unit: str | None, value: str) -> str:
    """Text of a file with one signal, which has a value from the start."""
    head = SignalText.of("time\n0\n")
    return head.with_signal(signal, unit, value).text


def _split(line: str, separator: str) -> list[str]:
    """Cells as written, with quotes and spaces."""
    parts, quoted = [""], False
    for letter in line:
        quoted ^= letter == '"'
        if letter == separator and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _newline(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
