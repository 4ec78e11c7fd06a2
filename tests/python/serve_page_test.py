"""The service's page in a headless Chromium: the picture moves and is the decoder's, buttons work, a lost connection
comes back. KINETOGRAPH_TEST_PICTURES names a folder for the pictures of docs/serve.md."""

import base64
import json
import os
import pathlib
import time

import numpy
import pytest
from conftest import ROOT

for package in ("fastapi", "uvicorn", "websockets", "prometheus_client", "av", "aiortc"):
    pytest.importorskip(package, reason=f"{package} is not installed")

import browser
from serving import Cable, psnr, serving

import kinetograph as kg
from kinetograph import _wire

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason="chromium is not installed")
CLIP = ROOT / "assets" / "orbit.safetensors"
FRAMES = 61
LEAST_PSNR = 29  # dB of H.264 at crf 20, as the browser converts it

# The video's picture as base64 of [height, width, 4], with the index of its frame.
PICTURE = """new Promise((done) => {
  const video = document.querySelector("video");
  video.requestVideoFrameCallback(() => {
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight), context = canvas.getContext("2d");
    context.drawImage(video, 0, 0);
    const index = Number(video.dataset.frame), {data} = context.getImageData(0, 0, canvas.width, canvas.height);
    let text = "";
    for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
    done({index, width: canvas.width, height: canvas.height, pixels: btoa(text)});
  });
})"""


def small(file):
    """The clip's middle, so that two processors decode it in real time: a safetensors file of 256 x 144."""
    clip = _wire.unpack_clip(file.read_bytes())
    latents = numpy.ascontiguousarray(clip.array()[:, :, 9:27, 16:48])
    return _wire.pack("latents", "F16", latents.shape, latents, clip.metadata)


@pytest.fixture(scope="module")
def tiny():
    with kg.Decoder(ROOT / "assets" / "demo_tiny.safetensors", device="cpu") as decoder:
        yield decoder


@pytest.fixture(scope="module")
def wanted(tiny):
    return tiny.decode(_wire.unpack_clip(small(CLIP)).array())


@pytest.fixture
def shown(tiny, request):
    """(service, cable, page), once the clip moves: by WebRTC if that is the fixture's parameter."""
    query = "" if getattr(request, "param", "mp4") == "webrtc" else "?webrtc=0"
    with serving({"taew2.1": tiny}) as (service, port):
        service.open_clip(small(CLIP), keep=True)
        cable = Cable(port)
        page = browser.Page(f"http://127.0.0.1:{cable.port}/{query}")
        try:
            page.wait("document.querySelector('video')?.dataset.frame > 4")
            yield service, cable, page
        finally:
            page.close()
            cable.close()


def picture_of(page):
    found = page.run(PICTURE)
    pixels = numpy.frombuffer(base64.b64decode(found["pixels"]), "uint8")
    return found["index"], pixels.reshape(found["height"], found["width"], 4)[..., :3]


@pytest.mark.parametrize("shown, source", [("mp4", "mp4"), ("webrtc", "webrtc")], indirect=["shown"])
def test_the_picture_moves_and_is_the_decoders(shown, wanted, source):
    _, _, page = shown
    assert page.run("document.querySelector('video').dataset.source") == source
    seen = set()
    while len(seen) < 4:
        index, picture = picture_of(page)
        seen.add(index)
        # The figure may be a frame or two from the picture.
        near = {at: psnr(picture, wanted[at % FRAMES]) for at in range(max(0, index - 2), index + 3)}
        assert max(near.values()) > LEAST_PSNR, near
    assert page.errors == []
    if source == "webrtc":
        return
    save(page, "serve_page.png")
    page.run("document.documentElement.dataset.theme = 'dark'")
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=760, deviceScaleFactor=1, mobile=True)
    assert page.run("document.documentElement.scrollWidth") <= 390
    save(page, "serve_phone.png")


def save(page, name):
    if folder := os.environ.get("KINETOGRAPH_TEST_PICTURES"):
        page.wait("[...document.querySelectorAll('dd')].every((one) => one.textContent !== '–' && one.textContent !== '0.0')")
        time.sleep(2)  # the lanes are full
        (pathlib.Path(folder) / name).write_bytes(page.picture())


def standing_frame(page):
    """The frame that is shown, once it has not changed for a second: those that are on their way arrive first."""
    shown = None
    for _ in range(30):
        if (now := page.run("document.querySelector('video').dataset.frame")) == shown:
            return shown
        shown = now
        time.sleep(1)
    raise AssertionError(f"frames go on: {shown}")


def test_buttons_work(shown):
    service, _, page = shown
    (session,) = service.sessions()
    page.click(".pause")
    page.wait("document.querySelector('.pause').textContent === 'Play'")
    assert session.describe()["paused"]
    stood = standing_frame(page)
    page.click(".pause")
    page.wait(f"Number(document.querySelector('video').dataset.frame) > {stood} + 4")
    page.click(".figures")
    assert page.run("document.querySelector('.overlay').hidden")
    page.click(".figures")
    page.wait("document.querySelector('dl').textContent.includes('latents to picture')")
    downloads = page.run("""(async () => {
      const {save} = await import("/web/api.js"), found = [];
      HTMLAnchorElement.prototype.click = function () { found.push(this.download); };
      document.querySelector(".snapshot").click();
      window.open = () => null;
      document.querySelector(".trace").click();
      while (found.length < 2) await new Promise((done) => setTimeout(done, 20));
      return found;
    })()""")
    assert sorted(name.rpartition(".")[2] for name in downloads) == ["json", "png"]
    page.click(".close")
    page.wait("document.querySelectorAll('.session').length === 0 && !document.getElementById('nothing').hidden")
    assert service.sessions() == [] and page.errors == []


def test_the_overlay_shows_figures_lanes_and_the_dearest_passes(shown):
    service, _, page = shown
    page.wait("document.querySelectorAll('.passes tr').length === 5")
    names = page.run("[...document.querySelectorAll('dt')].map((one) => one.textContent)")
    assert {"frame", "latents to frame", "latents to picture", "step", "queue", "deadlines missed", "session",
            "device"} <= set(names) and names[0].startswith("frames/s of ")
    (session,) = service.sessions()
    rows = page.run("[...document.querySelectorAll('.passes tr')].map((row) => row.cells[0].textContent)")
    assert set(rows) <= {one["name"] for one in session.passes()} and len(set(rows)) == 5
    page.wait("""(() => {  // each lane has had something
      const canvas = document.querySelector(".lanes"), found = (window.found ??= new Set());
      const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) found.add(data.subarray(at, at + 3).join());
      return ["142,142,147", "59,130,246", "245,158,11", "16,185,129"].every((colour) => found.has(colour));
    })()""")


def test_sessions_are_a_grid_and_the_page_is_dark_or_light(shown):
    service, _, page = shown
    service.open_clip(small(CLIP), keep=True)
    page.wait("document.querySelectorAll('.session').length === 2")
    top = "[...document.querySelectorAll('.session')].map((one) => one.getBoundingClientRect().top)"
    assert len(set(page.run(top))) == 1
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=760, deviceScaleFactor=1, mobile=True)
    assert len(set(page.run(top))) == 2 and page.run("document.documentElement.scrollWidth") <= 390
    back = "getComputedStyle(document.body).backgroundColor"
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.run(back) == "rgb(20, 22, 26)"
    page.click("#theme")
    assert page.run(back) == "rgb(246, 246, 244)"
    page.call("Page.reload")
    page.wait("document.readyState === 'complete' && document.querySelectorAll('.session').length === 2")
    assert page.run(back) == "rgb(246, 246, 244)"  # it is remembered
    page.click("#theme")
    assert page.run(back) == "rgb(20, 22, 26)" and page.errors == []


def test_a_lost_connection_comes_back(shown):
    _, cable, page = shown
    for _ in range(2):
        cable.is_cut = True
        cable.cut()
        page.wait("!document.getElementById('message').hidden")
        before = int(page.run("document.querySelector('video').dataset.frame"))
        cable.is_cut = False
        page.wait(f"Number(document.querySelector('video').dataset.frame) > {before} + 10")
        page.wait("document.getElementById('message').hidden && document.querySelector('.state').value === ''")


def test_without_webrtc_the_page_plays_mp4(tiny):
    with serving({"taew2.1": tiny}) as (service, port):
        service.open_clip(small(CLIP), keep=True)
        page = browser.Page(f"http://127.0.0.1:{port}/healthz")
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument",
                      source="RTCPeerConnection.prototype.setRemoteDescription = async () => {};")
            page.go(f"http://127.0.0.1:{port}/")
            page.wait("document.querySelector('video')?.dataset.frame > 4")
            assert page.run("document.querySelector('video').dataset.source") == "mp4"
        finally:
            page.close()


@pytest.mark.parametrize("shown", ["mp4", "webrtc"], indirect=True)
def test_keys_and_the_mouse_go_to_the_generator(shown):
    service, cable, page = shown
    (clip,) = service.sessions()
    service.close(clip)
    latents = _wire.unpack_clip(small(CLIP)).array().copy()
    with kg.Client(f"http://127.0.0.1:{cable.port}").open(256, 144, late="skip") as session:
        for t in range(4):
            session.push(latents[:, t])
        page.wait("document.querySelectorAll('video').length === 1 && document.querySelector('.picture').tabIndex === 0")
        session.push(latents[:, 4])
        page.wait("document.querySelector('video').dataset.source")
        page.run("document.querySelector('.picture').focus()")
        page.call("Input.dispatchKeyEvent", type="keyDown", key="w", text="w")
        page.call("Input.dispatchKeyEvent", type="keyUp", key="w")
        inputs, until = [], time.monotonic() + 20
        while len(inputs) < 2 and time.monotonic() < until:
            session.push(latents[:, 5], stamp="after the keys")
            inputs += [json.loads(text) for text in session.take_inputs()]
            time.sleep(0.1)
    assert [(one["type"], one["key"]) for one in inputs] == [("keydown", "w"), ("keyup", "w")]


def test_a_dropped_file_is_played_and_a_bad_one_is_named(shown):
    service, _, page = shown

    def drop(contents, name):
        page.run(f"""{{
          const transfer = new DataTransfer(), text = atob("{base64.b64encode(contents).decode()}");
          transfer.items.add(new File([Uint8Array.from(text, (one) => one.charCodeAt(0))], "{name}"));
          document.dispatchEvent(new DragEvent("drop", {{dataTransfer: transfer, bubbles: true, cancelable: true}}));
        }}""")

    drop(small(CLIP)[:200], "bad.safetensors")
    assert "bad.safetensors: latents [16, 16, 18, 32] of F16 are 294912 bytes" in page.wait(
        "document.getElementById('message').textContent")
    drop(small(CLIP), "good.safetensors")
    page.wait("document.querySelectorAll('video').length === 2 && document.querySelectorAll('video')[1].dataset.frame > 4")
    assert len(service.sessions()) == 2


def test_a_service_with_a_token_asks_for_it(tiny):
    with serving({"taew2.1": tiny}, token="s3cret") as (service, port):
        service.open_clip(small(CLIP), keep=True)
        page = browser.Page(f"http://127.0.0.1:{port}/")
        try:
            page.wait("!document.getElementById('login').hidden")
            page.run("document.querySelector('[name=token]').value = 's3cret'")
            page.run("document.getElementById('login').requestSubmit()")
            page.wait("document.querySelector('video')?.dataset.frame > 4")
        finally:
            page.close()
