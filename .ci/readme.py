"""The blocks of README.md that are to be carried out, as scripts.

    python readme.py README.md folder

writes one script per marked block into the folder and prints ``<kind> <path>`` for each, in the reader's order.
A block is marked by ``<!-- ci: install -->``, ``<!-- ci: test -->`` or ``<!-- ci: run -->`` on the line before
its fence. There must be at least one of each, since a README whose commands are not found is not checked.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

KINDS = ("install", "test", "run")
BLOCK = re.compile(
    r"^[ ]*<!--\s*ci:\s*(?P<kind>[\w-]+)\s*-->[ ]*\n\s*?(?P<fence>```+|~~~+)(?P<language>[\w+-]*)[^\n]*\n"
    r"(?P<body>.*?)^[ ]*(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"<!--\s*ci:")
ALREADY_DONE = re.compile(r"\s*(git clone|cd|python\S* -m venv|source|\.) ")
"""Lines that the caller has carried out: the clone and the virtual environment are there."""


def script(language: str, body: str) -> tuple[str, str]:
    """A block as a file suffix and the text to run. In a console block, what follows the prompts."""
    lines = body.splitlines()
    if language in ("python", "py"):
        return ".py", "\n".join(lines)
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return ".sh", "\n".join(line for line in lines if not ALREADY_DONE.match(line))


def main(readme: Path, folder: Path) -> int:
    text = readme.read_text() if readme.exists() else ""
    blocks = list(BLOCK.finditer(text))
    faults = [f"no block is marked <!-- ci: {kind} -->" for kind in KINDS if kind not in {b["kind"] for b in blocks}]
    faults += [f"unknown mark <!-- ci: {b['kind']} -->" for b in blocks if b["kind"] not in KINDS]
    if len(MARK.findall(text)) != len(blocks):
        faults.append("a mark is not followed by a fenced block")
    folder.mkdir(parents=True, exist_ok=True)
    for number, block in enumerate(blocks, 1):
        suffix, commands = script(block["language"], block["body"])
        if not commands.strip():
            faults.append(f"block {number} ({block['kind']}) has no commands")
        path = folder / f"{number}-{block['kind']}{suffix}"
        path.write_text(commands + "\n")
        print(block["kind"], path)
    for fault in faults:
        print(f"{readme.name}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
