"""The best lower bound of a linear form that a combination of inequalities gives, in exact arithmetic.

In: the coefficients of a form, inequalities (columns of coefficients, and constants) and limits of its unknowns.
Out: the bound, rounded up; minus infinity if there is none. ``x + y`` with ``x - 2 >= 0``, ``3*y - x >= 0``:

>>> best_bound([1, 1], 0, [([1, 0], -2), ([-1, 3], 0)], [(-INFINITY, INFINITY)] * 2)
3

Multipliers ``m >= 0`` are sought such that the columns times ``m`` are the form, and the constants times ``m`` are
least. Simplex on a tableau of whole numbers over one denominator, that starts from the limits of the unknowns: its
first answer is the one of interval arithmetic. Where an unknown has no limit, an artificial column stands in, which
has to go.
"""

from __future__ import annotations

from collections.abc import Sequence

from capture.ir.shapes.ranges import INFINITY, End, Range, is_finite

MAX_PIVOTS = 24

Column = tuple[Sequence[int], int]


def best_bound(
    form: Sequence[int], constant: int, columns: Sequence[Column], limits: Sequence[Range], enough: End = INFINITY
) -> End:
    """Plus infinity where the inequalities contradict each other. Ends at a bound that is ``enough``."""
    rows, costs, artificial = _tableau(form, columns, limits)
    denominator = 1
    bound: End = -INFINITY
    for _ in range(MAX_PIVOTS):
        if not artificial[-1]:
            bound = -(-(constant * denominator + costs[-1]) // denominator)
        entering = None if bound >= enough else _entering(costs, artificial)
        if entering is None:
            return bound
        leaving = _leaving(rows, entering)
        if leaving is None:
            return INFINITY
        pivot_row = rows[leaving]
        *rows, costs, artificial = (
            row if row is pivot_row else _reduced(row, pivot_row, entering, denominator)
            for row in (*rows, costs, artificial)
        )
        denominator = pivot_row[entering]
    return bound


def _tableau(
    form: Sequence[int], columns: Sequence[Column], limits: Sequence[Range]
) -> tuple[list[list[int]], list[int], list[int]]:
    """A row for each unknown (last the form's coefficient, not negative), and two of reduced costs: the constants of
    the inequalities, and those of the artificial columns, which weigh more than any of them.
    """
    ends = [
        (index, sign, int(end))
        for index, (low, high) in enumerate(limits)
        for sign, end in ((1, low), (-1, -high))
        if is_finite(end)
    ]
    costs = [cost for _, cost in columns] + [-end for _, _, end in ends] + [0]
    artificial = [0] * len(costs)
    rows = []
    coefficients = zip(*(column for column, _ in columns), strict=True) if columns else [()] * len(form)
    for index, (value, (low, high), others) in enumerate(zip(form, limits, coefficients, strict=True)):
        row = [*others, *(sign if i == index else 0 for i, sign, _ in ends), value]
        mirrored = value < 0 or (value == 0 and not is_finite(low))
        if mirrored:
            row = [-x for x in row]
        rows.append(row)
        end = -high if mirrored else low
        if is_finite(end):  # the limit's own column is the basis of this row
            costs = [cost + int(end) * x for cost, x in zip(costs, row, strict=True)]
        else:
            artificial = [cost - x for cost, x in zip(artificial, row, strict=True)]
    return rows, costs, artificial


def _entering(costs: list[int], artificial: list[int]) -> int | None:
    """The column that promises most."""
    best, entering = (0, 0), None
    for index in range(len(costs) - 1):
        gain = (artificial[index], costs[index])
        if gain < best:
            best, entering = gain, index
    return entering


def _leaving(rows: list[list[int]], entering: int) -> int | None:
    """The row that limits how far the entering column can go."""
    leaving = None
    for index, row in enumerate(rows):
        if row[entering] <= 0:
            continue
        if leaving is None or row[-1] * rows[leaving][entering] < rows[leaving][-1] * row[entering]:
            leaving = index
    return leaving


def _reduced(row: list[int], pivot_row: list[int], entering: int, denominator: int) -> list[int]:
    """The row without the entering column; the division is exact."""
    pivot, factor = pivot_row[entering], row[entering]
    if not factor:
        return row if pivot == denominator else [pivot * x // denominator for x in row]
    return [(pivot * x - factor * y) // denominator for x, y in zip(row, pivot_row, strict=True)]
