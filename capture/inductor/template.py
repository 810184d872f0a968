"""The template of a file of C, compiled by Jinja once on a machine.

In: the file in the folder ``templates``. Out: Jinja's template::

    unit_template().render(title="graph gelu", kernels=…)

Jinja turns a template into a Python function, which takes longer than tracing and lowering a small graph. What came out
is kept in the disk cache, under a name that says of which Jinja and which Python it is; Jinja itself compares it with
the template's text, and compiles again what is not of it.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

import jinja2
import jinja2.compiler
from jinja2.bccache import Bucket

from capture.inductor import cache

FOLDER = Path(__file__).with_name("templates")


@lru_cache(maxsize=1)
def unit_template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_Kept(),
    )
    return environment.get_template("unit.c.jinja")


class _Kept(jinja2.BytecodeCache):
    """Jinja's place for compiled templates: small records of the disk cache, which are sealed as kernels are."""

    def load_bytecode(self, bucket: Bucket) -> None:
        record = cache.load_entry(_name_of(bucket))
        if record is not None:
            bucket.bytecode_from_string(record)

    def dump_bytecode(self, bucket: Bucket) -> None:
        cache.store_entry(_name_of(bucket), bucket.bytecode_to_string())


def _name_of(bucket: Bucket) -> str:
    compiler = os.stat(jinja2.compiler.__file__)
    return f"template:{bucket.key}:{sys.implementation.cache_tag}:{compiler.st_size}:{compiler.st_mtime_ns}"
