"""Who may ask: the token, the page's own origin, and how much a request may hold. A layer of ASGI around the app."""

from __future__ import annotations

import json
from typing import Any, Awaitable, Callable, MutableMapping
from urllib.parse import urlsplit

from .service import Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SUBPROTOCOL = "kinetograph"
_TOKEN = "token."  # before the token, as a browser's WebSocket gives it: a subprotocol, which no log has
_OPEN_PATHS = ("/", "/healthz", "/readyz")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"), (b"x-frame-options", b"DENY")]


class _TooLarge(Exception):
    pass


class Access:
    """Refuses what another site's page sends, what names another host on loopback, what has no token, and bodies beyond
    the limits."""

    def __init__(self, app: App, service: Service, on_loopback: bool) -> None:
        self._app, self._service, self._on_loopback = app, service, on_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refusal = self._refusal(scope)
        if refusal is not None:
            return await _refuse(scope, send, *refusal)
        if scope["type"] == "websocket":
            return await self._app(scope, receive, send)
        try:
            await self._app(scope, self._bounded(scope, receive), _with_headers(send))
        except _TooLarge:
            await _refuse(scope, send, 413, f"the request has more than {self._most(scope)} bytes")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._on_loopback and _name_of(host) not in _LOOPBACK:
            return 421, "the service is this machine's own: its address is 127.0.0.1 or localhost"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "pages of other sites may not use this service"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            return 413, f"the request has more than {self._most(scope)} bytes"
        is_open = scope["path"] in _OPEN_PATHS or scope["path"].startswith("/web/")
        if not is_open and not self._service.admits(_token_of(headers)):
            return 401, "the service asks for its token"
        return None

    def _most(self, scope: Scope) -> int:
        limits = self._service.limits
        return limits.clip_bytes if scope["path"] == "/clips" else limits.body_bytes

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        left = self._most(scope)

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise _TooLarge
            return message

        return bounded


def _name_of(host: str) -> str:
    """Without the port."""
    return host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host


def _token_of(headers: dict[str, str]) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    for protocol in headers.get("sec-websocket-protocol", "").split(","):
        if protocol.strip().startswith(_TOKEN):
            return protocol.strip()[len(_TOKEN):]
    return None


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return sending


async def _refuse(scope: Scope, send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        return await send({"type": "websocket.close", "code": 1008, "reason": sentence})
    kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    await send({"type": kind + ".start", "status": status, "headers": headers})
    await send({"type": kind + ".body", "body": body})
