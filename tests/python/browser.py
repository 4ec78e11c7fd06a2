"""A headless Chromium, by the Chrome DevTools Protocol."""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from websockets.sync.client import connect

PROGRAM = shutil.which("chromium")
_OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--mute-audio",
            "--autoplay-policy=no-user-gesture-required", "--remote-debugging-port=0"]
_START_SECONDS = 60


class Page:
    """One page of a browser of its own. Messages of its console that are errors are in `errors`."""

    def __init__(self, url, width=1280, height=900):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [PROGRAM, *_OPTIONS, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        port = next(found[1] for line in self._process.stderr
                    if (found := re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)", line)))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        self._end = contextlib.ExitStack()
        self._socket = self._end.enter_context(connect(target["webSocketDebuggerUrl"], max_size=None, compression=None))
        self._calls, self.errors = 0, []
        for domain in ("Runtime", "Page", "Log"):
            self.call(domain + ".enable")
        self.go(url)

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def call(self, method, **parameters):
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=_START_SECONDS))
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(message["params"]["exceptionDetails"])
            elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.errors.append(message["params"]["entry"])
            if message.get("id") == self._calls:
                assert "error" not in message, message
                return message["result"]

    def run(self, expression):
        """The value of an expression of JavaScript, awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True,
                           userGesture=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, expression, seconds=60):
        """Its value, once that is true."""
        until = time.monotonic() + seconds
        while not (value := self.run(expression)):
            assert time.monotonic() < until, f"never true: {expression}; errors: {self.errors}"
            time.sleep(0.05)
        return value

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self):
        """A PNG of what the page shows."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self._end.close()
        self._process.terminate()
        self._process.wait()
        self._process.stderr.close()
        self._folder.cleanup()
