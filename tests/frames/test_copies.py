"""``copy.copy`` and ``copy.deepcopy`` inside captured code: new objects, sharing and order of memory as they are."""

import copy

import numpy as np
import pytest

from tests.frames.tables import break_everywhere, broken, expressions, whole
from tests.helpers import captured, numbers

NAMESPACE = {"copy": copy, "np": np}
EXPRESSIONS = expressions("""
list :: [items := [x, y + 1], copied := copy.copy(items), copied.append(x), len(items), copied, copied is items]
deep list :: [items := [x, [y, x]], copied := copy.deepcopy(items), copied[0] is copied[1][1], copied, items]
dict :: [table := {"a": x + 1}, copy.copy(table), copy.deepcopy(table)["a"] is table["a"], copy.copy(table) is table]
tuple :: [pair := (1, "a"), copy.copy(pair) is pair, copy.deepcopy(pair) is pair, copy.deepcopy((x, 1)), x + 1]
array :: [copied := copy.copy(x), np.multiply(copied, 2, out=copied), x + 1, copied is x]
deep array :: copy.deepcopy(np.stack([x, y]).T) + 1
constants :: (copy.copy(3), copy.deepcopy("a"), copy.copy(None), copy.deepcopy(len) is len, x + 1)
""", NAMESPACE)  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_one_graph(name):
    whole(EXPRESSIONS[name])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_breaks_everywhere(name):
    break_everywhere(EXPRESSIONS[name])


def test_order_of_memory():
    run = captured(lambda x: (copy.copy(x.T), copy.deepcopy(x[:, ::2]), x + 1), fullgraph=True)
    run(numbers(3, 4))
    copied, _, _ = run(numbers(3, 4))
    assert copied.flags.f_contiguous


def test_arguments_are_copied():
    run = captured(lambda items, x: (copy.deepcopy(items), x + 1), fullgraph=True)
    x = numbers(3)
    copied, _ = run.entry([x, {"a": x}], x)
    assert copied[0] is copied[1]["a"] is not x
    np.testing.assert_array_equal(copied[0], x)


def test_a_list_that_is_part_of_itself():
    def f(x):
        items = [x + 1]
        items.append(items)
        return len(copy.deepcopy(items)), x * 2

    captured(f)(numbers(3))


class Copied:
    def __copy__(self):
        return 5


def test_objects_are_left_to_python():
    assert broken(lambda x, y: [x + 1, copy.copy(Copied()), y * 2]) == (2, 1)


def test_a_replaced_copy_is_seen(monkeypatch):
    run = captured(lambda x: copy.copy([x])[0] + 1, fullgraph=True)
    run(numbers(3))
    monkeypatch.setattr(copy, "copy", lambda items: [items[0] * 2])
    run(numbers(3))
