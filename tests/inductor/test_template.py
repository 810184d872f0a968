"""The template is compiled by Jinja once, and again where what is kept of it is no longer right."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from capture import config
from capture.inductor import cache, template
from tests.inductor.test_render import source_of


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The names of templates that Jinja has compiled, from an empty cache on."""
    names = []

    def compile(self, source, name=None, filename=None, **others):
        names.append(name)
        return plain(self, source, name, filename, **others)

    plain = jinja2.Environment.compile
    monkeypatch.setattr(jinja2.Environment, "compile", compile)
    with config.patch(cache_dir=tmp_path / "cache"):
        template.unit_template.cache_clear()
        yield names
    template.unit_template.cache_clear()


def render_in_another_process() -> str:
    template.unit_template.cache_clear()  # all of it that a process holds
    return source_of("gelu")


def test_another_process_finds_the_compiled_template(compiled):
    first = render_in_another_process()
    assert compiled == ["unit.c.jinja"]
    assert render_in_another_process() == first
    assert compiled == ["unit.c.jinja"]


def records() -> list[Path]:
    return sorted(cache.directory().glob("*.bin"))


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: b"", lambda data: data[:-9] + b"different"])
def test_a_damaged_template_is_compiled_again(compiled, damage):
    first = render_in_another_process()
    (record,) = records()
    whole = record.read_bytes()
    record.write_bytes(damage(whole))
    assert render_in_another_process() == first
    assert len(compiled) == 2
    assert record.read_bytes() == whole


def test_a_changed_template_is_compiled_again(compiled, tmp_path, monkeypatch):
    first = render_in_another_process()
    changed = tmp_path / "unit.c.jinja"
    changed.write_text((template.FOLDER / changed.name).read_text().replace("/* {{ title }} */", "/* A {{ title }} */"))
    monkeypatch.setattr(template, "FOLDER", tmp_path)
    assert render_in_another_process() == first.replace("/* graph", "/* A graph", 1)


def test_another_python_or_jinja_compiles_its_own(compiled, monkeypatch):
    render_in_another_process()
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    render_in_another_process()
    assert len(compiled) == len(records()) == 2


def test_a_cache_that_cannot_be_written_is_done_without(compiled, monkeypatch):
    monkeypatch.setattr(cache, "store_entry", lambda name, content: None)
    assert render_in_another_process() == render_in_another_process()
    assert len(compiled) == 2
