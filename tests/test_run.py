"""``python -m capture run``: programs give what they give without us; each is run both ways, in its own process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from capture import run

ROOT = Path(__file__).resolve().parent.parent

PROGRAMS = {
    "arrays": """
        import numpy as np

        class Model:
            count = 0

            def __init__(self, size):
                self.weights = np.linspace(0.0, 1.0, size)
                self.history = []

            @property
            def total(self):
                return self.weights.max()

            def step(self, x, rate=0.5):
                Model.count += 1
                change = np.sqrt(x) * rate
                self.weights -= change
                self.history.append(float(change.max()))
                return self.weights * 2

        def batches(count):
            for index in range(count):
                yield np.full(8, float(index))

        def main(config):
            model = Model(config["size"])
            for index, batch in enumerate(batches(config["count"])):
                result = model.step(batch, rate=config["rate"])
                print(f"{index}: {result.tolist()} {model.total:.3f}")
            print(model.history, Model.count, sorted(config))

        main({"size": 8, "count": 4, "rate": 0.25})
        print([int(n) for n in np.arange(5) ** 2], {k: v.tolist() for k, v in zip("ab", np.eye(2))})
        """,
    "surroundings": """
        import sys, os, inspect, traceback
        print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__, __doc__)
        print(sorted(globals()), type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
        def here():
            return [frame.function for frame in inspect.stack()]
        print(here(), sys.getrecursionlimit())
        traceback.print_stack()
        """,
    "recursion": """
        import numpy as np
        def deep(n):
            return 0 if n == 0 else 1 + deep(n - 1)
        def arrays(n, x):
            return x if n == 0 else arrays(n - 1, x + 1)
        def works(n):
            try:
                return deep(n) == n
            except RecursionError:
                return False
        low, high = 0, 1000
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if works(middle) else (low, middle)
        print(low, arrays(200, np.ones(2)))
        def forever(n):
            return forever(n + 1)
        forever(0)
        """,
    "deep recursion": """
        import sys
        import numpy as np
        sys.setrecursionlimit(100_000)
        def deep(n, x):
            if n == 0:
                return x
            y = x + 1
            print(end="")
            return deep(n - 1, y)
        print(deep(12_000, np.zeros(2)))
        """,
    "generators": """
        import numpy as np
        def count(n):
            try:
                for index in range(n):
                    got = yield np.arange(3) * index
                    if got is not None:
                        print("got", got + 1)
            finally:
                print("closed")
        numbers = count(5)
        print(next(numbers), numbers.send(np.ones(2)))
        numbers.close()
        print(sum(x.max() for x in count(4)))
        async def work(x):
            return (x * 2).tolist()
        import asyncio
        print(asyncio.run(work(np.ones(2))))
        """,
    "traceback": """
        import numpy as np
        class Wrong(Exception):
            pass
        def check(x):
            y = x * 2
            print("checking", len(y))
            return inner(y)
        def inner(y):
            z = y + 1
            try:
                return {}[z.shape]
            except KeyError as error:
                raise Wrong("no such shape") from error
        def outer(x):
            return [check(each) for each in x]
        outer(np.ones((2, 3)))
        """,
    "numpy error": """
        import numpy as np
        def multiply(x, y):
            z = x + 1
            return z @ y
        print(multiply(np.ones(3), np.ones(3)))
        multiply(np.ones(3), np.ones(4))
        """,
    "warnings": """
        import warnings
        import numpy as np
        def divide(x, y):
            return x / y
        print(divide(np.ones(3), np.arange(3.0)))
        print(divide(np.ones(3), np.arange(3.0)))
        def old():
            warnings.warn("old", DeprecationWarning, stacklevel=2)
        old()
        """,
    "syntax error": "def f(:\n    pass\n",
    "nothing to decode": "# -*- coding: latin-1 -*-\nprint('caf\\u00e9')\n",
    "exit code": "import sys\ndef leave(code):\n    sys.exit(code)\nleave(3)\n",
    "exit message": "import sys, atexit\natexit.register(print, 'bye')\nsys.exit('stopped')\n",
    "exit quietly": "raise SystemExit\n",
    "hard exit": "import os, sys\nprint('now', flush=True)\nos._exit(5)\n",
    "at exit": """
        import atexit
        import numpy as np
        def last(x):
            print("last", (x + 1).tolist())
        class Dies:
            def __del__(self):
                print("dies")
        atexit.register(last, np.ones(2))
        kept = Dies()
        print("end")
        """,
    "excepthook": """
        import sys, traceback
        def hook(kind, error, trace):
            print(kind.__name__, error, [frame.name for frame in traceback.extract_tb(trace)], sys.excepthook is hook)
        sys.excepthook = hook
        def fail():
            raise ValueError("no")
        fail()
        """,
    "interrupt": "def wait():\n    raise KeyboardInterrupt\nwait()\n",
    "threads": """
        import threading
        import numpy as np
        results = {}
        def work(index):
            x = np.arange(6.0) + index
            for _ in range(20):
                x = x * 0.5 + 1
            results[index] = x.tolist()
        threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print([results[index] for index in sorted(results)])
        def fail(x):
            return (x + 1)[10]
        thread = threading.Thread(target=fail, args=(np.ones(2),), name="failing")
        thread.start()
        thread.join()
        """,
    "pickling": """
        import copy, dataclasses, enum, pickle
        import numpy as np
        @dataclasses.dataclass
        class Point:
            x: np.ndarray
            def norm(self):
                return np.sqrt((self.x * self.x).max())
        class Kind(enum.Enum):
            A = 1
        found = pickle.loads(pickle.dumps((Point(np.arange(3.0)), Kind.A)))
        print(found, found[0].norm(), Point.__module__)
        """,
    "processes": """
        import os
        import numpy as np
        def double(x):
            return (x * 2).tolist()
        print(double(np.ones(2)), flush=True)
        child = os.fork()
        if child:
            print(os.waitpid(child, 0)[1])
        print(double(np.ones(2)), double(np.ones(3)), flush=True)
        if not child:
            os._exit(0)
        """,
    "plain": """
        import json, re, collections
        def words(text):
            counts = collections.Counter(re.findall(r"[a-z]+", text))
            return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        print(json.dumps(words("the cat and the dog and the bird")), fibonacci(15))
        """,
}


class Result(NamedTuple):
    status: int
    out: str
    err: str


def execute(folder: Path, *words: str, **environment: str) -> Result:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CAPTURE_STRICT": "1", "PYTHONHASHSEED": "0", **environment}
    found = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return Result(found.returncode, found.stdout, found.stderr)


def assert_same_program(folder: Path, *words: str, options: tuple[str, ...] = ()) -> Result:
    plain, captured = execute(folder, *words), execute(folder, "-m", "capture", "run", *options, *words)
    assert captured == plain
    return captured


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_the_same(tmp_path, name):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAMS[name]), encoding="latin-1")
    assert_same_program(tmp_path, "program.py", "--count", "3", "-v", "--", "-m")


# ---- ways to name a program ----


def test_a_script_elsewhere_finds_its_neighbours(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "neighbour.py").write_text("def double(x):\n    return x * 2\n")
    (folder / "tool.py").write_text("import sys, neighbour\nprint(sys.path[0], __file__, neighbour.double(2))\n")
    (tmp_path / "link.py").symlink_to(folder / "tool.py")
    assert "4" in assert_same_program(tmp_path, "tools/tool.py").out
    assert "4" in assert_same_program(tmp_path, "link.py").out


def test_modules_packages_folders_and_archives(tmp_path):
    source = "import sys\nprint(__name__, __package__, __spec__.name, sys.argv, sys.path[0], 1 / (3 - len(sys.argv)))\n"
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(source)
    (tmp_path / "module.py").write_text(source)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(tmp_path / "module.py", "__main__.py")
    for words in (["-m", "module"], ["-m", "package"], ["package"], ["archive.zip"]):
        assert_same_program(tmp_path, *words, "one")
        assert "ZeroDivisionError" in assert_same_program(tmp_path, *words, "one", "-m").err


def test_programs_that_do_not_exist(tmp_path):
    assert assert_same_program(tmp_path, "missing.py").status == 2
    assert assert_same_program(tmp_path, "-m", "missing").status == 1


@pytest.mark.parametrize("words", [[], ["--explain"], ["-m"], ["--unknown", "x.py"], ["--include"]])
def test_misuse(words, capsys):
    with pytest.raises(SystemExit) as raised:
        run.parse(words)
    assert raised.value.code == 2
    assert "usage: python -m capture run" in capsys.readouterr().err


def test_words_behind_the_program_are_its_own():
    options, module, arguments = run.parse(["--include", "a", "--include=b", "x.py", "--explain", "-m"])
    assert (options.include, options.explain) == (["a", "b"], False)
    assert (module, arguments) == (None, ["x.py", "--explain", "-m"])


# ---- what is captured ----

LIBRARY = "import numpy as np\ndef wave(x):\n    return np.sqrt(x) + 1\n"
USES = """
import numpy as np
import library

def talk(x):
    y = x * 2
    print("talking")
    return y + 1

def add(a, b):
    return a + b

for size in (3, 3, 4):
    talk(np.ones(size))
print(library.wave(np.ones(3)), add(1, 2), add(3, 4))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text(USES)
    return tmp_path


def test_the_report_has_each_function_once(program):
    plain = execute(program, "program.py")
    found = execute(program, "-m", "capture", "run", "--explain", "program.py")
    assert (found.status, found.out) == (plain.status, plain.out)
    assert re.match(r"capture: 1 function captured in \d graphs .* left plain$", found.err.splitlines()[0])
    assert found.err.count("talk (program.py:5): ") == 1
    assert found.err.count("call of print") == 1
    assert "kernels:" in found.err
    assert "wave" not in found.err


def test_packages_are_captured_where_named(program):
    found = execute(program, "-m", "capture", "run", "--explain", "--include", "library", "program.py")
    assert "wave (library.py:2): 1 graph" in found.err


def test_packages_nobody_imported_are_told_of(program):
    found = execute(program, "-m", "capture", "run", "--include", "libary", "program.py")
    assert found.err == "capture: --include libary: the program imported no module of that name\n"


def test_the_report_comes_after_errors(program):
    (program / "program.py").write_text(USES + "1 / 0\n")
    found = execute(program, "-m", "capture", "run", "--explain", "program.py")
    assert found.status == 1
    assert found.err.index("ZeroDivisionError") < found.err.index("capture: 1 function")


def test_threads_are_captured(program):
    (program / "program.py").write_text(
        "import threading\nimport numpy as np\n"
        "def work():\n    x = np.ones(3)\n    return np.sqrt(x) + 1\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
    )
    found = execute(program, "-m", "capture", "run", "--explain", "program.py")
    assert "work (program.py:3): 1 graph" in found.err


def test_sizes_are_open_from_the_start_if_asked(program):
    (program / "program.py").write_text(
        "import numpy as np\n"
        "def work(x):\n    return np.sqrt(x) + 1\n"
        "for n in range(3, 9):\n    print(work(np.ones(n)).sum())\n"
    )
    plain = execute(program, "program.py")
    found = execute(program, "-m", "capture", "run", "--explain", "--dynamic", "program.py")
    assert found.out == plain.out
    assert "work (program.py:2): 1 graph" in found.err and "s0 is x.shape[0]: any size" in found.err
    found = execute(program, "-m", "capture", "run", "--explain", "program.py")
    assert "work (program.py:2): 2 graphs" in found.err


def test_everything_may_be_turned_off(program):
    plain = execute(program, "program.py")
    assert execute(program, "-m", "capture", "run", "--explain", "program.py", CAPTURE_DISABLE="1") == plain


def test_the_example(tmp_path):
    found = execute(tmp_path, "-m", "capture", "run", "--explain", str(ROOT / "examples" / "pipeline.py"))
    plain = execute(tmp_path, str(ROOT / "examples" / "pipeline.py"))
    assert (found.status, found.out) == (0, plain.out)
    assert plain.err.splitlines() == found.err.splitlines()[: len(plain.err.splitlines())]
    assert "Classifier.train" in found.err
