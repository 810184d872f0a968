"""Where everything is traced, what keeps changing is left alone, and variants do not run out."""


from tests.helpers import captured, numbers

MANY = (1, "two", 3.0, None, [4], {5: 6}, (7,), b"8", 9, "ten", range(11), object, 12.0, {13}, "14")


def test_types_that_keep_changing():
    def f(x, value):
        pair = value, x
        return pair, x * 2

    run = captured(f, always=True)
    for value in MANY:
        run(numbers(3), value)
    assert not run.entry.plain
    assert len(run.entry.variants) <= 8
    assert run.record.limits == []


def test_what_needs_to_be_known_runs_natively():
    def f(x, value, fallback=None):
        if value is fallback:
            return x
        return x * 2, str(value), type(value), value == value

    run = captured(f, always=True)
    for value in MANY:
        run(numbers(3), value)
    assert run.record.limits == []
    assert any("keeps changing" in reason for reason in run.breaks)
    assert not any(target.entry.plain for target in run.record.resumes.values())


def test_numbers_that_keep_changing():
    def f(value):
        if value > 10:
            return value + 1
        return value - 1

    run = captured(f, always=True)
    for value in range(30):
        run(value)
    assert not run.entry.plain
    assert run.record.limits == []
