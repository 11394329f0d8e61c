#!/usr/bin/env python3
"""Makes the synchronous client of the Python package from the asynchronous one:

    python-client.py        writes clients/python/src/cleave/client.py
    python-client.py FILE   writes FILE instead

Both wait and send by functions of the same names, those of _asynchronous.py and of _blocking.py.
"""

import pathlib
import re
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "clients" / "python" / "src" / "cleave"

# In this order; each must occur.
REPLACEMENTS = [
    (
        r'^"""An asynchronous client of .*"""$',
        '"""A synchronous client of a Cleave server. Generated from aio.py by scripts/python-client.py."""',
    ),
    (
        r'"""An asynchronous client of a Cleave server, for one event loop\.\n\n.*use cancel_job for that\.\n',
        '"""A client of a Cleave server. It may be used by several threads and survives a fork.\n',
    ),
    (r"AsyncGenerator\[(.*), None\]", r"Generator[\1, None, None]"),
    (r"Any, AsyncGenerator, AsyncIterator, Awaitable, Callable,", "Any, Callable, Generator, Iterator,"),
    (r"AsyncIterator", "Iterator"),
    (r"Awaitable\[(\w+)\]", r"\1"),
    (r"_asynchronous\b", "_blocking"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\basync (def|for|with)\b", r"\1"),
]


def without_awaits(text: str) -> str:
    """Removes await, and parentheses around what is awaited, but not those of a call."""
    while (at := text.find("(await ")) >= 0:
        depth = 0
        for end in range(at, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        awaited = text[at + len("(await ") : end]
        text = text[:at] + (f"({awaited})" if text[at - 1].isidentifier() else awaited) + text[end + 1 :]
    return text.replace("await ", "")


def main() -> None:
    text = (PACKAGE / "aio.py").read_text()
    for pattern, replacement in REPLACEMENTS:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if count == 0:
            sys.exit(f"aio.py does not have {pattern}")
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "client.py"
    out.write_text(without_awaits(text))


if __name__ == "__main__":
    main()
