"""What ``explain`` says of sizes: those that are open, those that are not and why, and what is guarded of them."""

import re

import numpy as np

import capture
from capture import report
from capture.errors import ShapeConstraintError
from tests.helpers import captured


def attend(x, y, rate, parts):
    scores = x @ y
    if len(x) > 2:
        scores = scores * rate
    return scores + np.arange(4), np.split(scores, parts, axis=1)


FIRST = attend.__code__.co_firstlineno
LAST = FIRST + 4
EXPECTED = f"""\
attend: 1 graph with 6 operations, 0 breaks, 0 kernels, compiled in … ms
open sizes:
  s0 is x.shape[0]: 3 or more
  s1 is x.shape[1]: any size
  s2 is y.shape[0]: as large as x.shape[1]
specialised:
  y.shape[1]: y.shape[1] == 4 is needed by scores + np.arange(4) at {__file__}:{LAST} in attend
  parts: the number of sections must be known for np.split(scores, parts, axis=1) at {__file__}:{LAST} in attend
guards:
  x: is an array of float64[?, ?] C  (line {FIRST + 1})
  y: is an array of float64[?, 4] C  (line {FIRST + 1})
  dict: lacks 'len'  (line {FIRST + 2}, len is a builtin)
  len: is len  (line {FIRST + 2})
  rate: equals 0.5  (line {FIRST + 3})
  np: is numpy  (line {LAST})
  np.arange: is arange  (line {LAST})
  np.split: is _ArrayFunctionDispatcher object  (line {LAST})
  parts: equals 2  (line {LAST})
  x.shape[1] == y.shape[0]  (needed by x @ y at test_report.py:{FIRST + 1})
  3 <= x.shape[0]  (needed by len(x) > 2 at test_report.py:{FIRST + 2})"""


def test_the_report_of_open_sizes():
    found = capture.explain(attend, dynamic=True, backend="eager")(np.ones((3, 5)), np.ones((5, 4)), 0.5, 2)
    assert re.sub(r"in \d+ ms", "in … ms", str(found)) == EXPECTED
    assert [size.place for size in found.sizes[0]] == ["x.shape[0]", "x.shape[1]", "y.shape[0]"]


def test_the_page_has_them_too(tmp_path):
    found = capture.explain(attend, dynamic=True, backend="eager")(np.ones((3, 5)), np.ones((5, 4)), 0.5, 2)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h2>open sizes</h2>" in page and "s0 is x.shape[0]: 3 or more" in page
    assert "<h2>specialised</h2>" in page and "parts: the number of sections must be known" in page


def test_from_the_shell(capsys):
    call = "attend(np.ones((3, 5)), np.ones((5, 4)), 0.5, 2)"
    assert report.main([f"{__name__}:attend", "--dynamic", "--call", call]) == 0
    assert "s0 is x.shape[0]: 3 or more" in capsys.readouterr().out
    assert report.main([f"{__name__}:attend", "--call", call]) == 0
    assert "open sizes" not in capsys.readouterr().out


def described(run):
    found = report.make_report("f", None, run.record)
    return [[str(size) for size in sizes] for sizes in found.sizes], dict(found.specialised)


def test_numbers_that_changed():
    run = captured(lambda x, rate, shift: x * rate + shift)
    for n in range(1, 4):
        run(np.ones(n), n / 2, n)
    assert described(run) == (
        [[], ["s0 is x.shape[0]: any size", "k1 is shift: 0 to 2147483647", "rate is rate: any float"]],
        {},
    )


def test_bounds_that_are_declared():
    batch = capture.Dim("batch", min=2, max=64)

    def f(x, y):
        return x.sum(axis=0) + y.sum(axis=0)

    compiled = capture.compile(f, dynamic={"x": {0: batch}, "y": {0: 2 * batch}}, backend="eager")
    compiled(np.ones((3, 2)), np.ones((6, 2)))
    found = report.make_report("f", None, compiled.info.record)
    assert [str(size) for size in found.sizes[0]] == [
        "s0 is x.shape[0]: 2 to 64",
        "s1 is y.shape[0]: as large as 2*x.shape[0]",
    ]


def loop(x, n):
    for k in range(n):
        x = x * 0.5 + k
    return x


def keeping(x, n):
    kept = {}
    for k in range(n):
        kept[0] = x = x * 0.5 + k
    return x


def test_what_ended_the_graph_is_told():
    run = captured(keeping)
    for n in (3, 4, 5, 6):
        run(np.ones(2), n)
    _, specialised = described(run)
    assert list(specialised) == ["n"]
    line = keeping.__code__.co_firstlineno + 2
    assert f"number n, which changes from call to call, is used other than in arithmetic at {__file__}:{line}" in (
        specialised["n"]
    )


def test_why_a_loop_is_no_node_is_told():
    report = capture.explain(keeping, backend="eager")(np.ones(2), 100)
    line = keeping.__code__.co_firstlineno + 2
    place = f"{__file__}:{line} in keeping"
    assert report.loops == {place: f"a change of an object inside a loop, at {__file__}:{line + 1} in keeping"}
    assert f"loops outside of the graphs, or unrolled:\n  {place}: " in str(report)
    assert capture.explain(loop, backend="eager")(np.ones(2), 100).loops == {}


def test_a_declared_int_is_not_taken_for_a_constant():
    """A break is less than what the user asked not to have: a variant for each value."""
    compiled = capture.compile(loop, dynamic={"n": capture.Dim("n")}, backend="eager")
    for n in range(3, 9):
        np.testing.assert_array_equal(compiled(np.ones(2), n), loop(np.ones(2), n))
    assert len(compiled.variants) == 1
    fixed = capture.compile(lambda x, n: x.sum(axis=n), dynamic={"n": capture.Dim("n")}, backend="eager")
    try:
        fixed(np.ones((2, 2)), 1)
    except ShapeConstraintError as error:
        assert "n is declared to change, but" in str(error)
    else:
        raise AssertionError("an axis must be known")
