"""Arrays that are written in place, views, aliases, indices, dtypes, errors of NumPy's, scalars."""

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

state = np.zeros(3)
buffers = {"a": np.zeros((2, 3)), "b": np.ones(3)}
LIMITS = (0.5, 2.0)


@case(numbers(3), numbers(3))
def writes_in_place(x, y):
    x += y
    x[0] = 7
    x[1:] *= 2
    np.add(x, 1, out=y)
    return x


@case(numbers(4))
def overlapping_writes(x):
    x[1:] += x[:-1]
    x[:-1] = x[1:]
    x[::-1] = x + 0
    return x


@case(numbers(3), numbers(3))
def aliases_of_an_argument(x, y):
    z = x
    z += 1
    w = x[:]
    w *= y
    return z is x, w, x, w.base is x


@case(numbers(2, 3))
def writes_through_views(x):
    row, column, flat, turned = x[0], x[:, 1], x.reshape(-1), x.T
    row += 1
    column[:] = 5
    flat[2:4] = [8, 9]
    turned[2] -= 1
    np.fill_diagonal(x, 0)
    return row, column, flat, turned


@case(numbers(3))
def writes_a_global_array(x):
    state[:] = x * 2
    buffers["a"][0] += state
    buffers["b"] = x
    buffers["a"][:, 1] = 4
    return state + buffers["a"]


@case(numbers(3), numbers(3))
def writes_then_fails(x, y):
    x += 1
    y[:2] = x[:2]
    x[5] = 1
    y += 100


@case(numbers(3), numbers(4))
def shapes_do_not_match(x, y):
    z = x * 2
    try:
        return z + y
    except ValueError as error:
        return z, str(error)


@case(numbers(3))
def index_errors(x):
    z = x + 1
    try:
        return z[3]
    except IndexError as error:
        z[0] = 0
        return z, str(error)


@case(numbers(5))
def masks_and_indices(x):
    mask = x > 1
    y = x.copy()
    y[mask] = 0
    y[[0, -1]] += 10
    x[np.array([0, 0, 1])] += 1
    return y, x[mask], np.where(mask, x, -x), np.nonzero(mask), x[..., None].shape


@case(numbers(2, 3))
def reductions_and_shapes(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred.std(), x.sum(0), x.argmax(axis=1), np.cumsum(x), x.T @ x, np.stack([x, x], -1).shape, x.min()


@case(numbers(3).astype("f4"), numbers(3).astype("i4"))
def dtypes(x, n):
    y = x * 2 + n
    n //= 2
    z = n.astype(np.float32) * x
    return y, z, n / 3, (n > 0) & (x > 1), ~n, np.float32(2) * n, x.dtype.name, y.dtype == np.float64


@case(numbers(3).astype("u1"))
def small_integers(n):
    m = n + 250
    n += 1
    return m, n, -n, n << 1, n % 3, np.uint8(200) + n


@case(numbers(3))
def scalars(x):
    total = x.sum()
    first = x[0]
    text = type(first).__name__, float(total), int(first), total.dtype, x[1].item()
    return total * 2, first + 1, text, abs(-first), np.float64(3) // 2, round(float(first), 1), total > first


@case(3, 2.5)
@case(np.float64(3), np.int64(2))
def works_on_numbers(a, b):
    x = np.full(3, a)
    return x * b, a + b, a / b, -(a**2), np.sqrt(a), np.maximum(a, b), (a, b)


@case(numbers(3))
@case(numbers(0))
@case(numbers(1))
def sizes(x):
    y = np.zeros(len(x) + 1)
    y[1:] = x
    if x.size == 0:
        return y
    return y, x / x.shape[0], x[-1], np.arange(x.size) * 2


@case(numbers(3)[::-1])
@case(numbers(6)[::2])
@case(np.asfortranarray(numbers(2, 3)))
@case(np.broadcast_to(numbers(3), (2, 3)))
def layouts(x):
    y = x * 2
    z = x.copy()
    z += y
    return y, z, x.ravel(), np.ascontiguousarray(x), x.T + 1


@case(np.broadcast_to(numbers(3), (2, 3)))
def writes_read_only(x):
    y = x + 1
    try:
        x += 1
    except ValueError as error:
        return y, str(error)


def _shared():
    base = numbers(5)
    return base[:3], base[2:], base


@case(*_shared())
def arguments_that_overlap(x, y, base):
    x += 1
    y *= 2
    x -= y
    return x, base.sum()


@case([numbers(3)] * 2)
def one_array_twice(pair):
    x, y = pair
    x += 1
    y *= x
    return x is y, x


@case(numbers(3), [numbers(3), numbers(3)])
def updates_parameters(x, parameters):
    for k, parameter in enumerate(parameters):
        parameter -= 0.1 * x * k
        parameters[k] = parameter
    return [parameter.sum() for parameter in parameters]


@case(np.array([1, "a"], object), numbers(3))
def object_arrays(items, x):
    y = x + 1
    items[0] = y
    return items[1] * 2, y


@case(np.ma.masked_array(numbers(3), [0, 1, 0]), numbers(3))
def masked_arrays(masked, x):
    return masked + x, x * 2, masked.sum()


@case(np.zeros(2, [("a", "f8"), ("b", "i4")]), numbers(2))
def structured_arrays(table, x):
    table["a"] = x * 2
    table["b"] += 1
    return table["a"] + table["b"], table[0]["a"]


@case(numbers(3))
def python_functions_of_numpy(x):
    return np.clip(x, *LIMITS), np.linalg.norm(x), np.polyval([1, 2], x), np.diff(x), np.allclose(x, x)


@case(numbers(3))
def numpy_that_fails(x):
    y = x * 2
    found = []
    for attempt in (lambda: y.reshape(2, 2), lambda: np.concatenate([y, y[None]]), lambda: np.zeros(-1), lambda: y.foo):
        try:
            attempt()
        except (ValueError, AttributeError) as error:
            found.append(str(error))
    return y, found


@case(numbers(3))
def big_integers(x):
    n = 2**70
    k = n // 2**60
    return x * k, n, -7 // 2, -7 % 3, 7**-1, 1 / 3, 10**20 % 7, int("12") | 3
