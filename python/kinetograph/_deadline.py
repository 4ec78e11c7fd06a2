"""When a call has to return."""

from __future__ import annotations

import contextlib
import math
import time
from ctypes import byref, c_void_p
from typing import Iterator

from ._library import FOREVER, Cancelled, InvalidArgument, check, instances, library


class Deadline:
    """`timeout` seconds after it was made; None and infinity: never."""

    def __init__(self, timeout: float | None) -> None:
        if timeout is not None and (not isinstance(timeout, (int, float)) or math.isnan(timeout)):
            raise InvalidArgument(f"a timeout is a number of seconds, or None, and not {timeout!r}")
        self.timeout = None if timeout == math.inf else timeout
        self._until = None if self.timeout is None else time.monotonic() + self.timeout

    @property
    def left(self) -> float | None:
        """Seconds that are left, 0 once it has passed; None: it never passes."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    @property
    def passed(self) -> bool:
        return self.left == 0.0

    def left_ns(self, most: int = FOREVER) -> int:
        """Nanoseconds that are left, for the library; at most `most`."""
        left = self.left
        return most if left is None else min(most, int(left * 1e9))

    @contextlib.contextmanager
    def stop(self) -> Iterator[int | None]:
        """A kg_stop for calls that take one. A call that it has ended raises TimeoutError."""
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
