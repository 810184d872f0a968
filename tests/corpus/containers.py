"""Lists, dicts, sets, tuples, strings, bytes, ranges, slices, unpacking, comprehensions; also the caller's."""

import collections
import copy
import math

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

table = {"weights": np.array([1.0, 2.0, 3.0]), "bias": 0.5, "layers": [{"w": 2.0}, {"w": 3.0}]}
log = []


# The caller's -------------------------------------------------------------------------------------------------------
@case([numbers(3), 2.0], {"a": numbers(3)})
def changes_its_arguments(items, named):
    y = items[0] * items[1]
    items.append(y)
    items[1] = 5
    named["b"] = y + named["a"]
    named["a"] = None
    del items[0]
    return items, named


@case([numbers(3)], 3)
def appends_in_a_loop(items, n):
    for k in range(n):
        items.append(items[-1] * 2 + k)
    return len(items)


@case([3, 1, 2], numbers(3))
def methods_of_a_list_from_outside(items, x):
    items.sort()
    items.insert(0, 7)
    items.extend([x, x + 1])
    last = items.pop()
    items.remove(1)
    items.reverse()
    position = items.index(3)
    items *= 2
    items[1:2] = []
    return last * position, items.count(7), items


@case({"a": 1, "b": numbers(3)})
def methods_of_a_dict_from_outside(named):
    x = named.pop("b") * 2
    named.setdefault("c", []).append(x)
    named.update(d=x + 1, a=2)
    named |= {"e": 3}
    first = next(iter(named))
    pair = named.popitem()
    return x, first, pair, list(named.items()), named.get("zzz", 4)


@case({1, 2}, numbers(3))
def methods_of_a_set_from_outside(items, x):
    items.add(3)
    items.discard(1)
    items |= {5, 6}
    return x * len(items), 5 in items, items


@case(numbers(3))
def nested_globals(x):
    for layer in table["layers"]:
        x = x * layer["w"] + table["bias"]
    table["layers"][0]["w"] = 4.0
    table["seen"] = table.get("seen", 0) + 1
    log.append({"out": x})
    return x


@case([[numbers(3)], [numbers(3)]])
def the_same_list_twice(rows):
    rows.append(rows[0])
    rows[0][0] = rows[0][0] * 2
    return rows[2] is rows[0], rows[2][0] + rows[1][0]


@case(numbers(3))
def identity_of_what_is_stored(x):
    log.append(x)
    kept = {"x": x, "same": x}
    log.append(kept)
    return log[-2] is x, kept["x"] is kept["same"], log[-1] is kept, x + 1


# Made inside --------------------------------------------------------------------------------------------------------
@case(numbers(3))
def lists_made_inside(x):
    items = [x, 2]
    items += [x * items[1]]
    items.append(items[0] + items[2])
    items[0], items[1] = items[1], items[0]
    rest = items[::-1]
    del rest[1:3]
    return items, rest, [*items, *rest][3], items[-1:] + [None] * 2, sum(items[1:])


@case(numbers(3))
def dicts_made_inside(x):
    made = {"x": x, 1: x + 1, (1, "a"): 2}
    made["y"] = made.pop("x") * made[1, "a"]
    for key, value in list(made.items()):
        if isinstance(key, int):
            made[str(key)] = value - 1
    merged = {**made, "z": 0} | {"y": 1}
    return list(merged), merged["1"], made.keys() & {"y", 1}, dict(sorted({"b": 1, "a": x}.items()))


@case(numbers(3))
def sets_and_tuples(x):
    seen = {k % 3 for k in range(7)} - {1}
    first, *middle, last = (x, *sorted(seen), x + 1)
    (a, b), [c, (d, *e)] = (1, 2), [3, (4, 5, 6)]
    return first * last, middle, (a, b, c, d, e), frozenset(seen) | {9}, (x,) * 2, (1, 2) + (3,) < (1, 3)


@case(numbers(2, 3))
def comprehensions(x):
    rows = [row * k for k, row in enumerate(x)]
    pairs = {(i, j): x[i, j] for i in range(2) for j in range(3) if (i + j) % 2}
    flat = [a for b in [[1, 2], [3]] for a in b]
    nested = {k: [v * j for j in range(2)] for k, v in zip("ab", x, strict=True)}
    return rows, pairs, flat, nested, {len(r) for r in rows}


@case(numbers(3))
def comprehensions_that_call(x):
    def half(a, by=2):
        log.append(by)
        return a / by

    return [half(x, k + 1) for k in range(3)], [log[-1] for _ in "ab"], sum(half(x[k]) for k in range(2))


@case(numbers(3), "abc")
@case(numbers(3), "")
def texts(x, name):
    upper = name.upper().replace("B", "-")
    message = f"{name!r:>6}|{x.shape}|{x.ndim:03d}|{x[0]:.2f}|{len(name):>{x.ndim + 2}}"
    formatted = "%s has %d" % (name, x.size), "{0}{n}".format(1, n=name)
    return message, upper.split("-"), formatted, name[::-1] * 2, x + len(upper)


@case(numbers(3))
def texts_of_arrays(x):
    y = x * 2
    return f"{y}", str(y[:2]), repr(y), f"{y.sum():.3f}", f"{y=}", y + 1


@case(numbers(6), b"ab\x00")
def bytes_ranges_slices(x, data):
    kept = bytearray(data)
    kept.append(7)
    window = slice(1, None, 2)
    steps = range(10, 0, -3)
    ranges = list(steps), 4 in steps, steps[1], window.indices(5)
    return x[window] + data[0], bytes(kept), data.hex(), ranges, data + b"c"


@case(numbers(4))
def collections_of_the_library(x):
    counts = collections.Counter("abca")
    groups = collections.defaultdict(list)
    for k, letter in enumerate("abca"):
        groups[letter].append(x[k] * counts[letter])
    queue = collections.deque([x], maxlen=2)
    queue.append(x + 1)
    queue.appendleft(x * 2)
    ordered = collections.OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    return dict(groups), list(queue), list(ordered), counts.most_common(1)


@case([numbers(3), {"k": numbers(2)}])
def copies(items):
    shallow, deep = copy.copy(items), copy.deepcopy(items)
    shallow[0][0] = 9
    deep[1]["k"][0] = 7
    return shallow[1] is items[1], deep[0] is items[0], items[0] + deep[0], deep


@case(numbers(3))
def walrus_and_chains(x):
    if (n := len(x)) > 2 and (y := x * n) is not None:
        z = y + n
    return 0 < n <= 3 < 5, z, [last := k for k in range(n)], last, not n, (n or z), (0 or "b") and n


@case(numbers(3), 0)
@case(numbers(3), 2)
def conditional_values(x, k):
    y = x * 2 if k else x - 1
    items = [y, *([k] if k else ()), *(x for _ in range(k))]
    return items[-1] if items else None, {True: y, False: x}[bool(k)], k and y, [k, None][k is None]


@case(numbers(3))
def errors_of_containers(x):
    found = []
    y = x + 1
    for attempt in (lambda: [][0], lambda: {}["k"], lambda: (1,)[3], lambda: [].pop(), lambda: "a".index("b")):
        try:
            attempt()
        except (LookupError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
    return y, found


@case([1.5, 2.5], numbers(3))
def error_after_changes(items, x):
    items.append(x * 2)
    log.append("before")
    items[1] = items[7]
    log.append("never")


@case(numbers(3))
def changed_while_iterated(x):
    named = {"a": x}
    y = x * 2
    for key in named:
        named[key + "b"] = y
    return y


@case({"lr": 0.1, "sizes": [3, 2], "name": "net", "deep": {"eps": 1e-3, "on": True}}, numbers(3))
def configuration(config, x):
    for size in config["sizes"]:
        x = np.concatenate([x, np.full(size, config["lr"])])
    if config["deep"].get("on") and config["name"].startswith("n"):
        x = x / (x.std() + config["deep"]["eps"])
    return x * math.sqrt(config.get("scale", 2)), {**config, "size": len(x)}


@case(numbers(3), [3, 1, 2], {"b": 2, "a": 1})
def builtins_over_containers(x, items, named):
    order = sorted(items, reverse=True), sorted(named), max(named, key=named.get), min(items), sum(items, 10)
    total = [a * b for a, b in zip(items, reversed(items), strict=True)]
    checks = any(k > 2 for k in items), all(named.values()), list(filter(None, [0, 1])), list(map(str, items))
    return x * total[0], order, checks, divmod(7, 2), round(2.567, 1), abs(-3), list(enumerate("ab", 1)), hash((1, 2))
