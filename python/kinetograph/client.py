"""Client: streams of a decoder that `kinetograph serve` holds, in another process or on another machine.

Needs the package websockets: the extra kinetograph[client], or kinetograph[serve].
"""

from __future__ import annotations

import asyncio
import collections
import json
import os
import pathlib
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
import weakref
from typing import Any, AsyncIterator, Coroutine, Iterator, NamedTuple, TypeVar

from ._deadline import Deadline
from ._library import InvalidArgument
from ._wire import FRAME, LATENTS, pack, unpack
from .live import Latents

__all__ = ["AsyncClient", "AsyncSession", "Client", "RemoteFrame", "Session"]

_SAFETENSORS = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_REFUSALS = range(4400, 4500)  # codes of a WebSocket that the service has closed for good
_LARGEST_MESSAGE = 1 << 28
_HANDSHAKE_SECONDS = 5.0
_RETRY_SECONDS = 0.2
_Result = TypeVar("_Result")


class RemoteFrame:
    """A decoded frame. `pixels` is [height, width, 3] of the session's dtype."""

    def __init__(self, message: bytes) -> None:
        tensor = unpack(message, FRAME)
        facts = tensor.metadata
        self.pixels: Any = tensor.array()[..., :3]
        self.index, self.clip = int(facts["index"]), int(facts["clip"])
        self.time: float = float(facts["time"])  #: seconds from the clip's start
        self.sequence: int = int(facts["sequence"])  #: of its latent frame among those pushed
        self.stamp: str | None = facts.get("stamp")
        self.age: float = float(facts["age"])  #: seconds from its latents' arrival at the service until it was decoded

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if dtype is not None and self.pixels.dtype != dtype:
            return self.pixels.astype(dtype)
        return self.pixels.copy() if copy else self.pixels

    def __repr__(self) -> str:
        height, width, _ = self.pixels.shape
        return f"<kinetograph.RemoteFrame {self.index}: {width} x {height}, {self.pixels.dtype}>"


class _Service:
    """The address of a service, and its REST interface."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise InvalidArgument(f"{url} is no address of a service, as http://127.0.0.1:8000")
        self.url, self.timeout = url.rstrip("/"), timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def _of(self, path: str) -> dict[str, str]:
        """The headers of a request; a session's name is one, by which a fleet finds its replica."""
        found = re.match(r"/sessions/([^/?]+)", path)
        return self._headers if found is None else {**self._headers, "x-session-id": found[1]}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON; None if it has none. Raises InvalidArgument with the service's sentence."""
        is_file = isinstance(body, bytes)
        data = body if is_file or body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if is_file else "application/json"
        request = urllib.request.Request(self.url + path, data, {**self._of(path), "Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                found = answer.read()
        except urllib.error.HTTPError as error:
            raise InvalidArgument(_sentence(error.read()) or f"{self.url} answers {error.code}") from None
        except urllib.error.URLError as error:
            raise ConnectionError(f"{self.url} cannot be reached: {error.reason}") from None
        return json.loads(found) if found else None

    def socket(self, path: str) -> dict[str, Any]:
        """Arguments of a WebSocket's connect()."""
        return {"uri": "ws" + self.url[len("http"):] + path, "additional_headers": self._of(path), "compression": None,
                "max_size": _LARGEST_MESSAGE, "open_timeout": _HANDSHAKE_SECONDS,
                "close_timeout": 1}  # frames that are not read hide the answer to a close


def _sentence(body: bytes) -> str:
    try:
        answer = json.loads(body)
    except ValueError:
        return ""
    return str(answer.get("error") or answer.get("detail") or "") if isinstance(answer, dict) else ""


class _Message(NamedTuple):
    number: int
    data: bytes
    frames: int  # that come of it
    begins: bool  # a clip


class _Progress:
    """What both kinds of session know: which latents the service has, and which frames are still to come."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self.opened = opened
        self.id: str = opened["id"]
        self.unconfirmed: collections.deque[_Message] = collections.deque()
        self.sequence = self.sent = 0  # of the next latent frame; of the next one that this connection has not carried
        self.inputs: list[str] = []
        self.room_end = 0  # the first one that there is no room for
        self.position = self.expected = 0  # the next frame; the one after the last that was asked for
        self.clip = 0
        self.begins = True

    @property
    def path(self) -> str:
        return f"/sessions/{self.id}"

    @property
    def frames_path(self) -> str:
        return f"{self.path}/frames?encoding=raw&late=wait&begin={self.position}"

    def add(self, latents: Any, stamp: str | None, begins_clip: bool) -> None:
        """Messages of one latent frame each."""
        found = Latents.of(latents)
        channels, _, height, width = found.shape
        for frame in found.frames:
            facts = {"sequence": self.sequence, "stamp": stamp, "begins_clip": 1 if begins_clip else None}
            data = pack(LATENTS, _SAFETENSORS[found.dtype], (channels, 1, height, width), frame, facts)
            begins = self.begins or begins_clip
            frames = 1 if begins else int(self.opened["frames_per_latent"])
            self.unconfirmed.append(_Message(self.sequence, data, frames, begins))
            self.expected += frames
            self.sequence += 1
            self.begins = begins_clip = False

    def forget(self) -> None:
        """Drops the latents that the service does not have: it has refused one."""
        if self.unconfirmed:
            self.sequence, self.begins = self.unconfirmed[0].number, self.unconfirmed[0].begins
            self.expected -= sum(message.frames for message in self.unconfirmed)
            self.unconfirmed.clear()

    def unsent(self) -> Iterator[bytes]:
        """Those that there is room for."""
        for message in list(self.unconfirmed):
            if self.sent <= message.number < self.room_end:
                yield message.data
                self.sent = message.number + 1

    def connected(self) -> None:
        """After the first answer of a new connection: what the service has is not sent again."""
        self.sent = self.unconfirmed[0].number if self.unconfirmed else self.sequence

    def confirm(self, text: str | bytes) -> None:
        answer = json.loads(text)
        if "error" in answer:
            raise InvalidArgument(answer["error"])
        if "input" in answer:
            self.inputs.append(answer["input"])
            return
        self.room_end = answer["next"] + answer["room"]
        while self.unconfirmed and self.unconfirmed[0].number < answer["next"]:
            self.unconfirmed.popleft()

    def frame(self, message: str | bytes) -> RemoteFrame | None:
        """None: one that came before, or is of a clip before a reset."""
        if isinstance(message, str):
            raise InvalidArgument(json.loads(message)["error"])
        frame = RemoteFrame(message)
        if frame.index < self.position or frame.clip < self.clip:
            return None
        self.position = frame.index + 1
        return frame

    def begin(self, answer: dict[str, Any]) -> None:
        """After a reset."""
        self.clip, self.begins = answer["clip"], True
        self.position = self.expected = answer["next_frame"]

    @property
    def confirmation(self) -> str:
        return json.dumps({"next": self.position})


class AsyncClient:
    """Client for asyncio; its methods and those of its sessions are coroutines."""

    def __init__(self, url: str = "http://127.0.0.1:8000", token: str | None = None, timeout: float = 30.0) -> None:
        self._service = _Service(url, token or os.environ.get("KINETOGRAPH_TOKEN"), timeout)

    async def open(self, width: int, height: int, *, fps: float = 24.0, family: str = "", dtype: str = "uint8",
                   paced: bool = False, late: str = "wait") -> AsyncSession:
        """A session for frames of that size. `paced`: they come no faster than `fps`. When frames are not taken, the
        decoder waits, or with late="skip" the oldest are dropped: those of a session that only pages show."""
        opening = {"width": width, "height": height, "fps": fps, "family": family, "dtype": dtype, "paced": paced,
                   "late": late}
        return AsyncSession(self._service, await self._ask("POST", "/sessions", opening))

    async def play(self, file: str | os.PathLike[str] | bytes) -> dict[str, Any]:
        """Has the service play a latents file (safetensors) again and again; what it says of the session."""
        contents = file if isinstance(file, bytes) else pathlib.Path(file).read_bytes()
        return dict(await self._ask("POST", "/clips", contents))

    async def describe(self) -> dict[str, Any]:
        """The decoders and the sessions of the service."""
        return dict(await self._ask("GET", "/sessions"))

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return await asyncio.to_thread(self._service.ask, method, path, body)


class AsyncSession:
    """One stream of a service. One task at a time pushes; another one may take frames. A connection that is lost comes
    back without a gap, for as long as the service has the session."""

    def __init__(self, service: _Service, opened: dict[str, Any]) -> None:
        self._service, self._progress = service, _Progress(opened)
        self._latents: Any = None
        self._frames: Any = None

    @property
    def id(self) -> str:
        return self._progress.id

    @property
    def state_bytes(self) -> int:
        """What the session takes of the device."""
        return int(self._progress.opened["state_bytes"])

    @property
    def pending(self) -> int:
        """How many frames of the latents pushed so far have not been taken."""
        return self._progress.expected - self._progress.position

    async def push(self, latents: Any, *, stamp: str | None = None, begins_clip: bool = False,
                   timeout: float | None = None) -> None:
        """Sends latents, [C, T, h, w] or one frame [C, h, w], in float32, float16 or bfloat16, and returns once the
        service has them. `stamp` is a text that comes back with their frames; `begins_clip` ends the clip before,
        all of whose frames still come. Raises TimeoutError when frames are not taken; what was not sent goes with the next
        push()."""
        progress, deadline = self._progress, self._deadline(timeout)
        progress.add(latents, stamp, begins_clip)
        while progress.unconfirmed:
            try:
                if self._latents is None:
                    self._latents = await self._connect(progress.path + "/latents")
                    progress.room_end = -1
                    while progress.room_end < 0:  # inputs may come before
                        progress.confirm(await _receive(self._latents, deadline))
                    progress.connected()
                for message in progress.unsent():
                    await _send(self._latents, message)
                if progress.unconfirmed:
                    progress.confirm(await _receive(self._latents, deadline))
            except asyncio.TimeoutError:
                raise TimeoutError(f"the service had no room for the latents within {deadline.timeout} s: take "
                                   "frames() before more of them") from None
            except OSError as error:
                self._latents = None
                await self._retry(error, deadline)
            except InvalidArgument:
                self._latents = None
                progress.forget()
                raise

    def take_inputs(self) -> list[str]:
        """What viewers have sent until the service had the newest latents, each once: keys and the mouse in JSON from
        the page, any text from others."""
        inputs, self._progress.inputs = self._progress.inputs, []
        return inputs

    async def take(self, *, timeout: float | None = None) -> RemoteFrame:
        """The next frame. Raises TimeoutError."""
        progress, deadline = self._progress, self._deadline(timeout)
        while True:
            try:
                if self._frames is None:
                    self._frames = await self._connect(progress.frames_path)
                frame = progress.frame(await _receive(self._frames, deadline))
                if frame is not None:
                    return await self._confirmed(frame)
            except asyncio.TimeoutError:
                raise TimeoutError(f"no frame within {deadline.timeout} s") from None
            except OSError as error:
                self._frames = None
                await self._retry(error, deadline)

    async def frames(self, *, timeout: float | None = None) -> AsyncIterator[RemoteFrame]:
        """The frames of all latents that were pushed so far, as each comes; `timeout` is for each."""
        while self.pending > 0:
            yield await self.take(timeout=timeout)

    async def reset(self) -> None:
        """Begins a new clip: frames that were not taken are dropped."""
        self._progress.begin(await self._ask("POST", "/reset"))

    async def describe(self) -> dict[str, Any]:
        """The session's figures."""
        return dict(await self._ask("GET"))

    async def close(self) -> None:
        """Ends the session at the service."""
        for connection in (self._latents, self._frames):
            if connection is not None:
                await connection.close()
        self._latents = self._frames = None
        await self._ask("DELETE")

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _deadline(self, timeout: float | None) -> Deadline:
        return Deadline(self._service.timeout if timeout is None else timeout)

    async def _ask(self, method: str, path: str = "") -> Any:
        return await asyncio.to_thread(self._service.ask, method, self._progress.path + path)

    async def _connect(self, path: str) -> Any:
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake, InvalidStatus
        except ModuleNotFoundError:
            raise ModuleNotFoundError("the client needs the package websockets: pip install "
                                      "'kinetograph[client]'") from None
        try:
            return await connect(**self._service.socket(path))
        except InvalidStatus as refused:
            raise InvalidArgument(_sentence(bytes(refused.response.body or b"")) or str(refused)) from None
        except (InvalidHandshake, asyncio.TimeoutError) as error:
            raise ConnectionError(f"no connection was made: {error}") from None

    async def _confirmed(self, frame: RemoteFrame) -> RemoteFrame:
        """Tells the service that the frame is here. If the connection is lost, the next one begins after it."""
        try:
            await _send(self._frames, self._progress.confirmation)
        except OSError:
            self._frames = None
        return frame

    async def _retry(self, error: OSError, deadline: Deadline) -> None:
        """Waits before another attempt. Raises once there is no time for one."""
        if deadline.left is not None and deadline.left < _RETRY_SECONDS:
            raise ConnectionError(f"{self._service.url} cannot be reached: {error}") from None
        await asyncio.sleep(_RETRY_SECONDS)


async def _send(connection: Any, message: str | bytes) -> None:
    """Raises as _receive() does."""
    from websockets.exceptions import ConnectionClosed
    try:
        await connection.send(message)
    except ConnectionClosed as error:
        raise _lost(error) from None


async def _receive(connection: Any, deadline: Deadline) -> str | bytes:
    """A message. Raises ConnectionError when the connection is lost, InvalidArgument when the service ends it."""
    from websockets.exceptions import ConnectionClosed
    try:
        message: str | bytes = await asyncio.wait_for(connection.recv(), deadline.left)
        return message
    except ConnectionClosed as error:
        raise _lost(error) from None


def _lost(error: Any) -> Exception:
    closing = error.rcvd
    if closing is not None and closing.code in _REFUSALS:
        return InvalidArgument(closing.reason)
    return ConnectionError(str(error))


class Client:
    """A service as `kinetograph serve` makes it.

    url      "http://127.0.0.1:8000"
    token    that the service asks for; None: KINETOGRAPH_TOKEN, if it is set
    timeout  seconds that a call may wait, also for a lost connection to come back

        with kinetograph.Client().open(width=512, height=288) as session:
            for chunk in generator:                  # [C, T, h, w]
                session.push(chunk)
                for frame in session.frames():
                    show(frame.pixels)
    """

    def __init__(self, url: str = "http://127.0.0.1:8000", token: str | None = None, timeout: float = 30.0) -> None:
        self._client, self._loop = AsyncClient(url, token, timeout), _Loop()

    def open(self, width: int, height: int, *, fps: float = 24.0, family: str = "", dtype: str = "uint8",
             paced: bool = False, late: str = "wait") -> Session:
        """As AsyncClient.open()."""
        return Session(self._loop, self._loop.run(self._client.open(width, height, fps=fps, family=family, dtype=dtype,
                                                                    paced=paced, late=late)))

    def play(self, file: str | os.PathLike[str] | bytes) -> dict[str, Any]:
        """Has the service play a latents file (safetensors) again and again; what it says of the session."""
        return self._loop.run(self._client.play(file))

    def describe(self) -> dict[str, Any]:
        """The decoders and the sessions of the service."""
        return self._loop.run(self._client.describe())


class Session:
    """AsyncSession without asyncio: one thread pushes, another one may take frames."""

    def __init__(self, loop: _Loop, session: AsyncSession) -> None:
        self._loop, self._session = loop, session
        self.id, self.state_bytes = session.id, session.state_bytes

    @property
    def pending(self) -> int:
        """How many frames of the latents pushed so far have not been taken."""
        return self._session.pending

    def push(self, latents: Any, *, stamp: str | None = None, begins_clip: bool = False,
             timeout: float | None = None) -> None:
        """As AsyncSession.push()."""
        self._loop.run(self._session.push(latents, stamp=stamp, begins_clip=begins_clip, timeout=timeout))

    def take_inputs(self) -> list[str]:
        """As AsyncSession.take_inputs()."""
        return self._session.take_inputs()

    def take(self, *, timeout: float | None = None) -> RemoteFrame:
        """The next frame. Raises TimeoutError."""
        return self._loop.run(self._session.take(timeout=timeout))

    def frames(self, *, timeout: float | None = None) -> Iterator[RemoteFrame]:
        """The frames of all latents that were pushed so far, as each comes; `timeout` is for each."""
        while self.pending > 0:
            yield self.take(timeout=timeout)

    def reset(self) -> None:
        """Begins a new clip: frames that were not taken are dropped."""
        self._loop.run(self._session.reset())

    def describe(self) -> dict[str, Any]:
        """The session's figures."""
        return self._loop.run(self._session.describe())

    def close(self) -> None:
        """Ends the session at the service."""
        self._loop.run(self._session.close())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Loop:
    """An event loop in a thread of its own, which ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="kinetograph client", daemon=True).start()
        weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise
