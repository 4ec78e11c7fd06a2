"""Chunk by chunk: order, arrays that outlive their frames, threads, processes."""

import gc
import os
import subprocess
import sys
import threading
import time
import warnings

import numpy
import pytest
from conftest import ROOT, WEIGHTS, latents_of, quietly, race, write_latents

import kinetograph as kg
from kinetograph import _dlpack
from kinetograph import stream as stream_module
from kinetograph._library import TIMEOUT, library


def test_chunks_give_the_frames_of_the_clip(decoder):
    latents = latents_of(7)
    wanted = decoder.decode(latents)
    frames = []
    with decoder.stream(fps=16) as stream:
        for begin in range(0, 7, 3):
            stream.push(latents[:, begin:begin + 3])
            for frame in stream.frames():
                assert frame.index == len(frames) and frame.time == pytest.approx(len(frames) / 16)
                assert frame.finite
                frames.append(numpy.array(frame))
        assert stream.pending == 0
    assert (numpy.array(frames) == wanted).all()


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_halves_are_the_floats_rounded_once(decoder, layout):
    latents = latents_of(2)
    wanted = decoder.decode(latents, dtype="float32", layout="T" + layout).astype("float16")
    with decoder.stream(dtype="float16", layout=layout) as stream:
        stream.push(latents)
        for frame in stream.frames():
            array = numpy.from_dlpack(frame)
            assert frame.dtype == "float16" and array.dtype == numpy.float16 and array.shape == frame.shape
            assert (array == wanted[frame.index]).all()
            frame.release()
    state = decoder.new_state(dtype="float16", layout="T" + layout)
    assert (decoder.decode_chunk(state, latents) == wanted).all()
    decoder.release(state)


def test_the_verbs_of_serving_stacks(decoder):
    latents = latents_of(4)
    first, second = decoder.new_state(), decoder.new_state(dtype="float32", layout="TCHW")
    parts = [decoder.decode_chunk(first, latents[:, :3]), decoder.decode_chunk(first, latents[:, 3:])]
    assert first.nbytes > 0
    assert (numpy.concatenate(parts) == decoder.decode(latents)).all()
    assert decoder.decode_chunk(second, latents).shape == (13, 3, 16, 24)
    decoder.release(first)
    with pytest.raises(kg.InvalidArgument, match="closed"):
        decoder.decode_chunk(first, latents)
    decoder.release(second)


def test_states_that_do_not_fit_are_refused_in_a_sentence(decoder):
    state = decoder.new_state()
    with kg.Decoder(WEIGHTS, device="cpu", precision="fp32") as other:
        with pytest.raises(kg.InvalidArgument, match="of another decoder"):
            other.decode_chunk(state, latents_of(1))
    state.push(latents_of(1))
    with pytest.raises(kg.InvalidArgument, match="1 frames of the state were not taken"):
        decoder.decode_chunk(state, latents_of(1))
    state.reset()
    assert decoder.decode_chunk(state, latents_of(1)).shape == (1, 16, 24, 3)
    with pytest.raises(kg.InvalidArgument, match="have four"):
        decoder.decode_chunk(decoder.stream(layout="HWC4"), latents_of(1))
    for call in (lambda: decoder.decode_chunk(None, latents_of(1)), lambda: decoder.release(None)):
        with pytest.raises(kg.InvalidArgument, match="the state is a NoneType"):
            call()


@pytest.mark.parametrize("options, sentence", [
    ({"chunk": 0}, "1 to 4096, and not 0"), ({"chunk": "3"}, "and not '3'"), ({"chunk": 2**31}, "and not 2147483648"),
    ({"fps": 0}, "0 frames a second"), ({"device": "cuda:0"}, "frames are on cpu:0, .* and not on cuda:0"),
    ({"device": 1}, "not 1"),
])
def test_streams_that_cannot_be_are_refused_in_a_sentence(decoder, options, sentence):
    with pytest.raises(kg.InvalidArgument, match=sentence):
        decoder.stream(**options)


def test_a_frame_is_an_array_of_numpys_as_it_asks(decoder):
    with decoder.stream(device="cpu") as stream:
        stream.push(latents_of(1))
        with stream.take() as frame:
            assert numpy.shares_memory(numpy.asarray(frame), numpy.asarray(frame))
            assert not numpy.shares_memory(numpy.array(frame), numpy.asarray(frame))
            assert numpy.asarray(frame, dtype="float32").dtype == "float32"
            with pytest.raises(ValueError, match="without a copy"):
                frame.__array__("float32", copy=False)


def test_arrays_outlive_frames_streams_and_decoders():
    decoder = kg.Decoder(WEIGHTS, device="cpu", precision="fp32")
    wanted = decoder.decode(latents_of(2))
    stream = decoder.stream()
    stream.push(latents_of(2))
    by_dlpack = [numpy.from_dlpack(frame) for frame in stream.frames()]
    stream.close()
    decoder.close()
    del stream, decoder
    gc.collect()
    assert (numpy.array(by_dlpack) == wanted).all()


def test_capsules_that_nobody_takes_are_given_back(decoder):
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        frame = stream.take()
        capsule = frame.__dlpack__()
        frame.release()
        with pytest.raises(kg.InvalidArgument, match="frame 0 was released"):
            frame.__dlpack__()
        _dlpack.collect()
        assert stream.stats()["frames_held"] == 1  # as long as it may be taken
        del capsule
        _dlpack.collect()
        assert stream.stats()["frames_held"] == 0
        with pytest.raises(BufferError):
            stream.push(latents_of(1))
            stream.take().__dlpack__(copy=True)


def test_an_error_on_its_way_survives_the_end_of_an_array(decoder):
    """Which goes while the error unwinds the stack: whatever it calls then must not be Python."""
    out = numpy.empty((1, 1, 3), "uint8")
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        frame = stream.take()
        with pytest.raises(ValueError, match="broadcast"):
            numpy.copyto(out, numpy.from_dlpack(frame))
        with pytest.raises(TypeError):
            numpy.zeros(1, frame.__dlpack__())
        frame.release()
        _dlpack.collect()
        assert stream.stats()["frames_held"] == 0


def test_arrays_keep_a_frame_that_was_released(decoder):
    wanted = decoder.decode(latents_of(1))[0]
    with decoder.stream(chunk=1) as stream:
        stream.push(latents_of(1))
        with stream.take() as frame:
            array = numpy.asarray(frame)
        for t in range(4):  # more frames than the stream has slots
            stream.push(latents_of(1, seed=t + 1))
            for frame in stream.frames():
                frame.release()
        assert (array == wanted).all() and stream.stats()["frames_held"] == 1


def test_four_channels_are_contiguous(decoder):
    with decoder.stream(layout="HWC4") as stream:
        stream.push(latents_of(1))
        with stream.take() as frame:
            array = numpy.from_dlpack(frame)
            assert array.shape == frame.shape == (16, 24,
                                                  4) and array.flags.c_contiguous and (array[..., 3] == 255).all()
            assert (array[..., :3] == decoder.decode(latents_of(1))[0]).all()
    for options in ({"layout": "HWC4", "dtype": "float32"}, {"layout": "HWC4", "dtype": "float16"}, {"layout": "WHC"}):
        with pytest.raises(kg.InvalidArgument):
            decoder.stream(**options)


def test_a_reader_that_holds_every_frame_makes_push_time_out(decoder):
    with decoder.stream(chunk=1) as stream:
        stream.push(latents_of(3))
        held = list(stream.frames())
        with pytest.raises(TimeoutError, match="4 of 6 latent frames"):  # wait for the frames of three others
            stream.push(latents_of(6), timeout=0.1)
        assert stream.stats()["frames_held"] == 9
        del held
        gc.collect()
        stream.push(latents_of(1))
        for frame in stream.frames():
            frame.release()
        with pytest.raises(TimeoutError):
            stream.take(timeout=0.0)


def test_more_latents_than_fit_in_are_an_error_where_no_other_thread_takes_frames(decoder, monkeypatch):
    monkeypatch.setattr(stream_module, "_ALONE_SECONDS", 0.05)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # whatever else pytest has started
    latents = latents_of(9)
    wanted = decoder.decode(latents)
    with decoder.stream(chunk=1) as stream:  # 12 frames: those of three latent frames; one more is next, three wait
        with pytest.raises(kg.Busy,
                           match="7 of 9 latent frames were pushed: of the stream's 12 frames 9 were not taken and "
                                          "0 are held; .* no other thread"):
            stream.push(latents)
        frames = [numpy.array(frame) for frame in stream.frames()]
        stream.push(latents[:, 7:])
        frames += [numpy.array(frame) for frame in stream.frames()]
        assert (numpy.array(frames) == wanted).all()


def test_a_push_that_waits_for_another_thread_says_so(decoder, monkeypatch):
    monkeypatch.setattr(stream_module, "_LONG_WAIT_SECONDS", 0.05)
    told, taken = threading.Event(), []
    with decoder.stream(chunk=1) as stream:
        stream.push(latents_of(1))

        def read():
            assert told.wait(60)
            taken.extend(frame.index for frame in (stream.take() for _ in range(37)))

        reader = threading.Thread(target=read)
        reader.start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "warn", lambda *what, warn=warnings.warn,
                                **how: (warn(*what, **how), told.set()))
            stream.push(latents_of(9))
        reader.join()
    (warning,) = caught
    said = str(warning.message)
    assert "push() waits. 6 of 9 latent frames were pushed: of the stream's 12 frames 9 were not taken" in said
    assert taken == list(range(37))


def test_a_decoder_that_is_closed_frees_its_weights_with_the_last_of_its_streams(monkeypatch):
    destroyed = []
    for name in ("kg_model_destroy", "kg_weights_destroy"):
        monkeypatch.setattr(library, name, lambda handle, name=name, destroy=getattr(library, name):
                            (destroyed.append(name), destroy(handle)))
    both = ["kg_model_destroy", "kg_weights_destroy"]
    with kg.Decoder(WEIGHTS, device="cpu", precision="fp32") as decoder:
        wanted = decoder.decode(latents_of(2))
    assert destroyed == both
    assert repr(decoder) == "<kinetograph.Decoder: closed>" and len(decoder.latent_statistics()[0]) == 16
    for call in (lambda: decoder.decode(latents_of(1)), decoder.stream, decoder.new_state,
                 lambda: decoder.open("clip")):
        with pytest.raises(kg.InvalidArgument, match="the decoder is closed"):
            call()
    destroyed.clear()
    decoder = kg.Decoder(WEIGHTS, device="cpu", precision="fp32")
    unused, stream = decoder.stream(), decoder.stream()
    decoder.close()
    decoder.close()
    stream.push(latents_of(2))
    frames = [numpy.array(frame) for frame in stream.frames()]
    assert (numpy.array(frames) == wanted).all()
    stream.close()
    assert destroyed == []
    unused.close()
    assert destroyed == both


def test_calls_that_last_end_at_their_deadline(decoder, tmp_path):
    with pytest.raises(TimeoutError, match="not within 0 s"):
        kg.Decoder(WEIGHTS, device="cpu", timeout=0)
    with pytest.raises(TimeoutError, match="not within 0 s"):
        decoder.stream().push(latents_of(1), timeout=0)  # which makes the stream
    write_latents(tmp_path / "clip.safetensors", latents_of(2))
    with pytest.raises(TimeoutError, match="not within 0 s"):
        decoder.open(tmp_path / "clip.safetensors", timeout=0)
    with decoder.open(tmp_path / "clip.safetensors", timeout=60) as stream:
        assert len(list(stream.frames(timeout=60))) == 5
    assert kg.Decoder(WEIGHTS, device="cpu", timeout=60).decode(latents_of(2), timeout=60).shape == (5, 16, 24, 3)


def test_after_its_deadline_a_decode_can_be_made_again(decoder):
    wanted = decoder.decode(latents_of(3))
    state = decoder.new_state()
    decoder.decode_chunk(state, latents_of(1))
    for decode in (decoder.decode, lambda latents, timeout: decoder.decode_chunk(state, latents, timeout=timeout)):
        with pytest.raises(TimeoutError, match="0 of .* frames were decoded within 0 s"):
            decode(latents_of(3), timeout=0)
    state.reset()
    assert (decoder.decode(latents_of(3)) == wanted).all()
    assert (decoder.decode_chunk(state, latents_of(3)) == wanted).all()
    state.close(timeout=60)


def test_closing_waits_for_a_stated_time(decoder, monkeypatch):
    stream = decoder.stream()
    stream.push(latents_of(2))
    monkeypatch.setattr(library, "kg_clip_close", lambda clip, timeout: TIMEOUT)  # of a device that does not end
    with pytest.raises(TimeoutError, match="have not ended within 0.01 s"):
        stream.close(timeout=0.01)
    with pytest.raises(kg.InvalidArgument, match="closed"):
        stream.take()
    monkeypatch.undo()
    stream.close(timeout=60)
    stream.close(timeout=60)
    assert repr(stream) == "<kinetograph.Stream: closed>"


def test_closing_ends_a_push_that_waits_in_another_thread(decoder):
    stream = decoder.stream(chunk=1)
    stream.push(latents_of(3))
    held, ended = list(stream.frames()), []

    def push():
        with pytest.raises((kg.Cancelled, kg.InvalidArgument)):  # if it waits; if it comes after
            stream.push(latents_of(9))
        ended.append(len(held))

    generator = threading.Thread(target=push)
    generator.start()
    stream.close(timeout=60)
    generator.join()
    assert ended == [9]


def test_five_hundred_chunks_are_flat_in_memory(decoder):
    latents = latents_of(1, 1, 1)
    with decoder.stream() as stream:
        stream.push(latents)
        list(stream.frames())
        bytes_before = stream.stats()["device_bytes"]
        for _ in range(500):
            stream.push(latents)
            for frame in stream.frames():
                numpy.asarray(frame)
        del frame
        stats = stream.stats()
    assert stats["device_bytes"] == bytes_before and stats["frames_held"] <= 1 and stats["unmoved_s"] == 0


def test_one_thread_pushes_while_another_reads(decoder):
    latents, frames = latents_of(6), []
    wanted = decoder.decode(latents)
    with decoder.stream() as stream:
        stream.push(latents[:, :1])

        def read():
            for _ in range(21):
                with stream.take() as frame:
                    frames.append(numpy.array(frame))

        reader = threading.Thread(target=read)
        reader.start()
        for t in range(1, 6):
            stream.push(latents[:, t:t + 1])
        reader.join()
    assert (numpy.array(frames) == wanted).all()


def test_a_second_thread_that_pushes_is_told_so(decoder):
    with decoder.stream(chunk=1) as stream:
        stream.push(latents_of(3))
        held, ended = list(stream.frames()), []

        def push():
            while not ended:
                try:
                    stream.push(latents_of(9))
                except kg.Busy:
                    continue  # the test's own push
                except kg.Cancelled:
                    ended.append(len(held))

        waiting = threading.Thread(target=push)
        waiting.start()
        told = None
        until = time.monotonic() + 60
        while told is None and time.monotonic() < until:
            try:  # the other one looks for Ctrl-C now and then, and is between two calls meanwhile
                stream.push(latents_of(1), timeout=0.01)
            except kg.Busy as error:
                told = str(error)
            except TimeoutError:
                time.sleep(0.02)
        stream.cancel()
        waiting.join(60)
        assert "another thread" in told
        assert ended == [9]


def test_cancel_ends_the_wait_of_another_thread_and_reset_begins_anew(decoder):
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        list(stream.frames())
        errors = []

        def wait():
            try:
                stream.take()
            except kg.Error as error:
                errors.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        stream.cancel()
        waiting.join()
        assert isinstance(errors[0], kg.Cancelled)
        stream.reset()
        stream.push(latents_of(1))
        assert (numpy.array(stream.take()) == decoder.decode(latents_of(1))[0]).all()


def run(program, **environment):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def test_the_interpreter_ends_quietly_with_frames_alive():
    program = f"""
import numpy, kinetograph as kg
decoder = kg.Decoder({WEIGHTS!r}, device="cpu")
stream = decoder.stream()
stream.push(numpy.zeros((16, 3, 2, 3), "float32"))
frame = stream.take()
array, taken = numpy.from_dlpack(stream.take()), numpy.asarray(stream.take())
class Late:
    def __init__(self): self.array = numpy.from_dlpack(stream.take())
late = Late()
late.self = late
"""
    ended = run(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_fork_is_told_to_open_its_own():
    program = f"""
import os, numpy, kinetograph as kg
decoder = kg.Decoder({WEIGHTS!r}, device="cpu")
stream = decoder.stream()
stream.push(numpy.zeros((16, 1, 2, 3), "float32"))
child = os.fork()
if child == 0:
    try:
        stream.take()
    except kg.Unsupported as error:
        os._exit(0 if "before fork()" in str(error) and kg.devices() else 2)
    os._exit(1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_fork_decodes_after_its_parent_has():
    """With two workers of OpenMP, which the child does not have."""
    program = f"""
import os, signal, numpy, kinetograph as kg
latents = numpy.linspace(-1, 1, 16 * 2 * 2 * 3, dtype="float32").reshape(16, 2, 2, 3)
def decode():
    with kg.Decoder({os.fspath(ROOT / "assets/demo_vae.safetensors")!r}, device="cpu", precision="fp32") as decoder:
        return decoder.decode(latents)
wanted = decode()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (decode() == wanted).all() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = run(program, OMP_NUM_THREADS="2")
    assert ended.returncode == 0, ended.stderr


def test_the_program_decodes_the_bundled_clip(tmp_path):
    """In whose place KINETOGRAPH_ASSETS has a much smaller one."""
    (tmp_path / "demo_vae.safetensors").symlink_to(ROOT / "assets/demo_vae.safetensors")
    write_latents(tmp_path / "orbit.safetensors", latents_of(2))
    environment = {**os.environ, "PATH": str(tmp_path), "KINETOGRAPH_ASSETS": str(tmp_path)}  # and without ffmpeg
    command = [sys.executable, "-m", "kinetograph", "demo"]
    ended = subprocess.run([*command, tmp_path / "demo.png"], capture_output=True, text=True, timeout=300,
                           env=environment)
    assert ended.returncode == 0, ended.stderr
    assert "5 frames of 24 x 16" in ended.stdout
    assert (tmp_path / "demo.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    refused = subprocess.run([*command, tmp_path / "demo.mp4"], capture_output=True, text=True, timeout=300,
                             env=environment)
    assert refused.returncode == 1 and "no ffmpeg here" in refused.stderr
    listed = subprocess.run([sys.executable, "-m", "kinetograph", "info"], capture_output=True, text=True, timeout=60)
    assert listed.returncode == 0 and "cpu:0" in listed.stdout
    assert subprocess.run([sys.executable, "-m", "kinetograph"], capture_output=True, timeout=60).returncode == 2
    helped = subprocess.run([sys.executable, "-m", "kinetograph", "--help"], capture_output=True, text=True, timeout=60)
    assert helped.returncode == 0 and "info | demo" in helped.stdout


def test_a_file_is_decoded_to_its_end(decoder, tmp_path):
    latents = latents_of(2)
    write_latents(tmp_path / "clip.safetensors", latents)
    with decoder.open(tmp_path / "clip.safetensors") as clip:
        assert clip.stats()["frames"] == 5
        assert (numpy.array([numpy.asarray(frame) for frame in clip]) == decoder.decode(latents)).all()
        assert clip.take() is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_of_a_stream_may_race_with_its_end(decoder, often_switched, tmp_path):
    latents, file = latents_of(1), tmp_path / "state"
    with decoder.stream(chunk=1) as stream:
        stream.push(latents)
        saved = stream.save()
    for round_ in range(66):
        stream = decoder.stream(chunk=1, rewind=1)
        frame = None
        if round_ % 2:
            stream.push(latents)
            frame = stream.take()
        others = [lambda: stream.take(timeout=0.01), lambda: stream.prepare(2, 3), stream.reset, stream.cancel,
                  stream.stats, lambda: repr(stream), lambda: stream.nbytes, lambda: stream.pending,
                  lambda: list(stream.frames(timeout=0.01)),
                  lambda: decoder.decode_chunk(stream, latents, timeout=0.1), lambda: next(iter(stream), None),
                  lambda: stream.fork(timeout=0.01).close(), lambda: stream.save(timeout=0.01),
                  lambda: stream.load(saved, timeout=0.01), lambda: stream.rewind(timeout=0.01),
                  lambda: (stream.park(timeout=0.01), stream.resume(timeout=0.01)), stream.__enter__,
                  lambda: (saved.write(file), stream.load(kg.State.read(file), timeout=0.01))]
        if frame is not None:
            others += [lambda: frame.finite, lambda: repr(frame), lambda: numpy.asarray(frame), lambda: frame.shape,
                       lambda: numpy.from_dlpack(frame), frame.release]
        other = others[round_ // 2 % len(others)]

        def end():
            time.sleep(0.0005 * (round_ % 7))
            if frame is not None:
                frame.release()
            stream.close()
            return True

        assert race([lambda: stream.push(latents, timeout=0.01), lambda: quietly(other), end]) == [], round_


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_of_a_decoder_may_race_with_its_end(often_switched, tmp_path):
    latents, file = latents_of(1), tmp_path / "clip.safetensors"
    write_latents(file, latents)
    for round_ in range(30):
        decoder = kg.Decoder(WEIGHTS, device="cpu", precision="fp32")
        streaming = kg.StreamingDecoder(decoder)

        def decode_streaming():
            state = streaming.new_decode_state("a")
            streaming.decode_chunk(latents[None], state)
            state.nbytes_by_device()
            streaming.release(state)

        others = [lambda: decoder.stream().prepare(2, 3), lambda: repr(decoder),
                  lambda: decoder.release(decoder.new_state()), lambda: decoder.declared_state_bytes(2, 3),
                  decoder.latent_statistics, lambda: decoder.device, lambda: list(decoder.open(file)),
                  lambda: kg.Encoder(decoder).stream(16, 24).close(),
                  decode_streaming, lambda: streaming.declared_state_bytes(height=16, width=24)]

        def end():
            time.sleep(0.0005 * (round_ % 7))
            decoder.close()
            return True

        assert race([lambda: quietly(lambda: decoder.decode(latents)), lambda: quietly(others[round_ % len(others)]),
                     end, end]) == [], round_


def test_a_stream_that_is_closed_while_it_is_made_stays_closed(decoder, monkeypatch):
    """Closed by another thread between the look at the handle and its use."""
    stream = decoder.stream()
    create = library.kg_clip_create

    def create_and_close(*arguments):
        stream.close()
        return create(*arguments)

    monkeypatch.setattr(stream_module.library, "kg_clip_create", create_and_close)
    with pytest.raises(kg.InvalidArgument, match="the stream is closed"):
        stream.push(latents_of(1))
    assert stream._clip is None
