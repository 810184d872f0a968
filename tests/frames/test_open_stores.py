"""Writes to objects that outlive the call, where the value, key or index is a size or number left open.

A value is stored as it is computed at each call, with no recompile; for a key or index Python does the write.
"""

import pytest

from tests.helpers import captured, numbers

VALUES = (
    "o['list'].append(x.shape[0])",
    "o['list'].extend([x.shape[0] + 1, x.size * 2, len(x) // 2])",
    "o.update(n=x.shape[0], twice=2 * len(x))",
    "o['list'][0] = len(x)",
    "o['list'].append((x.shape, [len(x)]))",
    "o['list'].append((x + len(x), x[1:].shape))",
    "o['n'] = len(x); o['list'].append(o['n']); x = x * o['n'] + o['list'][-1]",
    "o['list'] += [n, n * 2]; o['n'] = n + len(x)",
)
KEYS = (
    "o[x.shape[0]] = x.sum()",
    "o[x.shape[0], 1] = x.sum()",
    "o[n] = x.sum()",
    "o['list'][x.shape[0] - 3] = x.sum()",
    "o['list'][n] = x.sum()",
    "del o['list'][n]",
    "o['list'].pop(len(x) - 3)",
    "o['list'][: len(x)] = [1, 2]",
    "o['list'].insert(len(x), x.sum())",
    "o['set'].add(x.shape[0])",
    "o.setdefault(x.shape[0], x)",
    "o.pop(x.shape[0], None)",
    "o.update({len(x): x})",
)


def use(statement):
    namespace = {}
    exec(f"def function(x, n, o):\n    x = x * 2\n    {statement}\n    return x + 1, o['list'][-1]\n", namespace)
    return namespace["function"]


def arguments(size):
    return numbers(size), size - 1, {"list": list(range(12)), "set": {1, 3}, 4: "four", 6: "six"}


@pytest.mark.parametrize("statement", VALUES)
def test_open_values_are_stored(statement):
    run = captured(use(statement))
    for size in (3, 4, 5, 6, 7, 3):
        run(*arguments(size))
    assert (run.graphs, run.breaks) == (2, [])  # one for the first size, one for all others


@pytest.mark.parametrize("statement", KEYS)
def test_writes_at_open_keys_are_left_to_python(statement):
    run = captured(use(statement))
    for size in (3, 4, 5, 6, 7, 3):
        run(*arguments(size))
    assert "number" in run.kinds
    graphs = run.graphs
    for size in (8, 9, 10):
        run(*arguments(size))
    assert 0 < run.graphs == graphs
