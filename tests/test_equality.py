"""Truth values of whole arrays as Python bools, and elements as Python numbers: in the graph, without a break."""

import numpy as np
import pytest

DTYPES = ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (1,), (0,), (5,), (2, 3), (2, 0), (1, 3), (2, 1, 3))


def array(dtype, shape, seed=0):
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape)
    return np.asarray(values).astype(dtype)


def compared(x, y):
    return np.array_equal(x, y), np.array_equiv(x, y), np.array_equal(x, x), np.array_equal(x, y, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_are_equal_or_not(captured, dtype, shape):
    run = captured(compared)
    x, y = array(dtype, shape), array(dtype, shape, 1)
    run(x, x.copy())
    run(x, y)
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("one, other", [("int64", "uint64"), ("float32", "float64"), ("bool", "complex64")])
def test_arrays_of_two_dtypes(captured, one, other):
    run = captured(compared)
    run(array(one, (5,)), array(one, (5,)).astype(other))
    run(array(one, (5,)), array(other, (5,), 1))
    assert run.breaks == []


@pytest.mark.parametrize("other", [(3,), (1, 3), (2, 3), (4,), (0,), ()])
def test_shapes_decide(captured, other):
    run = captured(compared)
    run(np.ones((2, 3)), np.ones(other))
    assert run.breaks == []


def test_nan_is_equal_where_it_is_asked_for(captured):
    run = captured(compared)
    x = np.array([1.0, np.nan, 3.0])
    run(x, x.copy())
    run(x, np.array([np.nan, 1.0, 3.0]))
    assert run.breaks == [] and run.graphs == 1


def close(x, y):
    return np.allclose(x, y), np.allclose(x, y, rtol=0.5, equal_nan=True), np.allclose(x, y, atol=1.0), np.isclose(x, y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_are_close(captured, dtype, shape):
    run = captured(close)
    x = array(dtype, shape)
    run(x, x.copy())
    run(x, array(dtype, shape, 1))
    assert run.breaks == [] and run.graphs == 1


def test_close_to_what_is_not_finite(captured):
    run = captured(close)
    x = np.array([1.0, np.nan, np.inf, -np.inf, 0.0])
    run(x, x.copy())
    run(x, x[::-1].copy())
    run(x, x + 1e-9)
    assert run.breaks == [] and run.graphs == 1


def lists(x):
    return np.array_equal(x, [1, 2, 3]), np.array_equal([1], [1]), np.array_equiv(x, 2.0), np.array_equal(x, 2.0)


def test_lists_and_numbers_are_arrays(captured):
    run = captured(lists)
    run(np.array([1, 2, 3]))
    run(np.array([1, 2, 4]))
    assert run.breaks == []


def used(x, y):
    same = np.allclose(x, y)
    return not same, same + 1, x * same, [same], same and None


def test_truth_is_computed_with(captured):
    run = captured(used)
    run(np.ones(3), np.ones(3))
    run(np.ones(3), np.zeros(3))
    assert run.breaks == ["a branch on the value of number number"] * len(run.breaks)


def decided(x, y):
    z = x * 2
    return z + 1 if np.allclose(x, y) else z - 1


def test_truth_decides_as_any_value_does(captured):
    run = captured(decided)
    run(np.ones(3), np.ones(3))
    run(np.ones(3), np.zeros(3))
    assert len(run.breaks) <= 1


# Elements -----------------------------------------------------------------------------------------------------------
def items(x):
    return x.item(1), x.sum().item(), x[:1].item(), x.reshape(3, 1).item(1, 0), x.item(-1) * 2, bool(x.reshape(3, 1)[2])


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float16", "float32", "float64"])
def test_items_are_python_numbers(captured, dtype):
    run = captured(items)
    run(np.array([3, 1, 2]).astype(dtype))
    run(np.array([0, 0, 0]).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


def converted(x):
    total = x.sum(keepdims=True).reshape(())
    return bool(total), float(total), int(total), float(x[0]) * 2, int(x[1]) // 2


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "float64"])
def test_arrays_without_axes_become_numbers(captured, dtype):
    run = captured(converted)
    run(np.array([3, 1, 2]).astype(dtype))
    run(np.array([0, 1, 0]).astype(dtype))
    assert run.breaks == []


@pytest.mark.parametrize("values", [[1, 2**64 - 1], [0, 2**63 - 5]])
def test_unsigned_integers_beyond_int64(captured, values):
    run = captured(lambda x: (float(x[1]), bool(x[0]), int(x[1]), x.item(1) + 1))
    run(np.array(values, np.uint64))
    assert all("may be no int64" in reason for reason in run.breaks)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.item(),
        lambda x: x.item(7),
        lambda x: x.item(0, 0),
        lambda x: float(x),
        lambda x: x[:0].item(),
        lambda x: int(x[0] * np.nan),
        lambda x: int(x[0] / 0),
    ],
)
def test_errors_are_numpys(captured, function):
    run = captured(function)
    run(np.array([1.0, 2.0, 3.0]))
    assert run.graphs + len(run.breaks) >= 1
