"""What a session did when: for the page's lanes, as a trace that Perfetto opens, and for OpenTelemetry."""

from __future__ import annotations

import collections
import time
from typing import Any, NamedTuple

try:
    import opentelemetry.trace as telemetry
except ModuleNotFoundError:
    telemetry = None  # type: ignore[assignment, unused-ignore]

LANES = {"queue": "latents", "decode": "latents", "encode": "frame", "send": "frame"}  #: with what their spans are of
_KEPT = 4096


class Span(NamedTuple):
    lane: str
    number: int  #: of the latents' message, or of the frame
    begin: float  #: time.monotonic()
    end: float


def export_chunk(session: str, family: str, sequence: int, seconds: float) -> None:
    """A span of OpenTelemetry, if that is installed: a latent frame from its arrival to its last frame, which is now."""
    if telemetry is None:
        return
    end = time.time_ns()
    span = telemetry.get_tracer("kinetograph").start_span(
        "kinetograph.chunk", start_time=end - round(seconds * 1e9),
        attributes={"kinetograph.session": session, "kinetograph.family": family, "kinetograph.sequence": sequence})
    span.end(end)


class Spans:
    """The newest spans of one session. Appending is thread-safe."""

    def __init__(self) -> None:
        self._spans: collections.deque[Span] = collections.deque(maxlen=_KEPT)

    def add(self, lane: str, number: int, begin: float, end: float | None = None) -> None:
        self._spans.append(Span(lane, number, begin, time.monotonic() if end is None else end))

    def trace(self, session: str, seconds: float) -> dict[str, Any]:
        """The last `seconds` in the Trace Event Format, microseconds; "now" is when they end."""
        now = time.monotonic()
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": 1, "tid": lane, "name": "thread_name", "args": {"name": name}}
            for lane, name in enumerate(LANES)]
        events.append({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": f"kinetograph {session}"}})
        lanes = list(LANES)
        events += [{"ph": "X", "pid": 1, "tid": lanes.index(span.lane), "name": f"{LANES[span.lane]} {span.number}",
                    "ts": span.begin * 1e6, "dur": (span.end - span.begin) * 1e6}
                   for span in list(self._spans) if span.end >= now - seconds]
        return {"traceEvents": events, "displayTimeUnit": "ms", "now": now * 1e6}
