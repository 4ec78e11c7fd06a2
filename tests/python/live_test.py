"""python/kinetograph/live.py and preview.py: the bytes on the wire, credits, viewers that go, and the real viewer."""
import array
import contextlib
import io
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if "kinetograph" not in sys.modules:  # the two modules without the package's library, which they do not use
    PACKAGE = types.ModuleType("kinetograph")
    PACKAGE.__path__ = [str(ROOT / "python" / "kinetograph")]
    sys.modules["kinetograph"] = PACKAGE
from kinetograph import live, preview  # noqa: E402

PROGRAM = os.environ.get("KINETOGRAPH_PROGRAM")
SMALL = {"channels": 16, "height": 1, "width": 2}


def small(count=1, dtype="float32"):
    """Latent frames of 16 x 1 x 2 values whose bytes say where they belong."""
    size = live.DTYPES[dtype][1]
    return live.Latents((16, count, 1, 2), dtype, bytes(i % 61 for i in range(16 * count * 2 * size)))


class Bytes(unittest.TestCase):
    def test_are_those_of_the_document(self):
        out = io.BytesIO()
        writer = live.Writer(out)
        writer.start(channels=16, height=90, width=160, dtype="float16", family="wan2.1", fps=16.0, name="orbit")
        writer.end()
        data = out.getvalue()
        self.assertEqual(data[:16], b"KGLV" + struct.pack("<IQ", 112, 0))
        self.assertEqual(struct.unpack_from("<5I", data, 16), (1, 16, 90, 160, 2))
        self.assertEqual(data[36:56], b"wan2.1" + bytes(14))
        self.assertEqual(struct.unpack_from("<d", data, 56)[0], 16.0)
        self.assertEqual(data[64:128], b"orbit" + bytes(59))
        self.assertEqual(data[128:], b"DONE" + struct.pack("<IQ", 0, 0))

    def test_count_streams_and_chunks(self):
        out = io.BytesIO()
        writer = live.Writer(out)
        for _ in range(2):
            writer.start(**SMALL)
            writer.send(small())
            writer.reset()
            writer.send(small(3))
        writer.end()
        records, data = [], out.getvalue()
        while data:
            tag, length, number = struct.unpack_from("<4sIQ", data)
            records.append((tag.decode(), length, number))
            data = data[16 + length:]
        stream = [("CHNK", 128, 0), ("RSET", 0, 1), ("CHNK", 384, 1), ("DONE", 0, 2)]
        self.assertEqual(records, [("KGLV", 112, 0), *stream, ("KGLV", 112, 1), *stream])

    def test_of_several_frames_are_frame_after_frame(self):
        plane = 4 * 2
        latents = small(3)
        data = bytes(i % 61 for i in range(16 * 3 * plane))
        for frame in range(3):
            for channel in range(16):
                self.assertEqual(latents.frames[frame][channel * plane:(channel + 1) * plane],
                                 data[(channel * 3 + frame) * plane:(channel * 3 + frame + 1) * plane])

    def test_of_latents_that_are_none_are_refused(self):
        writer = live.Writer(io.BytesIO())
        writer.start(**SMALL)
        for wrong, kind, sentence in [("abc", TypeError, "latents are a str, wanted a torch tensor"),
                                      (array.array("d", [1.0]), TypeError, "latents are of format 'd'"),
                                      (array.array("f", [1.0]), ValueError, "the shape [1], wanted [C, T, h, w]")]:
            with self.assertRaisesRegex(kind, sentence.replace("[", r"\[").replace("]", r"\]")):
                writer.send(wrong)
        with self.assertRaisesRegex(ValueError, "the stream is"):
            writer.send(small(dtype="float16"))
        with self.assertRaisesRegex(ValueError, "batch|wanted"):
            live.Latents((2, 16, 1, 1, 2), "float32", bytes(256))

    def test_of_a_torch_tensor_are_its_values(self):
        class Tensor:
            """What live.py asks of torch.Tensor."""
            def __init__(self, values, shape, dtype):
                self.values, self.shape, self.dtype = values, shape, dtype

            def detach(self): return self
            def to(self, _): return self
            def contiguous(self): return self
            def data_ptr(self): return self.values.buffer_info()[0]
            def numel(self): return len(self.values)
            def element_size(self): return self.values.itemsize
        values = array.array("H", range(32))
        latents = live.Latents.of(Tensor(values, (1, 16, 1, 1, 2), "torch.bfloat16"))
        self.assertEqual((latents.shape, latents.dtype), ((16, 1, 1, 2), "bfloat16"))
        self.assertEqual(latents.frames, [values.tobytes()])


class FakeViewer:
    """The other end of a Writer's socket."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        self.writer, self.socket = live.Writer(ours), theirs

    def reply(self, tag, number=0, payload=b""):
        self.socket.sendall(struct.pack("<4sIQ", tag, len(payload), number) + payload)

    def close(self):
        self.writer.close()
        self.socket.close()


class Credits(unittest.TestCase):
    def setUp(self):
        self.viewer = FakeViewer()
        self.addCleanup(self.viewer.close)
        self.viewer.writer.start(**SMALL)

    def test_bound_what_is_sent(self):
        self.viewer.reply(b"CRDT", 2)
        self.assertEqual(self.viewer.writer.send(small(5), timeout=0.01), 2)
        self.viewer.reply(b"CRDT", 4)
        self.viewer.reply(b"CRDT", 3)  # late, and no longer true
        self.assertEqual(self.viewer.writer.send(small(5), timeout=0.01), 2)
        self.assertEqual(self.viewer.writer.send(small(5), timeout=0.01), 0)

    def test_are_waited_for(self):
        sent = []
        thread = threading.Thread(target=lambda: sent.append(self.viewer.writer.send(small(3))))
        thread.start()
        for granted in (1, 2, 3):
            self.viewer.reply(b"CRDT", granted)
        thread.join()
        self.assertEqual(sent, [3])

    def test_may_arrive_byte_by_byte(self):
        for byte in struct.pack("<4sIQ", b"CRDT", 0, 1):
            self.viewer.socket.sendall(bytes([byte]))
        self.assertEqual(self.viewer.writer.send(small()), 1)

    def test_end_with_the_viewers_sentence(self):
        self.viewer.reply(b"FAIL", 0, "stream 0: channels: 48 – no".encode())
        with self.assertRaisesRegex(live.Refused, "stream 0: channels: 48 – no"):
            self.viewer.writer.send(small())

    def test_end_with_the_viewer(self):
        self.viewer.socket.close()
        with self.assertRaises(ConnectionError):
            self.viewer.writer.send(small())

    def test_that_are_not_kept_end_in_time(self):
        large = live.Latents((16, 1, 128, 128), "float32", bytes(1 << 20))  # more than a socket holds
        self.viewer.writer.start(channels=16, height=128, width=128)
        self.viewer.reply(b"CRDT", 1)
        with unittest.mock.patch.object(live, "STALL_SECONDS", 0.02):
            with self.assertRaisesRegex(ConnectionError, "has not read a chunk within 0.02 s, for which it had room"):
                self.viewer.writer.send(large, timeout=0.01)
        with self.assertRaises(OSError):
            self.viewer.writer.send(large, timeout=0.01)

    def test_of_something_else_are_refused(self):
        self.viewer.socket.sendall(b"HTTP/1.1 400 Bad")
        with self.assertRaisesRegex(ConnectionError, "no viewer of live latents"):
            self.viewer.writer.send(small())


class BrokenReplies(unittest.TestCase):
    def test_end_with_a_connection_error_or_not_at_all(self):
        """Replies with bytes changed, lost and repeated, cut anywhere."""
        whole = b"".join(struct.pack("<4sIQ", tag, len(text), number) + text
                         for tag, number, text in [(b"CRDT", 1, b""), (b"CRDT", 2, b""), (b"FAIL", 0, b"no room")])
        sent = refused = broken = 0
        for seed in range(300):
            random_ = random.Random(seed)
            replies = bytearray(whole)
            for _ in range(random_.randrange(3)):
                at = random_.randrange(len(replies))
                replies[at:at + random_.randrange(3)] = random_.randbytes(random_.randrange(3))
            viewer = FakeViewer()
            viewer.writer.start(**SMALL)
            viewer.socket.sendall(replies[:random_.randrange(len(replies) + 1)])
            viewer.socket.shutdown(socket.SHUT_WR)
            try:
                sent += viewer.writer.send(small(3), timeout=0)
            except live.Refused:
                refused += 1
            except ConnectionError:
                broken += 1
            viewer.close()
        self.assertTrue(refused > 0 and broken > 0, (sent, refused, broken))


@contextlib.contextmanager
def expected_warning(test, sentence):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    test.assertEqual(len(caught), 1, [str(warning.message) for warning in caught])
    test.assertRegex(str(caught[0].message), sentence)


class PreviewsOfPrograms(unittest.TestCase):
    """Programs that stand in for `kinetograph view`."""

    def program(self, body):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "viewer"
        path.write_text(f"#!{sys.executable}\nimport socket, struct, sys\n"
                        "server = socket.socket(socket.AF_UNIX)\n"
                        "def accept():\n"
                        "    server.bind(sys.argv[2].removeprefix('unix:'))\n    server.listen()\n"
                        "    return server.accept()[0]\n" + body)
        path.chmod(0o755)
        return path

    def open(self, body):
        opened = preview.Preview("vae.safetensors", program=self.program(body))
        self.addCleanup(opened.close)
        return opened

    def test_that_end_before_they_listen_give_their_last_message(self):
        with self.assertRaisesRegex(RuntimeError, "does not listen: kinetograph: error: no such checkpoint"):
            self.open("sys.exit('kinetograph: error: no such checkpoint')\n")

    def test_that_crash_are_warned_of_once_and_the_pipeline_goes_on(self):
        opened = self.open("import os\nconnection = accept()\n"
                           "connection.sendall(struct.pack('<4sIQ', b'CRDT', 0, 1))\nconnection.recv(16)\nos.abort()\n")
        with expected_warning(self, "the viewer has gone: it said nothing; nothing more is shown"):
            for _ in range(5):
                shown = opened.show(small(2))
        self.assertEqual(shown, 0)
        self.assertFalse(opened.alive)
        self.assertIn("no longer shows", repr(opened))

    def test_that_refuse_are_warned_of_with_their_sentence(self):
        opened = self.open("connection = accept()\nword = b'stream 0: family: latents of mochi'\n"
                           "connection.sendall(struct.pack('<4sIQ', b'FAIL', len(word), 0) + word)\n"
                           "sys.stdin.read()\nconnection.recv(1)\n")
        with expected_warning(self, "family: latents of mochi"):
            opened.show(small())

    def test_that_do_not_take_latents_cost_no_more_than_the_time_that_is_given(self):
        opened = self.open("connection = accept()\nwhile connection.recv(4096): pass\n")
        self.assertEqual(opened.show(small(), timeout=0.01), 0)
        self.assertTrue(opened.alive)

    def test_that_do_not_stop_are_killed(self):
        opened = self.open("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nconnection = accept()\n"
                           "while True: signal.pause()\n")
        with unittest.mock.patch.object(preview, "_STOP_SECONDS", 0.05):
            opened.close()
        self.assertEqual(opened.process.returncode, -signal.SIGKILL)

    def test_that_are_not_there_are_named(self):
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            os.environ.pop("KINETOGRAPH_PROGRAM", None)
            with self.assertRaisesRegex(FileNotFoundError, "kinetograph is not in PATH"):
                preview.Preview("vae.safetensors")


@unittest.skipUnless(PROGRAM, "KINETOGRAPH_PROGRAM names the program")
class PreviewsOfTheViewer(unittest.TestCase):
    WEIGHTS = "synthetic:wan2.1,dim=2"

    def open(self, *arguments, **changes):
        opened = preview.Preview(self.WEIGHTS, program=PROGRAM, arguments=["--lane", "cpu", "--headless", *arguments],
                                 **changes)
        self.addCleanup(opened.close)
        return opened

    def test_show_every_frame_of_every_clip(self):
        with tempfile.TemporaryDirectory() as folder:
            shot = Path(folder) / "shot.png"
            with self.open("--frames", "10", "--size", "320x240", "--screenshot", str(shot)) as opened:
                for _ in range(2):
                    self.assertEqual(opened.show(small(2)), 2)
                    opened.end()
                self.assertEqual(opened.wait(), 0, opened)
            self.assertEqual(shot.read_bytes()[:4], b"\x89PNG")

    def test_begin_another_clip_for_another_shape(self):
        with self.open("--frames", "2", "--size", "64x64") as opened:
            opened.show(small())
            opened.show(live.Latents((16, 2, 2), "float32", bytes(256)))
            self.assertEqual(opened.wait(), 0, opened)

    def test_outlive_a_pipeline_that_crashes(self):
        code = ("import os, signal, sys\nsys.path.insert(0, sys.argv[1])\nimport live\n"
                "writer = live.connect(sys.argv[2])\n"
                "writer.start(channels=16, height=1, width=2)\n"
                "writer.send(live.Latents((16, 1, 1, 2), 'float32', bytes(128)))\nos.kill(os.getpid(), "
                "signal.SIGKILL)\n")
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "live.sock")
            command = [PROGRAM, "decode", "unix:" + path, "--weights", self.WEIGHTS, "--lane", "cpu", "-o",
                       str(Path(folder) / "out.mp4")]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as viewer:
                while not os.path.exists(path):
                    self.assertIsNone(viewer.poll())
                generator = subprocess.run([sys.executable, "-c", code, live.__file__.rpartition("/")[0], path])
                messages = viewer.communicate()[1]
            self.assertEqual(generator.returncode, -signal.SIGKILL)
            self.assertEqual(viewer.returncode, 1)
            self.assertRegex(messages, 'stream 0 "", chunk 1: the input ends before a record')

    def test_say_what_their_viewer_refuses(self):
        opened = self.open(family="mochi")
        with expected_warning(self, "family: latents of .mochi., synthetic:wan2.1,dim=2 is of wan2.1"):
            opened.show(small(8))


if __name__ == "__main__":
    unittest.main()
