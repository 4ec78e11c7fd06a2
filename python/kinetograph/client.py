"""Client: streams of a decoder that `kinetograph serve` holds, in another process or on another machine.

Needs the package websockets: the extra kinetograph[client], or kinetograph[serve].
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
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


class _Moved(Exception):
    """The session goes on in another replica: as `to`, or under a name that is not known yet."""

    def __init__(self, to: str | None) -> None:
        super().__init__(to)
        self.to = to


def _raise_refusal(answer: Any) -> None:
    if "moved" in answer:
        raise _Moved(answer["moved"])
    if "error" in answer:
        raise InvalidArgument(answer["error"])


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
            body = error.read()
            if error.code in (308, 503):
                with contextlib.suppress(ValueError, TypeError):
                    _raise_refusal({key: value for key, value in json.loads(body).items() if key == "moved"})
            raise InvalidArgument(_sentence(body) or f"{self.url} answers {error.code}") from None
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
        self.messages: collections.deque[_Message] = collections.deque()  # that may have to be sent again
        self.sequence = self.sent = 0  # of the next latent frame; of the next one that this connection has not carried
        self.confirmed = 0  # the first one that the service does not have
        self.inputs: list[str] = []
        self.room_end = 0  # the first one that there is no room for
        self.position = self.expected = 0  # the next frame; the one after the last that was asked for
        self.clip = 0
        self.begins = not opened.get("continues", False)

    @property
    def path(self) -> str:
        return f"/sessions/{self.id}"

    @property
    def frames_path(self) -> str:
        return f"{self.path}/frames?encoding=raw&late=wait&begin={self.position}"

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed >= self.sequence

    def add(self, latents: Any, stamp: str | None, begins_clip: bool) -> None:
        """Messages of one latent frame each."""
        found = Latents.of(latents)
        channels, _, height, width = found.shape
        for frame in found.frames:
            facts = {"sequence": self.sequence, "stamp": stamp, "begins_clip": 1 if begins_clip else None}
            data = pack(LATENTS, _SAFETENSORS[found.dtype], (channels, 1, height, width), frame, facts)
            begins = self.begins or begins_clip
            frames = 1 if begins else int(self.opened["frames_per_latent"])
            self.messages.append(_Message(self.sequence, data, frames, begins))
            self.expected += frames
            self.sequence += 1
            self.begins = begins_clip = False

    def forget(self) -> None:
        """Drops the latents that the service does not have: it has refused one."""
        while self.messages and self.messages[-1].number >= self.confirmed:
            message = self.messages.pop()
            self.sequence, self.begins = message.number, message.begins
            self.expected -= message.frames

    def unsent(self) -> Iterator[bytes]:
        """Those that there is room for."""
        for message in list(self.messages):
            if self.sent <= message.number < self.room_end:
                yield message.data
                self.sent = message.number + 1

    def connected(self) -> None:
        """After the first answer of a new connection: what the service has is not sent again."""
        self.sent = self.confirmed

    def follow(self, name: str) -> None:
        """The session has another name now, and may lack latents that it had."""
        if name != self.id:
            self.id = name
            self.confirmed = self.messages[0].number if self.messages else self.sequence

    def confirm(self, text: str | bytes) -> None:
        answer = json.loads(text)
        _raise_refusal(answer)
        if "input" in answer:
            self.inputs.append(answer["input"])
            return
        self.confirmed = answer["next"]  # of a session that was rebuilt it goes back
        self.room_end = answer["next"] + answer["room"]
        while self.messages and self.messages[0].number < answer.get("stored", answer["next"]):
            self.messages.popleft()

    def frame(self, message: str | bytes) -> RemoteFrame | None:
        """None: one that came before, or is of a clip before a reset."""
        if isinstance(message, str):
            _raise_refusal(json.loads(message))
            return None
        frame = RemoteFrame(message)
        if frame.index < self.position or frame.clip < self.clip:
            return None
        self.position = frame.index + 1
        return frame

    def begin(self, answer: dict[str, Any]) -> None:
        """After a reset."""
        self.clip, self.begins = answer["clip"], True
        self.position = self.expected = answer["next_frame"]
        self.messages.clear()

    @property
    def confirmation(self) -> str:
        return json.dumps({"next": self.position})


class AsyncClient:
    """Client for asyncio; its methods and those of its sessions are coroutines."""

    def __init__(self, url: str = "http://127.0.0.1:8000", token: str | None = None, timeout: float = 30.0) -> None:
        self._service = _Service(url, token or os.environ.get("KINETOGRAPH_TOKEN"), timeout)

    async def open(self, width: int, height: int, *, fps: float = 24.0, family: str = "", dtype: str = "uint8",
                   paced: bool = False, late: str = "wait", rebuild: bool = False) -> AsyncSession:
        """A session for frames of that size. `paced`: they come no faster than `fps`. When frames are not taken, the
        decoder waits, or with late="skip" the oldest are dropped: those of a session that only pages show. `rebuild`: if
        its replica in a fleet dies, it comes back from the state that was stored last and the latents since, which this
        client keeps."""
        opening = {"width": width, "height": height, "fps": fps, "family": family, "dtype": dtype, "paced": paced,
                   "late": late, "rebuild": rebuild}
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
        self._latents_of = ""  # the session's name when that connection was made
        self._frames: Any = None
        self._sending = asyncio.Lock()  # held by the task that uses the connection of the latents
        self._resending: asyncio.Future[None] | None = None

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
        self._progress.add(latents, stamp, begins_clip)
        await self._send_latents(self._deadline(timeout))

    async def _send_latents(self, deadline: Deadline) -> None:
        """Until the service has all of them."""
        progress = self._progress
        async with self._sending:
            while not progress.is_confirmed:
                try:
                    if self._latents is None or self._latents_of != progress.id:  # what it says is of what it was
                        self._latents_of = progress.id
                        self._latents = await self._connect(progress.path + "/latents")
                        progress.room_end = -1
                        while progress.room_end < 0:  # inputs may come before
                            progress.confirm(await _receive(self._latents, deadline))
                        progress.connected()
                    for message in progress.unsent():
                        await _send(self._latents, message)
                    if not progress.is_confirmed:
                        progress.confirm(await _receive(self._latents, deadline))
                except asyncio.TimeoutError:
                    raise TimeoutError(f"the service had no room for the latents within {deadline.timeout} s: take "
                                       "frames() before more of them") from None
                except OSError as error:
                    self._latents = None
                    await self._retry(error, deadline)
                except _Moved as moved:
                    self._latents = None
                    await self._follow(moved, deadline)
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
            if self._resending is not None and self._resending.done():
                resent, self._resending = self._resending, None
                resent.result()
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
            except _Moved as moved:
                self._frames = None
                await self._follow(moved, deadline)
                if not progress.is_confirmed and self._resending is None:  # while frames are taken: they make room
                    self._resending = asyncio.ensure_future(self._send_latents(deadline))

    async def frames(self, *, timeout: float | None = None) -> AsyncIterator[RemoteFrame]:
        """The frames of all latents that were pushed so far, as each comes; `timeout` is for each."""
        while self.pending > 0:
            yield await self.take(timeout=timeout)

    async def reset(self) -> None:
        """Begins a new clip: frames that were not taken are dropped."""
        self._progress.begin(await self._ask("POST", "/reset"))

    async def fork(self) -> AsyncSession:
        """A second session that continues from this one's state after the latents pushed so far. Frames that were not
        taken stay this one's, and must be read meanwhile."""
        return AsyncSession(self._service, await self._ask("POST", "/fork"))

    async def describe(self) -> dict[str, Any]:
        """The session's figures."""
        return dict(await self._ask("GET"))

    async def close(self) -> None:
        """Ends the session at the service."""
        if self._resending is not None:
            self._resending.cancel()
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
        deadline = self._deadline(None)
        while True:
            try:
                return await asyncio.to_thread(self._service.ask, method, self._progress.path + path)
            except _Moved as moved:
                await self._follow(moved, deadline)

    async def _follow(self, moved: _Moved, deadline: Deadline) -> None:
        if moved.to is None:
            await self._retry(ConnectionError("the session is on its way to another replica"), deadline)
        else:
            self._progress.follow(moved.to)

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
             paced: bool = False, late: str = "wait", rebuild: bool = False) -> Session:
        """As AsyncClient.open()."""
        return Session(self._loop, self._loop.run(self._client.open(width, height, fps=fps, family=family, dtype=dtype,
                                                                    paced=paced, late=late, rebuild=rebuild)))

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
        self.state_bytes = session.state_bytes

    @property
    def id(self) -> str:
        return self._session.id

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

    def fork(self) -> Session:
        """As AsyncSession.fork()."""
        return Session(self._loop, self._loop.run(self._session.fork()))

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
