"""Objects and classes that look like others, are not finished, or whose end is seen."""

import abc
import contextlib
import copy
import functools
import types
import weakref

import numpy as np
import pytest

from tests.helpers import captured, numbers

pytestmark = pytest.mark.usefixtures("hook_is_left_as_found")  # what runs natively stays native here


class Base:
    pass


class Proxy:
    """Says that it is what it stands for."""

    def __init__(self, wrapped):
        self._wrapped = wrapped

    def __getattribute__(self, name):
        if name == "_wrapped":
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_wrapped"), name)


class Property:
    __class__ = property(lambda self: Base)


class Plain:
    pass


@pytest.mark.parametrize(("make", "breaks"), [(lambda: Proxy(Base()), 1), (Property, 1), (Plain, 0), (Base, 0)])
def test_isinstance_asks_the_object(make, breaks):
    value = make()

    def f(x):
        return x * 2 if isinstance(value, Base) else x * 3

    run = captured(f)
    run(numbers(3))
    assert len(run.breaks) == breaks
    assert run.graphs == 1


@pytest.mark.parametrize("owner", [Base(), 42, Base])
def test_super_refuses_strangers(owner):
    def f(x):
        y = x + 1
        try:
            super(Plain, owner)
        except TypeError:
            return y
        return x

    captured(f)(numbers(3))


class Yes:
    def __eq__(self, other):
        return True

    __hash__ = None


class No:
    def __eq__(self, other):
        return False

    __hash__ = None


YES, NO = Yes(), No()


def test_members_are_asked_first():
    def f(x):
        found = YES in [NO], NO in [YES], YES in (NO,), [NO].count(YES), [YES].count(NO)
        return x * 2, found

    run = captured(f)
    assert run(numbers(3))[1] == (False, True, False, 0, 1)
    assert run.breaks == []


def test_a_module_without_a_name():
    module = types.ModuleType.__new__(types.ModuleType)
    vars(module)  # None until the first attribute
    module.factor = 3

    def f(x, m):
        return x * m.factor

    run = captured(f)
    run(numbers(3), module)
    run(numbers(3), types)
    assert len(run.misses) == 1


def test_a_class_whose_order_is_being_made():
    def f(x, cls):
        return x * 2, isinstance(cls, type), getattr(cls, "missing", None)

    run = captured(f)

    class Meta(type):
        def mro(cls):
            seen.append(run(numbers(3), cls)[1:])
            return super().mro()

    seen = []

    class Made(metaclass=Meta):
        pass

    assert seen == [(True, None)]
    assert run.graphs >= 1


@pytest.mark.parametrize(
    "make", [lambda: slice(1, 3), lambda: {1: 2}.keys(), lambda: [].append, lambda: (1, [2]), lambda: range(3)]
)
def test_what_two_variables_hold_is_one_object(make):
    def f(x):
        one = make()
        two = one
        y = x * 2
        print("here")
        return y, one is two

    run = captured(f)
    assert run(numbers(3))[1]
    assert run.breaks[0] == "call of print, which has no graph form"


@pytest.mark.parametrize("make", [lambda new: new, lambda new: [new], lambda new: (1, {"a": new})])
def test_new_objects_live_as_long_as_their_variable(make):
    def f(x):
        kept = make(Plain())
        seen = noticed(kept)
        y = x * 2
        look(seen)
        return y

    def noticed(value):
        while not isinstance(value, Plain):
            value = value[0] if isinstance(value, list) else value[1]["a"]
        return weakref.ref(value)

    def look(seen):
        print(type(seen()).__name__)

    captured(f)(numbers(3))


def innermost(values, key):
    print("looking")
    return values[key]


def middle(values, key, default):
    try:
        return innermost(values, key=key)
    except KeyError:
        return default + 1


def test_the_handler_of_an_interrupted_call_has_its_variables():
    def f(x, values, key):
        y = x * 2
        return y + middle(values, key, 5)

    run = captured(f)
    for key in "ab":
        run(np.ones(3), {"a": 1}, key)
    assert run.breaks[0] == "call of print, which has no graph form"
    assert run.graphs >= 1


NO_CLASSES = ([], None, 7, len, "int", (7, int), (str, None), (str, (int, float)), (str, ((7,),)))


@pytest.mark.parametrize("kinds", NO_CLASSES, ids=repr)
@pytest.mark.parametrize("ask", [isinstance, issubclass], ids=lambda f: f.__name__)
def test_classes_that_are_none(ask, kinds):
    def f(x, kinds):
        y = x * 2
        return y, ask(1 if ask is isinstance else int, kinds)

    run = captured(f)
    run(numbers(3), int)
    run(numbers(3), kinds)
    run(numbers(3), kinds)
    assert run.graphs == 2
    assert run.breaks


@pytest.mark.parametrize("replacement", [None, 7])
def test_an_abstract_class_that_lost_its_registry(replacement):
    Shape = abc.ABCMeta("Shape", (), {})

    def f(x):
        return x * 2 if isinstance(1.5, Shape) else x * 3

    run = captured(f)
    run(numbers(3))
    assert (run.graphs, run.breaks) == (1, [])
    Shape._abc_impl = replacement
    run(numbers(3))
    assert run.misses


@pytest.mark.parametrize("replacement", [lambda values: values, lambda values: 1, None, 7])
def test_functions_that_capture_uses_itself_may_be_replaced(monkeypatch, replacement):
    def f(x):
        return x[np.array([0, 2])], copy.copy([x])

    run = captured(f)
    run(numbers(3))
    monkeypatch.setattr(np, "array", replacement)
    monkeypatch.setattr(copy, "copy", replacement)
    plain = compiled = None
    with contextlib.suppress(TypeError):
        plain = f(numbers(3))
    with contextlib.suppress(TypeError):
        compiled = run.entry(numbers(3))
    assert repr(compiled) == repr(plain)
    assert run.graphs >= 1


class Model:
    scale = 2

    def __init__(self):
        self.weight = 3.0

    def __call__(self, x):
        return x * self.weight * self.scale

    @functools.cached_property
    def doubled(self):
        return self.weight * 2


Remade = type("Remade", (), dict(vars(Model)) | {"scale": 5})  # with a ``__dict__`` that is for objects of Model


class Derived(Remade):
    """Has none of its own: its objects have a dict that no attribute gives."""


def kept(x, model):
    model.bias = x.sum()
    model.weight += 1.0
    return x * model.bias


def made_inside(x, model):
    new = type(model)()
    new.bias = x
    del new.weight
    return new.bias + model(x), hasattr(new, "weight"), new


WITH_REMADE = {
    "read": lambda x, model: x * model.weight + model.scale,
    "called": lambda x, model: model(x),
    "asked for": lambda x, model: (x * 2, hasattr(model, "weight"), hasattr(model, "bias"), getattr(model, "bias", 1)),
    "written": kept,
    "made inside": made_inside,
    "cached": lambda x, model: x * model.doubled + model.doubled,
    "its dict": lambda x, model: (x * 2, model.__dict__),
    "its variables": lambda x, model: (x * 2, vars(model)),
}


@pytest.mark.parametrize("kind", [Remade, Derived])
@pytest.mark.parametrize("name", WITH_REMADE)
def test_classes_made_of_the_dict_of_another(name, kind):
    run = captured(WITH_REMADE[name])
    for _ in range(2):
        run.on(lambda: (numbers(3), kind()))
    assert run.graphs or name == "cached"  # which raises: there is no ``__dict__`` to keep it in
