"""Calls that Python or NumPy refuse: their error, at the user's line, and what came before is captured."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest

from tests.helpers import captured, numbers

NAMES = {"np": np, "math": math, "functools": functools, "itertools": itertools, "operator": operator}
CALLS = """
sum()
max(*())
abs(1,2)
len()
isinstance()
zip()
enumerate()
reversed()
any()
divmod(1)
sorted()
iter()
next()
getattr()
hasattr(1)
range()
tuple(1,2)
list(1,2)
slice()
bool(1,2)
type()
setattr()
callable()
map()
filter()
int(1,2,3)
round(1,2,3)
pow(1)
print(sep=1)
min(1)
max([])
min(key=1)
sum(1,2,3)
vars(1,2)
math.sqrt()
np.sqrt()
np.add(x)
x.sum(1,2,3,4,5,6,7,8)
np.where()
np.zeros()
x.reshape()
np.concatenate()
functools.reduce()
itertools.chain(1)
itertools.count(1,2,3)
operator.add(1)
"""


@pytest.mark.parametrize("call", CALLS.split("\n")[1:-1])
def test_the_error_is_pythons(call):
    run = captured(eval(f"lambda x: (x + 1) * {call}", dict(NAMES)))
    for _ in range(2):
        run(numbers(3))
    assert run.graphs >= 1 and run.breaks
