"""Frames of a session by WebRTC, for a browser: an offer in, an answer out.

Source: draft-ietf-wish-whep, "WebRTC-HTTP Egress Protocol", without trickle ICE. Over the viewer's data channel, if it
makes one, go the facts of the frames; what it sends there are inputs.
"""

from __future__ import annotations

import asyncio
import fractions
import json
import logging
import secrets
import time
from typing import Any

import aiortc
import aiortc.mediastreams

from . import fmp4
from .encoders import H264, facts_of
from .frame_log import Reader
from .limits import Refused
from .session import Session
from .sockets import Wake, take_answer

log = logging.getLogger("kinetograph.serve")

_ANSWER_SECONDS = 10.0
_CONNECT_SECONDS = 20.0
_MOST_UNSENT = 1 << 16  # bytes of facts that wait for a viewer; then they are left out


class Viewers:
    """The connections of all sessions."""

    def __init__(self) -> None:
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, session: Session, offer: str) -> tuple[str, str]:
        """(name of the connection, answer in SDP)"""
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        name = secrets.token_urlsafe(9)
        task = asyncio.ensure_future(self._hold(name, session, offer, ready))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return name, await asyncio.wait_for(ready, _ANSWER_SECONDS)
        except asyncio.TimeoutError:
            raise Refused("no answer to the offer was found in time", 503) from None
        finally:
            if not ready.done() or ready.cancelled() or ready.exception() is not None:
                task.cancel()

    def end(self, name: str) -> None:
        if name not in self._ends:
            raise Refused("there is no such connection", 404)
        self._ends[name].set()

    async def close(self) -> None:
        for ended in self._ends.values():
            ended.set()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hold(self, name: str, session: Session, offer: str, ready: asyncio.Future[str]) -> None:
        """One connection from its offer to its end."""
        connection, wake = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[])), Wake()
        ended = self._ends[name] = asyncio.Event()
        try:
            with session.connected(), session.reading(None, False, wake) as reader:
                track = _Frames(session, reader, wake, ended)
                _listen(connection, session, reader, track, ended)
                ready.set_result(await _agree(connection, track, offer))
                await asyncio.wait_for(track.began.wait(), _CONNECT_SECONDS)
                await ended.wait()
        except asyncio.TimeoutError:
            pass  # the viewer has not connected
        except Refused as error:
            if ready.done():
                log.info("a viewer was refused", extra={"facts": {"session": session.id, "why": str(error)}})
            else:
                ready.set_exception(error)
        finally:
            del self._ends[name]
            await connection.close()


async def _agree(connection: Any, track: _Frames, offer: str) -> str:
    try:
        transceiver = connection.addTransceiver(track, "sendonly")
        codecs = aiortc.RTCRtpSender.getCapabilities("video").codecs
        transceiver.setCodecPreferences([codec for codec in codecs if codec.mimeType == "video/H264"])
        await connection.setRemoteDescription(aiortc.RTCSessionDescription(offer, "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
    except Exception as error:  # of a parser that names no errors of its own
        log.info("an offer was refused", extra={"facts": {"why": repr(error)}})
        raise Refused("the offer is not SDP for one video in H.264") from None
    return str(connection.localDescription.sdp)


def _listen(connection: Any, session: Session, reader: Reader, track: _Frames, ended: asyncio.Event) -> None:
    @connection.on("connectionstatechange")  # type: ignore[untyped-decorator, unused-ignore]
    def end_with_connection() -> None:
        if connection.connectionState in ("failed", "closed"):
            ended.set()

    @connection.on("datachannel")  # type: ignore[untyped-decorator, unused-ignore]
    def open_channel(channel: Any) -> None:
        track.channel = channel

        @channel.on("message")  # type: ignore[untyped-decorator, unused-ignore]
        def take(text: Any) -> None:
            try:
                take_answer(str(text), session, reader)
            except Refused:
                ended.set()


class _Frames(aiortc.mediastreams.MediaStreamTrack):  # type: ignore[misc, unused-ignore]
    """The newest frames as packets, at the times at which they are sent."""

    kind = "video"

    def __init__(self, session: Session, reader: Reader, wake: Wake, ended: asyncio.Event) -> None:
        super().__init__()
        self._session, self._reader, self._wake, self._ended = session, reader, wake, ended
        form = session.form
        self._codec = H264(form.width, form.height, form.fps, "baseline")
        self._begin, self._newest = time.monotonic(), -1
        self.began = asyncio.Event()
        self.channel: Any = None

    async def recv(self) -> Any:
        self.began.set()  # it is asked for frames once the viewer is connected
        while (frame := self._session.take(self._reader)) is None:
            if self._session.ended is not None:
                self._ended.set()
                raise aiortc.mediastreams.MediaStreamError
            await self._wake.wait()
        begin = time.monotonic()
        self._newest = max(self._newest + 1, round((begin - self._begin) * fmp4.TIMESCALE))
        packet = await asyncio.to_thread(self._codec.encode, frame, self._newest)
        packet.time_base = fractions.Fraction(1, fmp4.TIMESCALE)
        self._session.spans.add("encode", frame.index, begin)
        channel = self.channel
        if channel is not None and channel.readyState == "open" and channel.bufferedAmount < _MOST_UNSENT:
            channel.send(json.dumps({"start": self._newest / fmp4.TIMESCALE, **facts_of(frame)}))
        return packet
