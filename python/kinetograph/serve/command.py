"""python -m kinetograph serve"""

from __future__ import annotations

import argparse
import ipaddress
import json
import logging
import os
import pathlib
import sys
import time
from typing import Any

import uvicorn

from .._library import InvalidArgument
from ..decoder import Decoder, family_of
from .app import create_app
from .limits import Limits
from .service import Service

log = logging.getLogger("kinetograph.serve")


def run(arguments: list[str], assets: pathlib.Path) -> int:
    """Serves until it is interrupted. Raises Error for what cannot be served."""
    options = _parse(arguments)
    token = options.token or os.environ.get("KINETOGRAPH_TOKEN")
    on_loopback = _is_loopback(options.host)
    if not on_loopback and not token:
        raise InvalidArgument(f"{options.host} can be reached from other machines: set KINETOGRAPH_TOKEN to a secret "
                              "that requests must have")
    if (options.tls_certificate is None) != (options.tls_key is None):
        raise InvalidArgument("--tls-certificate and --tls-key come together")
    _log_as_json()
    weights = options.weights or ([assets / "demo_tiny.safetensors"] if options.demo else [])
    if not weights:
        raise InvalidArgument("give --weights FILE, or --demo for the bundled decoder and clip")
    limits = Limits(sessions=options.sessions, idle_seconds=options.idle_seconds)
    service = Service({family_of(path): Decoder(path, device=options.device, precision=options.precision,
                                                    sums=options.sums)
                       for path in weights}, limits, token)
    clips = [*options.clip, *([assets / "orbit.safetensors"] if options.demo else [])]
    for clip in clips:
        try:
            service.open_clip(clip.read_bytes(), keep=True)
        except OSError as error:
            raise InvalidArgument(f"{clip}: {error.strerror}") from None
    return _serve(service, options, on_loopback and not token)


def _serve(service: Service, options: argparse.Namespace, only_this_machine: bool) -> int:
    server = uvicorn.Server(server_config(service, options.host, options.port, only_this_machine,
                                          ssl_certfile=options.tls_certificate, ssl_keyfile=options.tls_key))
    scheme = "https" if options.tls_certificate else "http"
    log.info("serving", extra={"facts": {"url": f"{scheme}://{options.host}:{options.port}/",
                                         "decoders": list(service.decoders)}})
    try:
        server.run()
    finally:
        service.close_all()
    return 0 if server.started else 1


def server_config(service: Service, host: str, port: int, only_this_machine: bool = True,
                  **more: Any) -> uvicorn.Config:
    """Of a server that holds the service's limits; `more` are other members of uvicorn.Config."""
    limits = service.limits
    return uvicorn.Config(create_app(service, only_this_machine), host=host, port=port, log_config=None,
                          access_log=False, server_header=False, proxy_headers=False, ws_max_size=limits.message_bytes,
                          ws_max_queue=2, ws_per_message_deflate=False,
                          limit_concurrency=64 + limits.sessions * (limits.readers + 2), timeout_graceful_shutdown=5,
                          **more)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("kinetograph serve", description="Serves streams of a decoder, and a page that "
                                     "shows them. docs/serve.md.")
    add: Any = parser.add_argument
    add("--demo", action="store_true", help="the bundled clip; without --weights by the bundled tiny decoder")
    add("--weights", action="append", metavar="FILE", help="a checkpoint; several, of different families, are served")
    add("--clip", action="append", default=[], type=pathlib.Path, metavar="FILE",
        help="latents (safetensors) that are played again and again")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, hip (default: a GPU if one can decode)")
    add("--precision", default="bf16", choices=("bf16", "fp16", "fp32"))
    add("--sums", default="exact", choices=("exact", "fast", "int8"), help="how convolutions add (default: exact)")
    add("--host", default="127.0.0.1", help="the address to listen on; another than loopback needs a token")
    add("--port", type=int, default=8000)
    add("--token", help="that requests must have; better in KINETOGRAPH_TOKEN, which other users cannot read")
    add("--tls-certificate", metavar="FILE")
    add("--tls-key", metavar="FILE")
    add("--sessions", type=int, default=Limits.sessions, help=f"at most (default: {Limits.sessions})")
    add("--idle-seconds", type=float, default=Limits.idle_seconds,
        help=f"without a connection, after which a session ends (default: {Limits.idle_seconds:g})")
    return parser.parse_args(arguments)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class _Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
                 "level": record.levelname.lower(), "event": record.getMessage(), **getattr(record, "facts", {})}
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return json.dumps(facts)


def _log_as_json() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json())
    for name, level in (("kinetograph.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
