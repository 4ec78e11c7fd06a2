"""The two WebSockets of a session: latents in, frames out."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any, Coroutine

from starlette.websockets import WebSocket, WebSocketDisconnect

from .._library import InvalidArgument
from .._wire import LATENTS, latents_of, unpack
from .access import SUBPROTOCOL
from .encoders import Encoder, encoder_of
from .frame_log import Reader
from .limits import Moved, Refused
from .service import Service
from .session import LATE, Session

log = logging.getLogger("kinetograph.serve")

_REFUSED, _ENDED, _TOO_SLOW, _MOVED = 4400, 4410, 4408, 1012  # codes of a closed WebSocket, beside its sentence
_LONGEST_INPUT = 1024
_LONGEST_REASON = 123  # bytes: RFC 6455, 5.5


class _Ended(Exception):
    """The session has ended, as the text says."""


def _end_of(session: Session) -> Exception:
    return Moved() if session.moved else _Ended(session.ended)


async def take_latents(socket: WebSocket, service: Service, number: str) -> None:
    """Messages of latents. {"next": 3, "room": 8} says which one is expected and how many latent frames there is room
    for; it comes first, so that a client that has lost its connection knows what to send again, and whenever it
    changes. {"input": "a text"} is what a viewer has sent. Of a session that is rebuilt "stored" is the first message
    that a client must be able to send again.

    A message is a safetensors file of the tensor `latents`, with the metadata `sequence` (from 0, in order), `stamp` (a
    text that comes back with its frames; optional) and `begins_clip` ("1": after the clip before; optional).
    """
    async def send_room(session: Session, wake: Wake) -> None:
        sent = None
        while session.ended is None:
            while (text := session.take_input()) is not None:
                await _send(socket, json.dumps({"input": text}), service.limits.stall_seconds)
            if (intake := session.intake) != sent:
                await _send(socket, json.dumps(intake), service.limits.stall_seconds)
                sent = intake
            await wake.wait()
        raise _end_of(session)

    async def receive(session: Session, wake: Wake) -> None:
        while True:
            await asyncio.to_thread(_push, session, await _received(socket, "bytes"))
            wake()

    async def serve(session: Session) -> None:
        if not session.takes_latents:
            raise Refused("the session plays a clip and takes no latents", 409)
        wake = Wake()
        with session.writing(wake):
            await _both(send_room(session, wake), receive(session, wake))

    await _connection(socket, service, number, serve)


async def give_frames(socket: WebSocket, service: Service, number: str, encoding: str, late: str,
                      begin: int | None) -> None:
    """Frames as `encoding` says: raw, jpeg or h264. With late="wait" every frame from `begin` on, or from where the
    last such connection left; the client confirms them with {"next": 5}, and the decoder waits when it does not. With
    late="skip" the newest ones. {"input": "a text"} goes to the session's generator."""
    async def serve(session: Session) -> None:
        if late not in LATE:
            raise Refused(f"late is wait or skip, and not {late[:20]}")
        form = session.form
        encoder = await asyncio.to_thread(encoder_of, encoding, form.dtype, form.width, form.height, form.fps)
        wake = Wake()
        with session.reading(begin, late == "wait", wake) as reader:
            await _both(_send_frames(socket, session, reader, wake, encoder, service.limits.stall_seconds),
                        _take_answers(socket, session, reader))

    await _connection(socket, service, number, serve)


async def _both(*work: Coroutine[Any, Any, None]) -> None:
    """Until one of them raises, which it does in the end; the other one is cancelled."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Wake:
    """Wakes a task from other threads."""

    def __init__(self) -> None:
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()

    def __call__(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:
            pass  # the service has ended, and the loop is closed

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


async def _send_frames(socket: WebSocket, session: Session, reader: Reader, wake: Wake, encoder: Encoder,
                       stall_seconds: float) -> None:
    while True:
        frame = session.take(reader)
        if frame is None:
            if session.ended is not None:
                raise _end_of(session)
            await wake.wait()
            continue
        begin = time.monotonic()
        messages = await asyncio.to_thread(encoder.encode, frame)
        session.spans.add("encode", frame.index, begin)
        begin = time.monotonic()
        for message in messages:
            await _send(socket, message, stall_seconds)
        session.spans.add("send", frame.index, begin)


async def _take_answers(socket: WebSocket, session: Session, reader: Reader) -> None:
    while True:
        take_answer(await _received(socket, "text"), session, reader)


def take_answer(text: str, session: Session, reader: Reader) -> None:
    """What a viewer says: a confirmation of frames, or an input."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    stated = answer if isinstance(answer, dict) else {}
    position, given = stated.get("next"), stated.get("input")
    if type(position) is int and position >= 0:
        session.confirm(reader, position)
    elif isinstance(given, str) and len(given) <= _LONGEST_INPUT:
        session.add_input(given)
    else:
        raise Refused('a reader of frames sends {"next": N}, or {"input": TEXT} of up to '
                      f"{_LONGEST_INPUT} characters")


async def _send(socket: WebSocket, message: bytes | str, stall_seconds: float) -> None:
    """Not by asyncio.wait_for(), which before Python 3.12 can lose a cancellation that comes as the message goes."""
    sending = asyncio.ensure_future(socket.send_text(message) if isinstance(message, str) else
                                    socket.send_bytes(message))
    try:
        await asyncio.wait({sending}, timeout=stall_seconds)
        if not sending.done():
            raise asyncio.TimeoutError
    finally:
        sending.cancel()
    sending.result()


async def _received(socket: WebSocket, kind: str) -> Any:
    """The next message, which is "text" or "bytes"."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    if message.get(kind) is None:
        raise Refused("latents come as binary messages, and all others as texts")
    return message[kind]


def _push(session: Session, message: bytes) -> None:
    tensor = unpack(message, LATENTS)
    unknown = tensor.metadata.keys() - {"sequence", "stamp", "begins_clip"}
    if unknown:
        raise Refused(f"the metadata {sorted(unknown)[0][:40]} means nothing here")
    sequence = tensor.metadata.get("sequence", "")
    if not (sequence.isascii() and sequence.isdecimal() and len(sequence) < 16):
        raise Refused("the metadata sequence is the message's number, from 0")
    stamp = tensor.metadata.get("stamp")
    if stamp is not None and len(stamp) > 256:
        raise Refused(f"a stamp of {len(stamp)} characters: there are up to 256")
    values = latents_of(tensor, session.channels)
    session.push(values, int(sequence), stamp, tensor.metadata.get("begins_clip") == "1")


async def _connection(socket: WebSocket, service: Service, number: str, serve: Any) -> None:
    """A connection from its beginning to its end, with the sentence of what went wrong."""
    offered = socket.scope.get("subprotocols", [])
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    try:
        session = await asyncio.to_thread(service.session, number)
        with session.connected():
            await serve(session)
    except (WebSocketDisconnect, ConnectionError):
        pass
    except _Ended as ended:
        await _close(socket, _ENDED, str(ended))
    except Moved as moved:
        await _close(socket, _MOVED, str(moved), moved=moved.to)
    except asyncio.TimeoutError:
        await _close(socket, _TOO_SLOW, f"a message was not read within {service.limits.stall_seconds:g} s")
    except InvalidArgument as error:
        gone = isinstance(error, Refused) and error.status in (404, 410)
        await _close(socket, _ENDED if gone else _REFUSED, str(error))
    except Exception:
        log.exception("a connection failed", extra={"facts": {"session": number}})
        await _close(socket, 1011, "the service has failed here; its log says why")


async def _close(socket: WebSocket, code: int, sentence: str, **more: Any) -> None:
    """Says why in a text, then closes; a client that reads neither is left alone."""
    try:
        await asyncio.wait_for(socket.send_json({"error": sentence, **more}), 1)
        reason = sentence.encode()[:_LONGEST_REASON].decode(errors="ignore")
        await asyncio.wait_for(socket.close(code, reason), 1)
    except (asyncio.TimeoutError, RuntimeError, ConnectionError, WebSocketDisconnect):
        pass
