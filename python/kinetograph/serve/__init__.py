"""Streams of a decoder as a service: REST and WebSockets, a web page, metrics.

    python -m kinetograph serve --weights vae.safetensors

`create_app(Service(...))` is the same as an ASGI application. Needs the extra kinetograph[serve]. docs/serve.md.
"""

from .app import create_app
from .limits import Limits
from .service import Service

__all__ = ["Limits", "Service", "create_app"]
