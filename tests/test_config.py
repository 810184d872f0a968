"""Options and log topics: what is accepted, who sees it, and what the documentation says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from capture import config, log
from capture.errors import FallbackWarning

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def options_restored():
    before = config.current()
    yield
    for name in config.TABLE:
        setattr(config, name, getattr(before, name))


def in_fresh_process(code: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CAPTURE_")}
    return subprocess.run(
        [sys.executable, "-c", f"from capture import config, log\n{code}"],
        env=clean | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_assignment_holds_for_the_process():
    config.threads = 3
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.threads))
    thread.start()
    thread.join()
    assert seen == [3] and config.current().threads == 3


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("thread", 1, AttributeError, "no option 'thread'; did you mean 'threads'?"),
        ("threads", 0, ValueError, "option 'threads' takes an integer of at least 1, not 0"),
        ("threads", True, TypeError, "option 'threads' takes an integer of at least 1, not True"),
        ("threads", "2", TypeError, "option 'threads' takes an integer of at least 1, not '2'"),
        ("strict", 1, TypeError, "option 'strict' takes True or False, not 1"),
        ("math", "svml", ValueError, "option 'math' takes 'libmvec' or 'numpy', not 'svml'"),
        ("simd", [], ValueError, "option 'simd' takes 'auto' or"),
        ("debug_dir", 5, TypeError, "option 'debug_dir' takes a path or None, not 5"),
        ("cache_dir", "", TypeError, "option 'cache_dir' takes a path, not ''"),
        ("compiler", 5, TypeError, "option 'compiler' takes a string or None, not 5"),
        ("logs", "grph", ValueError, "no log topic 'grph'; did you mean 'graph'?"),
        ("logs", 5, TypeError, "option 'logs' takes names of log topics, not 5"),
    ],
)
@pytest.mark.parametrize("assign", [setattr, lambda _, name, value: config.with_options({name: value})])
def test_refusals_name_the_field_and_what_it_takes(assign, name, value, error, text):
    before = config.current()
    with pytest.raises(error) as caught:
        assign(config, name, value)
    assert text in str(caught.value)
    assert config.current() == before


def test_unknown_field_is_not_read():
    with pytest.raises(AttributeError, match="did you mean 'unroll_limit'"):
        _ = config.unrol_limit
    assert not hasattr(config, "nothing_like_it")
    with pytest.raises(AttributeError, match="assign 'strict' its default"):
        del config.strict


def test_patch_is_a_context_manager():
    outside = config.current()
    with config.patch(threads=5, simd="sse"):
        assert (config.threads, config.simd) == (5, "sse")
        with config.patch(threads=6):
            assert config.current().threads == 6 and config.simd == "sse"
        assert config.threads == 5
    assert config.current() == outside


def test_patch_is_a_decorator_and_recursive():
    @config.patch(unroll_limit=1234)
    def depth(n):
        return [config.unroll_limit, *depth(n - 1)] if n else []

    assert depth(3) == [1234] * 3
    assert depth(1) == [1234]
    assert config.unroll_limit != 1234


def test_patch_ends_with_an_exception_and_checks_at_once():
    with pytest.raises(ZeroDivisionError), config.patch(verify=True):
        _ = 1 / 0
    assert config.verify is False
    with pytest.raises(AttributeError):
        config.patch(verfy=True)


def test_patch_is_not_seen_by_other_threads():
    seen = []
    with config.patch(recompile_limit=99):
        thread = threading.Thread(target=lambda: seen.append(config.recompile_limit))
        thread.start()
        thread.join()
    assert seen == [8]


def test_snapshots_are_frozen_and_can_be_applied():
    snapshot = config.with_options({"fast_math": True, "cache_dir": "~/kernels"})
    assert snapshot.cache_dir == Path.home() / "kernels"
    assert hash(snapshot) == hash(config.with_options({"fast_math": True, "cache_dir": "~/kernels"}))
    with pytest.raises(AttributeError):
        snapshot.fast_math = False
    assert config.fast_math is False
    with config.applied(snapshot):
        assert config.fast_math is True and config.current() == snapshot
    assert config.fast_math is False


def test_with_options_sees_a_patch():
    with config.patch(threads=2):
        assert config.with_options({"verify": True}) == config.current().__class__(
            **{name: getattr(config, name) for name in config.TABLE} | {"verify": True}
        )


def test_environment():
    run = in_fresh_process(
        "print(config.strict, config.disable, config.threads, config.logs, config.simd, config.compiler,"
        " config.cache_dir, config.debug_dir, config.verify)",
        CAPTURE_STRICT="1",
        CAPTURE_DISABLE="no",
        CAPTURE_NUM_THREADS="7",
        CAPTURE_LOGS="graph, cache,",
        CAPTURE_SIMD="avx2",
        CAPTURE_CC="ccache gcc",
        CAPTURE_CACHE_DIR="/somewhere",
    )
    assert run.stdout.split("\n")[0] == (
        "True False 7 ('graph', 'cache') avx2 ccache gcc /somewhere None False"
    )
    assert run.stderr == ""


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("CAPTURE_NUM_THREADS", "many", "it takes an integer of at least 1"),
        ("CAPTURE_STRICT", "maybe", "it takes True or False"),
        ("CAPTURE_LOGS", "grph", "did you mean 'graph'?"),
    ],
)
def test_senseless_environment_warns_and_is_ignored(variable, text, said):
    run = in_fresh_process("print(config.threads >= 1, config.strict, config.logs)", **{variable: text})
    assert run.stdout == "True False ()\n"
    assert f"FallbackWarning: {variable}={text!r} is ignored" in run.stderr and said in run.stderr


@pytest.mark.parametrize(
    ("base", "expected"),
    [("/elsewhere", "/elsewhere/capture"), ("relative", "/home/someone/.cache/capture")],
)
def test_cache_dir_follows_xdg(base, expected):
    run = in_fresh_process("print(config.cache_dir)", XDG_CACHE_HOME=base, HOME="/home/someone")
    assert run.stdout == f"{expected}\n"


def test_usable_cpus_is_within_the_affinity():
    assert 1 <= config.usable_cpus() <= len(os.sched_getaffinity(0))


def test_options_document_is_written_from_the_table():
    assert (ROOT / "docs" / "options.md").read_text() == config.document(), (
        "run: python -m capture options > docs/options.md"
    )


# ------------------------------------------------------------------ log


def test_topics_are_set_and_emitted(capsys):
    log.set("graph", "perf")
    assert log.enabled("perf") and not log.enabled("cache")
    log.emit("graph", "two\nlines\n")
    log.emit("cache", lambda: pytest.fail("a text nobody wants is not made"))
    log.emit("perf", lambda: "made late")
    assert capsys.readouterr().err == "[capture:graph] two\n    lines\n[capture:perf] made late\n"
    log.set()
    assert config.logs == ()


def test_unknown_topic_raises():
    with pytest.raises(ValueError, match="no log topic 'kernel'; did you mean 'kernels'"):
        log.emit("kernel", "text")
    with pytest.raises(ValueError, match="did you mean 'shapes'"):
        log.set("shape")


def test_patch_turns_a_topic_on(capsys):
    with config.patch(logs="breaks"):
        log.emit("breaks", "seen")
    log.emit("breaks", "unseen")
    assert capsys.readouterr().err == "[capture:breaks] seen\n"


def test_fallback_warns_once_per_cause_at_the_users_line():
    log.forget_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = [log.fallback("no compiler", "plain"), log.fallback("no compiler", "plain")]
        log.fallback("other", "also plain")
    assert told == [True, False]
    assert [str(w.message) for w in caught] == ["plain", "also plain"]
    assert all(w.category is FallbackWarning and w.filename == __file__ for w in caught)
    log.forget_warnings()
