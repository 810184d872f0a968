"""Changes of lists, dicts, sets, attributes, globals and cells that outlive the call: each once, in order, no break."""

import collections

import pytest

from capture.frames.values.unseen import CHANGES
from tests.helpers import captured, numbers

# Functions of (x, o): an array, and an object that has one of everything ---------------------------------------------


class Thing:
    count = 0

    def __init__(self):
        self.items = [1, 2.5, "three"]
        self.table = {"a": 1, "b": 2.0, (1, 2): "pair"}
        self.history = []
        self.array = numbers(3)
        self.inner = [[1], [2]]
        self.child = None
        self._level = 1.0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self.history.append(("level", value))
        self._level = value

    @level.deleter
    def level(self):
        self._level = None


def appends(x, o):
    o.history.append(x.mean())
    o.history.append(x + 1)
    return x * 2


def reads_what_it_appended(x, o):
    o.history.append(x + 1)
    return o.history[-1] * 2


def extends(x, o):
    o.items.extend([x, x + 1])
    o.items += (7,)
    o.items += [x * 2]
    return len(o.items), o.items[-1], o.items[0]


def inserts_and_pops(x, o):
    o.items.insert(0, x)
    first = o.items.pop(0)
    last = o.items.pop()
    return first is x, last, o.items, x + 1


def stores_items(x, o):
    o.items[0] = x
    o.items[-1] = x * 2
    return o.items[0] is x, o.items[2] + o.items[0]


def stores_slices(x, o):
    o.items[1:] = [x, x + 1, x]
    o.items[:0] = "ab"
    del o.items[2]
    del o.items[::2]
    return o.items, len(o.items)


def sorts(x, o):
    y = x * 2
    o.items[:] = [3, 1, 2]
    o.items.sort(reverse=True)
    o.items.reverse()
    o.items.remove(2)
    return y, o.items == [1, 3], 3 in o.items, 2 in o.items


def clears(x, o):
    o.items.clear()
    o.table.clear()
    return x + 1, o.items, bool(o.items), len(o.table)


def multiplies(x, o):
    o.inner *= 2
    return x + 1, o.inner[0] is o.inner[2]


def stores_keys(x, o):
    o.table["new"] = x + 1
    o.table["a"] = x * 2
    return o.table["new"] + o.table["a"], "new" in o.table, "other" in o.table, len(o.table)


def caches(x, o):
    if "key" not in o.table:
        o.table["key"] = x * 2
    return o.table["key"] + 1


def updates(x, o):
    o.table.update({"a": x, "z": 1}, y=2)
    o.table.update(b=x + 1)
    o.table |= {"w": x}
    return list(o.table), o.table["a"] is x


def takes_out(x, o):
    a = o.table.pop("a")
    none = o.table.pop("nothing", None)
    del o.table["b"]
    o.table["a"] = x + a
    return list(o.table), none, o.table.popitem()


def sets_defaults(x, o):
    found = o.table.setdefault("a", x)
    made = o.table.setdefault("made", [])
    made.append(x + 1)
    again = o.table.setdefault("made", None)
    return found, made is again, made


def counts_words(x, o):
    for word in ("a", "q", "q", "a", "r"):
        o.table[word] = o.table.get(word, 0) + 1
    return x + 1, [key for key in o.table if isinstance(key, str)], list(o.table.values())


def nests(x, o):
    o.inner[0].append(x)
    o.inner[1][0] = o.inner[0]
    o.inner.append([x + 1])
    o.inner[2].append(o.inner[0])
    return o.inner[2][1] is o.inner[0], len(o.inner[1][0])


def stores_one_list_twice(x, o):
    new = [x + 1]
    o.items.append(new)
    o.table["new"] = new
    o.child = new
    new.append(2)
    return new, o.items[-1] is new


def stores_itself(x, o):
    y = x + 1
    o.child = o
    o.items.append(o)
    return y, o.child.items[-1] is o


def deletes_attributes(x, o):
    o.new = x + 1
    y = o.new * 2
    del o.new
    del o.child
    return y, hasattr(o, "new"), hasattr(o, "child"), hasattr(o, "items")


def moves_an_attribute(x, o):
    items = o.items
    del o.items
    o.items = items
    o.items.append(x + 1)
    return list(vars(o))


def uses_properties(x, o):
    o.level = x + 1
    y = o.level
    o.level += 1
    del o.level
    return y, o.level, len(o.history)


def swaps_items(x, o):
    o.items[0], o.items[1] = o.items[1], x + 1
    o.array, o.child = x, o.array
    return o.items[0], o.child * 2


def changes_while_iterating(x, o):
    total = x
    for item in o.inner:
        if len(o.inner) < 5:
            o.inner.append([item[0] + 1])
        total = total + item[0]
    return total


def changes_then_iterates(x, o):
    o.items.append(4)
    o.table["c"] = x
    y = x
    for item in o.items:
        if not isinstance(item, str):
            y = y + item
    for key, value in o.table.items():
        if not isinstance(key, tuple):
            y = y + value
    return y


def iterates_with_breaks(x, o):
    o.inner.append([3])
    for item in o.inner:
        x = x + item[0]
        if len(o.inner) < 6:
            o.inner.append([10])
        print(item[0], len(o.inner))
    return x


def iterates_over_changed_dict_with_breaks(x, o):
    o.table["c"] = 5
    for key in o.table:
        x = x + 1
        print(key)
    return x


def reverses_with_breaks(x, o):
    o.items.append(x + 1)
    for item in reversed(o.items):
        x = x + 1
        print(type(item).__name__)
        o.history.append(x)
    return x


def raises_after(x, o):
    o.items.append(x + 1)
    o.table["a"] = x
    o.child = 3
    raise ValueError("after")


def fails_between(x, o):
    o.items.append(x + 1)
    o.table["never"]
    o.items.append(2)


def fails_in_a_call(x, o):
    def fill(n):
        o.history.append(n)
        return o.items[n]

    y = x + fill(0)
    o.child = y
    return y + fill(9)


def handles(x, o):
    try:
        o.items.append(x + 1)
        o.table["never"]
    except KeyError:
        o.items.append("handled")
    finally:
        o.history.append("finally")
    return x * 2


def not_hashable(x, o):
    o.items.append(x + 1)
    o.table[[1]] = 2


def prints_between(x, o):
    o.items.append(x + 1)
    print(len(o.items))
    o.items.append(x + 2)
    print(o.table.pop("a"), list(o.table))
    o.table["a"] = x
    return o.items[-2]


def array_and_list(x, o):
    o.array += x
    o.items.append(o.array)
    o.array[0] = 9
    return o.items[-1] is o.array, o.array * 2


def class_attribute(x, o):
    before = Thing.count
    Thing.count += 1
    y = x * Thing.count + o.count
    Thing.count = before
    return y, type(o).count, o.count


def closures(x, o):
    n = 0

    def bump():
        nonlocal n
        n += 1
        o.items.append(n)
        return n

    y = x * bump() + bump()
    return y, n, bump


def comprehensions(x, o):
    o.items.extend(i * 2 for i in range(3))
    o.table.update({str(i): x * i for i in range(2)})
    return [o.table[key] for key in ("0", "1")], [i for i in o.items if not isinstance(i, str)]


def methods_by_name(x, o):
    append = o.items.append
    append(x + 1)
    list.append(o.items, 3)
    dict.update(o.table, n=1)
    return o.items[-1], o.table["n"]


WHOLE = [
    appends, reads_what_it_appended, extends, inserts_and_pops, stores_items, stores_slices, sorts, clears, multiplies,
    stores_keys, caches, updates, takes_out, sets_defaults, counts_words, nests, stores_one_list_twice, stores_itself,
    deletes_attributes, uses_properties, swaps_items, changes_while_iterating, changes_then_iterates,
    handles, array_and_list, class_attribute, methods_by_name,
]  # fmt: skip
"""Functions that are one graph."""

BROKEN = [
    moves_an_attribute, iterates_with_breaks, iterates_over_changed_dict_with_breaks, reverses_with_breaks,
    raises_after, fails_between, fails_in_a_call, not_hashable, prints_between, closures, comprehensions,
]  # fmt: skip


def arguments():
    return numbers(3), Thing()


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_one_graph(function):
    run = captured(function)
    for _ in range(3):
        run.on(arguments)
    assert run.breaks == [] and run.graphs == 1 and run.misses == []


@pytest.mark.parametrize("function", BROKEN, ids=lambda f: f.__name__)
def test_with_breaks(function):
    run = captured(function)
    for _ in range(3):
        run.on(arguments)
    assert run.graphs >= 1


@pytest.mark.parametrize("function", [*WHOLE, *BROKEN], ids=lambda f: f.__name__)
def test_break_everywhere(function):
    count = sum(1 for _ in function.__code__.co_code[::2])
    for place in range(count):
        run = captured(function, force_break=lambda code, index, place=place: index == place)
        run.on(arguments)
        run.on(arguments)


# Containers that are changed unseen -----------------------------------------------------------------------------------
def changes_unseen(x, queue, names, ordered, default):
    queue.append(x + 1)
    queue.appendleft(x)
    queue.extend([1, x])
    names.add("new")
    names.discard("a")
    names.update(("b", 3))
    ordered["z"] = x
    default["new"] = [x]
    queue.reverse()
    return x * 2


def unseen():
    default = collections.defaultdict(list, a=[1])
    return (numbers(3), collections.deque([1, 2], 5), {"a", "c"}, collections.OrderedDict(b=1, z=2), default)


def test_changed_unseen():
    run = captured(changes_unseen)
    for _ in range(2):
        args = [list(map(repr, each)) if isinstance(each, set) else each for each in run.on(unseen).args]
        plain = unseen()
        changes_unseen(*plain)
        assert [repr(each) for each in plain[1:]] == [repr(each) for each in run.on(unseen).args[1:]]
        assert len(args) == 5
    assert run.breaks == [] and run.graphs == 1


def test_unseen_changes_are_done_before_a_look():
    def f(x, queue, names, ordered, default):
        queue.append(x + 1)
        names.add("new")
        default["n"].append(2)
        return len(queue), "new" in names, queue[-1], default["n"]

    run = captured(f)
    for _ in range(3):
        run.on(unseen)
    assert run.breaks


@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_unseen_methods_exist(kind):
    assert all(callable(getattr(kind, name)) for name in CHANGES[kind])
