"""Service: decoders, and the sessions that are open on them."""

from __future__ import annotations

import dataclasses
import logging
import secrets
import threading
import time
from typing import Any, Mapping

from .._library import Error, OutOfMemory
from .._wire import latents_of, unpack_clip
from ..decoder import Decoder
from .limits import Limits, Refused
from .metrics import Metrics
from .session import Format, Session

log = logging.getLogger("kinetograph.serve")


class Service:
    """Thread-safe.

    decoders  by the names of their families; the first is for requests that name none
    token     that requests must have; None: none is asked for
    prefix    of the names of sessions: in a fleet the replica that has them
    """

    def __init__(self, decoders: Mapping[str, Decoder], limits: Limits = Limits(), token: str | None = None,
                 prefix: str = "") -> None:
        self.limits, self.token, self._prefix = limits, token, prefix
        self.metrics = Metrics()
        self.decoders = dict(decoders)
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._opening = 0
        self._kept: set[str] = set()  # sessions that do not end when idle
        self.draining = False
        self.metrics.watch(lambda: len(self._sessions), lambda: sum(one.state_bytes for one in self.sessions()))

    def admits(self, token: str | None) -> bool:
        return self.token is None or (token is not None and
                                      secrets.compare_digest(token.encode(), self.token.encode()))

    def open(self, form: Format) -> Session:
        """Waits until the device has the session's memory. An empty family is the first decoder's."""
        if not form.family:
            form = dataclasses.replace(form, family=next(iter(self.decoders)))
        decoder = self.decoder(form.family)
        with self._lock:
            if self.draining:
                raise Refused("the service is ending and opens no session", 503)
            if len(self._sessions) + self._opening >= self.limits.sessions:
                raise Refused(f"{self.limits.sessions} sessions are open, which is this service's limit", 429)
            self._opening += 1
        try:
            session = Session(self._prefix + secrets.token_urlsafe(9), decoder, form, self.limits, self.metrics)
        except OutOfMemory as error:
            raise Refused(str(error), 507) from None
        finally:
            with self._lock:
                self._opening -= 1
        with self._lock:
            self._sessions[session.id] = session
        log.info("session opened", extra={"facts": {"session": session.id, "family": form.family, "width": form.width,
                                                    "height": form.height, "state_bytes": session.state_bytes}})
        return session

    def open_clip(self, file: bytes | memoryview, family: str = "", fps: float | None = None,
                  keep: bool = False) -> Session:
        """A session that plays the latents of a safetensors file again and again. `fps` None: the file's, else 24."""
        family = family or next(iter(self.decoders))
        decoder = self.decoder(family)
        tensor = unpack_clip(file)
        latents = latents_of(tensor, decoder.channels)
        if fps is None:
            try:
                fps = float(tensor.metadata.get("fps", 24))
            except ValueError:
                raise Refused(f"the file's fps is no number: {tensor.metadata['fps'][:20]}") from None
        scale = decoder.spatial_scale
        session = self.open(Format(family, latents.shape[3] * scale, latents.shape[2] * scale, fps, paced=True,
                                   late="skip"))
        session.play_clip(latents)
        if keep:
            self._kept.add(session.id)
        return session

    def decoder(self, family: str) -> Decoder:
        if family not in self.decoders:
            raise Refused(f"there is no decoder of {family[:40]} here, but {', '.join(self.decoders)}")
        return self.decoders[family]

    def session(self, number: str) -> Session:
        with self._lock:
            if number not in self._sessions:
                raise Refused("there is no such session: it was closed, or idle for too long"
                              if number.startswith(self._prefix) else
                              "the replica of this session has ended, and the session's state with it", 404)
            return self._sessions[number]

    def sessions(self) -> list[Session]:
        with self._lock:
            return list(self._sessions.values())

    def close(self, session: Session, sentence: str = "the session was closed") -> None:
        """Waits for the step that is being decoded."""
        with self._lock:
            self._sessions.pop(session.id, None)
            self._kept.discard(session.id)
        session.close(sentence)
        log.info("session closed", extra={"facts": {"session": session.id, "why": session.ended}})

    def close_idle(self) -> None:
        """Closes sessions that have ended and those without a connection for too long."""
        now = time.monotonic()
        for session in self.sessions():
            idle = session.connections == 0 and now - session.last_used > self.limits.idle_seconds
            if idle and (session.id not in self._kept or session.ended is not None):
                self.close(session, f"the session was idle for {self.limits.idle_seconds:g} s")

    def close_all(self) -> None:
        """Opens no more sessions and ends those that there are."""
        with self._lock:
            self.draining = True
        for session in self.sessions():
            self.close(session, "the service has ended")

    def situation(self) -> tuple[bool, str]:
        """Whether sessions can be opened, and why not."""
        if self.draining:
            return False, "the service is ending"
        for session in self.sessions():
            try:
                if session.ended is None and (unmoved := session.unmoved_seconds) > self.limits.stall_seconds:
                    return False, f"the device has not moved for {unmoved:.0f} s"
            except Error as error:
                return False, str(error)
        return True, f"{len(self._sessions)} of {self.limits.sessions} sessions are open"

    def describe(self) -> dict[str, Any]:
        return {"decoders": [{"family": family, "device": decoder.device, "description": decoder.description,
                              "channels": decoder.channels, "spatial_scale": decoder.spatial_scale,
                              "frames_per_latent": decoder.frames_per_latent}
                             for family, decoder in self.decoders.items()],
                "sessions": [session.describe() for session in self.sessions()]}
