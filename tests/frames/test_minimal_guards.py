"""Guards say no more than what was used: what was not asked for may change, and nothing is captured again.

A row is a statement that uses ``o``, what ``o`` is, and what is done to ``o`` between two calls.
"""

import collections
import types

import pytest

from tests.helpers import captured, numbers


class Model:
    scale = 2.0
    other = 1.0

    def __init__(self):
        self.w = numbers(3)
        self.b = 1.5
        self.items = [1.0, 2.0]
        self.table = {"a": 1.0}

    def apply(self, x):
        return x * self.w + self.scale


class Submodel(Model):
    own = 3.0


def make_list():
    return [2.0, 3.0, 4.0]


def make_dict():
    return {"a": 2.0, "b": 3.0}


def make_nested():
    return {"cfg": {"lr": 0.1, "steps": [1, 2]}, "b": 1}


def make_namespace():
    return types.SimpleNamespace(a=1.0, b=[1.0])


def make_arrays():
    return [numbers(3), numbers(2)]


KINDS = {
    "list": make_list,
    "dict": make_dict,
    "nested": make_nested,
    "arrays": make_arrays,
    "namespace": make_namespace,
    "model": Model,
    "submodel": Submodel,
    "tuple": lambda: (1.0, 2.0, [1]),
    "ordered": lambda: collections.OrderedDict(a=1.0, b=2.0),
}

GROWS, LAST, SECOND, FIRST = "o.append(9.0)", "o.pop()", "o[1] = 9.0", "o[0] = 9.0"
NEW_KEY, OTHER_KEY, NO_OTHER_KEY = "o['new'] = 5", "o['b'] = 7.0", "del o['b']"
IN_OBJECT = ("o.new = 1", "o.b = 2.5", "del o.b", "o.items = None", "o.items.append(1)", "o.table['new'] = 2")
IN_CLASS = ("type(o).other += 1", "type(o).new = 1", "Model.other += 1", "Model.new = 1", "del Model.new")

ROWS = (
    # lists
    ("y = x * o[0]", "list", (GROWS, SECOND, LAST)),
    ("y = x * o[-1]", "list", ("o.insert(0, 5.0)", FIRST, "del o[0]")),
    ("y = x * o[1] + o[0]", "list", (GROWS, "o[2] = 9.0", LAST)),
    ("y = x * o[0] + o[-1]", "list", ("o.insert(1, 7.0)", SECOND, "del o[1]")),
    ("y = x * 2 if o else x", "list", (GROWS, FIRST, LAST)),
    ("y = x * len(o)", "list", (FIRST, SECOND)),
    ("a, b = o[:2]; y = x * a + b", "list", (GROWS, "o[2] = 9.0", LAST)),
    ("y = x * 2 if 3.0 in o else x", "list", (GROWS, "o[2] = 9.0", LAST)),
    ("y = x * o.index(3.0)", "list", (GROWS, "o[2] = 9.0")),
    ("a, *rest = o; y = x + 1", "list", (FIRST, SECOND)),
    ("y = x\nfor v in o:\n    if v == 3.0:\n        break\n    y = y * v", "list", (GROWS, "o[2] = 9.0", LAST)),
    ("for i, v in enumerate(o):\n    y = x * v + i\n    break", "list", (GROWS, SECOND)),
    ("y = x\nfor v, c in zip((1.0, 2.0), o):\n    y = y * c + v", "list", (GROWS, "o[2] = 9.0")),
    ("y = x * next(iter(o))", "list", (GROWS, SECOND)),
    ("y = (x * 2, o)", "list", (GROWS, FIRST, "o.clear()")),
    ("y = x * 2 if isinstance(o, list) and o is not None else x", "list", (GROWS, FIRST, "o.clear()")),
    ("y = x * o[0]", "arrays", ("o.append(x)", "o[1] = x", "o.pop()")),
    ("y = x * o[0]", "tuple", ("o[2].append(1)",)),
    # changes of lists
    ("o.append(x * 2); y = x + o[-1]", "list", (GROWS, FIRST, "o.clear()")),
    ("o[0] = x * 2; y = o[0]", "list", (GROWS, SECOND, LAST)),
    ("o[1] += 1.0; y = x * 2", "list", (GROWS, FIRST, "o[2] = 9.0")),
    ("o[-1] = x * 2; y = x + o[-1]", "list", (GROWS, FIRST, LAST)),
    ("y = (x * 2, o.pop())", "list", (FIRST, SECOND, "o.insert(0, 1.0)")),
    ("y = (x * 2, o.pop(0))", "list", (GROWS, SECOND, LAST)),
    ("y = (x * 2, o.pop(), o.pop(), o.append(x))", "list", (FIRST, "o.insert(0, 1.0)")),
    ("o.append(x); o.pop(0); y = x + 1", "list", (GROWS, SECOND)),
    ("del o[0]; y = x * 2", "list", (GROWS, SECOND, LAST)),
    ("o.insert(0, x * 2); y = x + o[0]", "list", (GROWS, FIRST, LAST)),
    ("o.insert(1, x); o.insert(-1, x); y = x + o[1]", "list", (GROWS, FIRST)),
    ("o.clear(); y = x * 2", "list", (GROWS, FIRST, LAST)),
    ("o.remove(3.0); y = x * 2", "list", (GROWS, "o[2] = 9.0")),
    ("o += [x]; y = x * 2", "list", (GROWS, FIRST, "o.clear()")),
    # dicts
    ("y = x * o['a']", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("y = x * o['a']", "ordered", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("y = x * o.get('a', 1.0) + o.get('q', 2.0)", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("y = x * 2 if 'a' in o and 'q' not in o else x", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY, "o['a'] = 1")),
    ("y = x * 2 if o else x", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("y = x * len(o)", "dict", (OTHER_KEY, "o['a'] = 1")),
    ("y = (x * 2, list(o), [k for k in o.keys()])", "dict", (OTHER_KEY, "o['a'] = 1")),
    ("y = x\nfor k in o:\n    y = y * o[k] if k == 'a' else y", "dict", (OTHER_KEY,)),
    ("y = x * o.setdefault('a', 1.0)", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("y = (x * 2, o)", "dict", (NEW_KEY, OTHER_KEY, "o.clear()")),
    ("y = x * o['cfg']['lr']", "nested", ("o['cfg']['new'] = 3", NEW_KEY, "o['cfg']['steps'].append(3)", OTHER_KEY)),
    # changes of dicts
    ("o['a'] = x * 2; y = o['a']", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY, "del o['a']")),
    ("o['a'] += 1.0; y = x * 2", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("o.update(c=x, d=1); y = x * 2", "dict", (NEW_KEY, OTHER_KEY, "o.clear()")),
    ("y = x * o.pop('a')", "dict", (NEW_KEY, OTHER_KEY, NO_OTHER_KEY)),
    ("del o['a']; y = x * 2", "dict", (NEW_KEY, OTHER_KEY, "o['a'] = None")),
    ("o.clear(); y = x * 2", "dict", (NEW_KEY, OTHER_KEY)),
    # objects and classes
    ("y = x * o.w", "model", (*IN_OBJECT, *IN_CLASS)),
    ("y = o.apply(x)", "model", (*IN_OBJECT, *IN_CLASS)),
    ("y = o.apply(x)", "submodel", (*IN_OBJECT, *IN_CLASS, "type(o).own = 4.0")),
    ("y = x * o.scale", "model", (*IN_OBJECT, *IN_CLASS, "o.w = None")),
    ("y = x * o.own", "submodel", (*IN_OBJECT, *IN_CLASS)),
    ("y = x * o.items[0]", "model", ("o.items.append(1)", "o.items = [1.0, 5.0, 6.0]", "o.table = None", "o.new = 1")),
    ("y = x * o.table['a']", "model", ("o.table['new'] = 2", "o.items = None", "o.new = 1")),
    ("o.new = x * 2; y = o.new", "model", (*IN_OBJECT[1:], *IN_CLASS[:1])),
    ("o.b += 1; y = x * 2", "model", ("o.new = 1", "o.items = None", "o.items.append(1)")),
    ("y = x * 2 if hasattr(o, 'w') and not hasattr(o, 'q') else x", "model", (*IN_OBJECT, *IN_CLASS)),
    ("y = x * o.a", "namespace", ("o.b.append(1)", "o.new = 1", "o.b = None", "del o.b")),
    ("y = x * o.b[0]", "namespace", ("o.b.append(1)", "o.new = 1", "o.a = None", "del o.a")),
    # globals
    ("y = x * G['a']", "list", ("G['new'] = 1", "G['b'] = 2", "NEW = 1", "H = 4.0", GROWS)),
    ("y = x * helper()", "list", ("G['new'] = 1", "G['b'] = 2", "NEW = 1", "unused = 3")),
)


def program(text):
    """The statement as a function, and one that changes ``o`` and what else the function reaches."""
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    namespace = {"Model": Model, "G": {"a": 2.0, "b": 1}, "H": 3.0, "unused": 2}
    exec(f"def helper():\n    return H\n\ndef function(x, o):\n{body}    return y\n", namespace)

    def change(what, o, x):
        exec(what, namespace, local := {"o": o, "x": x})
        namespace.update({name: value for name, value in local.items() if name not in ("o", "x")})

    return namespace["function"], change


@pytest.fixture(autouse=True)
def same_classes():
    """What a row does to the classes is undone."""
    before = {cls: dict(vars(cls)) for cls in (Model, Submodel)}
    yield
    for cls, namespace in before.items():
        for name in set(vars(cls)) - set(namespace):
            delattr(cls, name)
        for name in {"other", "own"} & set(namespace):
            setattr(cls, name, namespace[name])


@pytest.mark.parametrize(("text", "kind", "changes"), ROWS, ids=[f"{row[1]}: {row[0]}" for row in ROWS])
def test_what_was_not_used_may_change(text, kind, changes):
    function, change = program(text)
    run = captured(function)
    x = numbers(3)
    run(x, KINDS[kind]())
    graphs = run.graphs
    for what in changes:
        o = KINDS[kind]()
        change(what, o, x)
        run(x, o)
        assert run.misses == [], what
    assert run.graphs == graphs == 1
