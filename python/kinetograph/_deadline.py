"""When a call has to return."""

from __future__ import annotations

import contextlib
import time
from ctypes import byref, c_void_p
from typing import Iterator

from ._library import FOREVER, Cancelled, check, instances, library


class Deadline:
    """`timeout` seconds after it was made; None: never."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout

    @property
    def left(self) -> float | None:
        """Seconds, 0 once it has passed."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    @property
    def passed(self) -> bool:
        return self.left == 0.0

    def left_ns(self, most: int = FOREVER) -> int:
        """For the library: nanoseconds, `most` of them."""
        left = self.left
        return most if left is None else min(most, int(left * 1e9))

    @contextlib.contextmanager
    def stop(self) -> Iterator[int | None]:
        """A kg_stop for calls that take one; that it ended one is a TimeoutError."""
        if self._until is None:
            yield None
            return
        stop = c_void_p()
        check(library.kg_stop_create(instances.handle(), self.left_ns(), byref(stop)))
        try:
            yield stop.value
        except Cancelled as error:
            raise TimeoutError(f"not within {self.timeout} s: {error}") from None
        finally:
            library.kg_stop_destroy(stop)
