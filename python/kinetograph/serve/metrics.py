"""Figures of the whole service, for Prometheus."""

from __future__ import annotations

from typing import Callable

import prometheus_client
from prometheus_client import Counter, Gauge, Histogram

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """Those of one service; `sessions` and `state_bytes` are asked for when the page is read."""

    def __init__(self) -> None:
        self._registry = registry = prometheus_client.CollectorRegistry()
        family = ("family",)
        self.chunk_seconds = Histogram("kinetograph_chunk_seconds", "From a latent frame's arrival to its last frame",
                                       family, buckets=_SECONDS, registry=registry)
        self.first_frame_seconds = Histogram("kinetograph_first_frame_seconds",
                                             "From the arrival of a clip's first latents to its first frame", family,
                                             buckets=_SECONDS, registry=registry)
        self.deadline_missed = Counter("kinetograph_deadline_missed",
                                       "Latent frames whose frames came after they were due", family, registry=registry)
        self.step_seconds = Counter("kinetograph_step_seconds", "Seconds of the device's work", family,
                                    registry=registry)
        self.frames = Counter("kinetograph_frames", "Frames decoded", family, registry=registry)
        self._sessions = Gauge("kinetograph_sessions", "Open sessions", registry=registry)
        self._state_bytes = Gauge("kinetograph_state_bytes", "Bytes of the open sessions on the device",
                                  registry=registry)

    def watch(self, sessions: Callable[[], float], state_bytes: Callable[[], float]) -> None:
        self._sessions.set_function(sessions)
        self._state_bytes.set_function(state_bytes)

    @property
    def busy_seconds(self) -> float:
        """Of the device's work for all sessions so far."""
        (found,) = self.step_seconds.collect()
        return float(sum(sample.value for sample in found.samples if sample.name.endswith("_total")))

    def page(self) -> bytes:
        return bytes(prometheus_client.generate_latest(self._registry))
