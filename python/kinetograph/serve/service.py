"""Service: decoders, and the sessions that are open on them."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import secrets
import threading
import time
from typing import Any, Callable, Iterator, Mapping

from .._library import Error, OutOfMemory
from .._wire import latents_of, unpack_clip
from ..decoder import Decoder
from ..stream import Stream
from .limits import Limits, Moved, Refused
from .metrics import Metrics
from .saved import Format, Saved, Store
from .session import Session

log = logging.getLogger("kinetograph.serve")


class Service:
    """Thread-safe.

    decoders  by the names of their families; the first is for requests that name none
    token     that requests must have; None: none is asked for
    prefix    of the names of sessions: in a fleet the replica that has them
    store     keeps a session for when this process has ended; None: none are rebuilt
    successor takes over a session of another replica, which has ended, and returns its new name; None: it is lost
    """

    def __init__(self, decoders: Mapping[str, Decoder], limits: Limits = Limits(), token: str | None = None,
                 prefix: str = "", store: Store | None = None,
                 successor: Callable[[str], str | None] | None = None) -> None:
        self.limits, self.token, self._prefix, self._store, self._successor = limits, token, prefix, store, successor
        self.metrics = Metrics()
        self.decoders = dict(decoders)
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._opening = 0
        self._moved: set[str] = set()  # sessions that went on elsewhere
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
        if form.rebuild and self._store is None:
            raise Refused("sessions are rebuilt in a fleet alone: kinetograph.ray")
        return self.adopt(Saved(form))

    def fork(self, session: Session) -> Session:
        """A second session that goes on where this one is after the latents taken so far."""
        with self._room_for_one():
            stream, begin = session.branch(self.limits.state_seconds)
            return self._add(begin, stream)

    def adopt(self, saved: Saved) -> Session:
        """A session that goes on with what another one was. Waits until the device has its memory."""
        now = time.monotonic()
        for latent in saved.queue:
            latent.arrived = now  # the other process had another clock
        with self._room_for_one():
            return self._add(saved)

    @contextlib.contextmanager
    def _room_for_one(self) -> Iterator[None]:
        with self._lock:
            if self.draining:
                raise Refused("the service is ending and opens no session", 503)
            if len(self._sessions) + self._opening >= self.limits.sessions:
                raise Refused(f"{self.limits.sessions} sessions are open, which is this service's limit", 429)
            self._opening += 1
        try:
            yield
        except OutOfMemory as error:
            raise Refused(str(error), 507) from None
        finally:
            with self._lock:
                self._opening -= 1

    def _add(self, begin: Saved, stream: Stream | None = None) -> Session:
        form = begin.form
        session = Session(self._prefix + secrets.token_urlsafe(9), self.decoder(form.family), begin, self.limits,
                          self.metrics, stream, self._store)
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
        """May wait for a session of another replica, which is taken over. Raises Moved with its new name."""
        with self._lock:
            if number in self._sessions:
                return self._sessions[number]
            if number in self._moved:
                raise Moved
            if number.startswith(self._prefix):
                raise Refused("there is no such session: it was closed, or idle for too long", 404)
        to = None if self._successor is None else self._successor(number)
        if to is not None:
            raise Moved(to)
        raise Refused("the replica of this session has ended, and the session's state with it", 404)

    def sessions(self) -> list[Session]:
        with self._lock:
            return list(self._sessions.values())

    def close(self, session: Session, sentence: str = "the session was closed") -> None:
        """Waits for the step that is being decoded."""
        with self._lock:
            self._sessions.pop(session.id, None)
            self._kept.discard(session.id)
        session.close(sentence)
        if self._store is not None and session.form.rebuild:
            self._store(session.id, None)
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

    def move_all(self, take: Callable[[str, Saved], None]) -> None:
        """Opens no more sessions, and gives `take` those that there are; their clients learn that they go on elsewhere.
        One whose latents are not decoded in time ends."""
        with self._lock:
            self.draining = True
        for session in self.sessions():
            try:
                session.move(take, self.limits.state_seconds)
                with self._lock:
                    self._moved.add(session.id)
                    self._sessions.pop(session.id, None)
                log.info("session moved", extra={"facts": {"session": session.id}})
            except Error as error:
                self.close(session, f"the session could not be moved: {error}")

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
