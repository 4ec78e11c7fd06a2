"""The routes: REST for sessions, WebSockets for latents and frames, metrics, health, and the page."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from typing import Annotated, Any, AsyncIterator, Literal

from fastapi import Depends, FastAPI, Query, Request, Response, WebSocket
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from .. import _library
from . import metrics
from .access import Access, App
from .encoders import still
from .limits import Moved, Refused
from .service import Service
from .saved import Format
from .session import Session
from .sockets import give_frames, take_latents

try:
    from . import whep
except ModuleNotFoundError:  # aiortc is not installed: pages play fragmented MP4
    whep = None  # type: ignore[assignment]

_WEB = pathlib.Path(__file__).parent / "web"
_IDLE_CHECK_SECONDS = 5.0
_PAGE_POLICY = ("default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' ws: wss:; "
                "frame-ancestors 'none'; base-uri 'none'; form-action 'none'")


class Opening(BaseModel):
    """What a session is opened with."""
    model_config = ConfigDict(extra="forbid")
    width: int = Field(ge=1, le=1 << 16, description="of a frame, in pixels")
    height: int = Field(ge=1, le=1 << 16)
    fps: float = Field(24, gt=0, le=1000, description="frames a second of the video")
    family: str = Field("", max_length=64, description="of the decoder; empty: the first one's")
    dtype: Literal["uint8", "float16", "float32"] = "uint8"
    paced: bool = Field(False, description="whether frames come no faster than fps")
    late: Literal["wait", "skip"] = Field("wait", description="when frames are not read: the decoder waits, or "
                                                              "the oldest are dropped")
    rebuild: bool = Field(False, description="whether the session comes back when its replica dies; in a fleet")


def create_app(service: Service, on_loopback: bool = True) -> App:
    """The ASGI application of a service. `on_loopback`: requests that name another host than this machine are
    refused."""
    viewers = None if whep is None else whep.Viewers()
    app = FastAPI(title="Kinetograph", lifespan=lambda _: _lifetime(service, viewers), redoc_url=None,
                  description="Streams of video-VAE latents into frames. docs/serve.md describes the WebSockets.")
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(_library.Error, _failed)
    _add_sessions(app, service)
    _add_pictures(app, service)
    _add_sockets(app, service)
    if viewers is not None:
        _add_webrtc(app, service, viewers)
    _add_health(app, service)
    _add_page(app)
    return Access(app, service, on_loopback)


@contextlib.asynccontextmanager
async def _lifetime(service: Service, viewers: whep.Viewers | None) -> AsyncIterator[None]:
    async def close_idle() -> None:
        while True:
            await asyncio.sleep(min(_IDLE_CHECK_SECONDS, service.limits.idle_seconds / 2))
            await asyncio.to_thread(service.close_idle)

    closing = asyncio.ensure_future(close_idle())
    yield
    closing.cancel()
    if viewers is not None:
        await viewers.close()
    await asyncio.to_thread(service.close_all)


async def _refused(_: Request, error: Exception) -> Response:
    more = {"moved": error.to} if isinstance(error, Moved) else {}
    return JSONResponse({"error": str(error), **more}, getattr(error, "status", 422))


async def _failed(_: Request, error: Exception) -> Response:
    status = 422 if isinstance(error, _library.InvalidArgument) else 503
    return JSONResponse({"error": str(error)}, status)


def _add_sessions(app: FastAPI, service: Service) -> None:
    session_of = _finder(service)

    @app.get("/sessions")
    async def list_sessions() -> dict[str, Any]:
        """The decoders, and every session with its figures; whether they are shown by WebRTC as well."""
        return {**await asyncio.to_thread(service.describe), "webrtc": whep is not None}

    @app.post("/sessions", status_code=201)
    async def open_session(opening: Opening) -> dict[str, Any]:
        """Opens a session; the answer says how many bytes of the device it takes."""
        session = await asyncio.to_thread(service.open, Format(**opening.model_dump()))
        return await asyncio.to_thread(session.describe)

    @app.post("/clips", status_code=201)
    async def play_clip(request: Request, family: Annotated[str, Query(max_length=64)] = "",
                        fps: Annotated[float | None, Query(gt=0, le=1000)] = None) -> dict[str, Any]:
        """Plays the latents of a safetensors file, which is the request's body, again and again. It stays in memory."""
        session = await asyncio.to_thread(service.open_clip, await request.body(), family, fps)
        return await asyncio.to_thread(session.describe)

    @app.get("/sessions/{number}")
    async def describe_session(session: Session = Depends(session_of)) -> dict[str, Any]:
        return await asyncio.to_thread(session.describe)

    @app.delete("/sessions/{number}", status_code=204)
    async def close_session(session: Session = Depends(session_of)) -> None:
        await asyncio.to_thread(service.close, session)

    @app.post("/sessions/{number}/reset")
    async def reset_session(session: Session = Depends(session_of)) -> dict[str, int]:
        """Drops what was not shown. The next latents begin a clip; its number and that of its first frame are
        answered."""
        return await asyncio.to_thread(session.reset)

    @app.post("/sessions/{number}/fork", status_code=201)
    async def fork_session(session: Session = Depends(session_of)) -> dict[str, Any]:
        """Opens a second session that goes on where this one is after the latents taken so far; it numbers its messages
        and frames from 0."""
        fork = await asyncio.to_thread(service.fork, session)
        return await asyncio.to_thread(fork.describe)

    @app.post("/sessions/{number}/pause", status_code=204)
    async def pause_session(session: Session = Depends(session_of)) -> None:
        session.pause(True)

    @app.post("/sessions/{number}/play", status_code=204)
    async def play_session(session: Session = Depends(session_of)) -> None:
        session.pause(False)


def _finder(service: Service) -> Any:
    """What a route has as its session, by the name in the path."""
    async def session_of(number: str) -> Session:
        return await asyncio.to_thread(service.session, number)

    return session_of


def _add_pictures(app: FastAPI, service: Service) -> None:
    session_of = _finder(service)

    @app.get("/sessions/{number}/snapshot", response_class=Response)
    async def take_snapshot(session: Session = Depends(session_of)) -> Response:
        """The newest frame as a PNG; the header Kinetograph-Frame has its index."""
        frame = session.newest
        if frame is None:
            raise Refused("the session has no frame yet", 409)
        data = await asyncio.to_thread(still, frame.pixels, "png", "rgb24")
        return Response(data, media_type="image/png", headers={"kinetograph-frame": str(frame.index)})

    @app.get("/sessions/{number}/trace")
    async def take_trace(session: Session = Depends(session_of),
                         seconds: Annotated[float, Query(gt=0, le=3600)] = 60) -> dict[str, Any]:
        """What the session did in the last seconds, for Perfetto."""
        return session.spans.trace(session.id, seconds)

    @app.get("/sessions/{number}/passes")
    async def list_passes(session: Session = Depends(session_of),
                          most: Annotated[int, Query(ge=1, le=1000)] = 10) -> list[dict[str, Any]]:
        """The decoder's passes that took the largest shares of its time lately."""
        return (await asyncio.to_thread(session.passes))[:most]


def _add_sockets(app: FastAPI, service: Service) -> None:
    @app.websocket("/sessions/{number}/latents")
    async def latents(socket: WebSocket, number: str) -> None:
        await take_latents(socket, service, number)

    @app.websocket("/sessions/{number}/frames")
    async def frames(socket: WebSocket, number: str, encoding: str = "raw", late: str = "wait",
                     begin: Annotated[int | None, Query(ge=0)] = None) -> None:
        await give_frames(socket, service, number, encoding, late, begin)


def _add_webrtc(app: FastAPI, service: Service, viewers: whep.Viewers) -> None:
    @app.post("/sessions/{number}/whep", status_code=201, response_class=Response)
    async def watch(request: Request, session: Session = Depends(_finder(service))) -> Response:
        """WHEP: an offer in SDP, answered with one. DELETE of the answer's Location ends the connection."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/sdp":
            raise Refused("an offer is of the type application/sdp", 415)
        name, answer = await viewers.answer(session, (await request.body()).decode(errors="replace"))
        return Response(answer, 201, {"location": f"/sessions/{session.id}/whep/{name}"}, "application/sdp")

    @app.delete("/sessions/{number}/whep/{name}", status_code=204)
    async def stop_watching(number: str, name: str) -> None:
        viewers.end(name)


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/healthz")
    async def is_alive() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def is_ready() -> JSONResponse:
        """Whether sessions can be opened; 503 with the reason if not."""
        ready, sentence = await asyncio.to_thread(service.situation)
        return JSONResponse({"ready": ready, "situation": sentence}, 200 if ready else 503)

    @app.get("/metrics", response_class=Response)
    async def show_metrics() -> Response:
        return Response(service.metrics.page(), media_type=metrics.CONTENT_TYPE)


def _add_page(app: FastAPI) -> None:
    app.mount("/web", StaticFiles(directory=_WEB))

    @app.get("/", include_in_schema=False)
    async def show_page() -> FileResponse:
        return FileResponse(_WEB / "index.html", headers={"content-security-policy": _PAGE_POLICY})
