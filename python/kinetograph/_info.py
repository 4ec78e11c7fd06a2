"""What there is on this machine."""

from __future__ import annotations

import sys

from ._library import devices, library


class Info(str):
    """Text that prints as it is."""

    def __repr__(self) -> str:
        return str(self)


def info() -> Info:
    """The library's version, and every device with what serves it or what is missing."""
    version = library.kg_version()
    lines = [f"kinetograph {version >> 16}.{version & 0xFFFF}, {library._name}, Python {sys.version.split()[0]}"]
    for device in devices():
        state = device["product"] if device["available"] else "not available"
        lines.append(f"{device['name']:8} {state}: {device['situation']}")
    return Info("\n".join(lines))
