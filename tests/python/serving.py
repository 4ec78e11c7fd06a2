"""A service on a port of its own, and a cable to it that can be cut."""

import contextlib
import socket
import threading
import time

import numpy
import uvicorn

import kinetograph as kg
from kinetograph.serve import Limits, Service, command


@contextlib.contextmanager
def serving(decoders, limits=Limits(), token=None, ssl_certfile=None, ssl_keyfile=None, **options):
    """(service, port)"""
    service = Service(decoders, limits, token, **options)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(command.server_config(service, "127.0.0.1", port, ssl_certfile=ssl_certfile,
                                                  ssl_keyfile=ssl_keyfile))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield service, port
    finally:
        server.should_exit = True
        thread.join()


class Cable:
    """Forwards connections to a port; cut() ends all of them. While `is_cut` is set new ones end at once, while `is_deaf`
    is set nothing answers them."""

    def __init__(self, port):
        self._to, self._pairs, self.is_cut, self.is_deaf = port, [], False, False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            if self.is_deaf:
                self._pairs.append((near, near))
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    @staticmethod
    def _forward(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self):
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()
        self.cut()


def psnr(found, wanted):
    """dB, of uint8."""
    error = numpy.square(found.astype("float64") - wanted).mean()
    return 10 * numpy.log10(255**2 / error) if error > 0 else 100.0
