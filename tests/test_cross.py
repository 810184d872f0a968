"""``np.cross`` of vectors of three elements in loops: values, types and layouts, and what is left to NumPy."""

import numpy as np
import pytest

import capture

DTYPES = ("int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128")
SHAPES = (((5, 3), (5, 3)), ((5, 3), (3,)), ((3,), (5, 3)), ((4, 1, 3), (5, 3)), ((2, 0, 3), (1, 3)), ((3,), (3,)))
ODD = ((np.inf, 0.0, -0.0), (np.nan, 1e308, -1e308), (-0.0, -0.0, 0.0), (0.0, 1.0, 2.0))


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 50
    return (values + 1j * rng.standard_normal(shape) if dtype[0] == "c" else np.abs(values)).astype(dtype)


def product(a, b):
    return np.cross(a, b)


def of_product(a, b):
    return np.cross(a, b, axis=-1) * 2 + np.cross(b, a, axisa=-1)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(captured, dtype, shapes):
    first, second = shapes
    run = captured(product)
    run(numbers(first, dtype, 0), numbers(second, dtype, 1))
    assert run.graphs == 1 and not run.breaks


@pytest.mark.parametrize("others", ["int32", "float32", "complex64"])
def test_mixed_dtypes(captured, others):
    run = captured(of_product)
    run(numbers((6, 3), "float64", 0), numbers((6, 3), others, 1))
    assert run.graphs == 1 and not run.breaks


def test_values_that_are_no_numbers(captured):
    run = captured(product)
    with np.errstate(all="ignore"):
        run(np.array(ODD), np.array(ODD[::-1]))
    assert run.graphs == 1 and not run.breaks


@pytest.mark.parametrize("layout", ["F", "strided", "transposed"])
def test_layouts(captured, layout):
    make = {
        "F": lambda x: np.asfortranarray(x),
        "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        "transposed": lambda x: x.swapaxes(0, 1),
    }[layout]
    run = captured(product)
    run(make(numbers((4, 5, 3), "float64", 0)), make(numbers((4, 5, 3), "float64", 1)))
    assert run.graphs == 1 and not run.breaks


OTHER_AXES = ({"axis": 0}, {"axisa": 0, "axisb": 0}, {"axisc": 0}, {"axisa": 1, "axisb": 1, "axisc": 0})


@pytest.mark.parametrize("axes", OTHER_AXES, ids=str)
def test_other_axes_are_left_to_numpy(captured, axes):
    run = captured(lambda a, b: np.cross(a, b, **axes) + 1)
    run(numbers((3, 3), "float64", 0), numbers((3, 3), "float64", 1))
    assert run.graphs == 1


def test_kernels_compute_them():
    compiled = capture.compile(lambda a, b: np.cross(a, b) + a)
    compiled(numbers((6, 3), "float64", 0), numbers((6, 3), "float64", 1))
    (runner,) = compiled.info.record.runners
    assert {type(step).__name__ for step in runner.plan.steps} == {"KernelStep"}


def test_warnings_are_given_at_the_line_of_numpys():
    compiled = capture.compile(product, fullgraph=True)
    operands = np.array([[np.inf, 0.0, 1.0]]), np.array([[0.0, np.inf, 0.0]])
    told = []
    for function in (product, compiled):
        with pytest.warns(RuntimeWarning) as found:
            function(*operands)
        told.append({(str(each.message), each.filename, each.lineno) for each in found})
    assert told[0] == told[1]
    assert {message for message, _, _ in told[0]} == {"invalid value encountered in multiply"}



@pytest.mark.parametrize("shape", [(5, 2), (5, 4)])
def test_other_vectors_end_as_in_python(captured, shape):
    run = captured(product)
    run(numbers(shape, "float64", 0), numbers(shape, "float64", 1))
