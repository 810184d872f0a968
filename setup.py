"""The two C extensions; everything else about the package is in pyproject.toml."""

from glob import glob

import numpy
from setuptools import Extension, setup

FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]


def extension(name: str, folder: str, **options) -> Extension:
    return Extension(
        name,
        sources=sorted(glob(f"{folder}/*.c")),
        depends=sorted(glob(f"{folder}/*.h")),
        include_dirs=[numpy.get_include(), folder],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
        extra_compile_args=FLAGS,
        **options,
    )


setup(
    ext_modules=[
        extension("capture.frames._hook", "capture/frames/_hook"),
        extension("capture.inductor._executor", "capture/inductor/_executor", libraries=["pthread"]),
    ]
)
