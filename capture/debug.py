"""Everything about one compile, as files in a folder of its own below ``config.debug_dir``.

In: a title and named texts (functions that make them, so that nothing is made while the option is off). Out: files::

    write("softmax", {"graph.txt": lambda: str(graph), "kernels.c": lambda: plan.source})
    → <debug_dir>/0003-softmax/graph.txt, kernels.c
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from capture import config


def write(title: str, texts: Mapping[str, Callable[[], str]]) -> None:
    """Make a new folder with one file per text; does nothing while ``config.debug_dir`` is not set."""
    top = config.debug_dir
    if top is None:
        return
    top.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", title).strip("_")
    number = 1 + max((int(place.name[:4]) for place in top.glob("[0-9][0-9][0-9][0-9]-*")), default=0)
    while True:
        folder = top / f"{number:04d}-{name}"
        try:
            folder.mkdir()
            break
        except FileExistsError:  # another process was faster
            number += 1
    for file, text in texts.items():
        (folder / file).write_text(text(), encoding="utf-8")
