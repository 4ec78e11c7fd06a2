"""The state of a stream as a value, and the streaming protocol of vLLM-Omni."""

import contextlib
import pickle
import time

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg


def frames_of(stream, latents):
    stream.push(latents)
    return numpy.array([numpy.array(frame) for frame in stream.frames()])


@pytest.fixture
def stream(decoder):
    with decoder.stream(rewind=2) as made:
        yield made


def test_forks_and_loaded_states_continue_bit_for_bit(decoder, stream, tmp_path):
    latents = latents_of(6)
    wanted = decoder.decode(latents)
    frames_of(stream, latents[:, :3])
    state = stream.save()
    assert (state.latent_frames, state.frames, state.size) == (3, 9, (2, 3)) and state.nbytes > 0
    with stream.fork() as fork, decoder.stream() as other:
        frames_of(fork, latents[:, :1])
        assert (frames_of(stream, latents[:, 3:]) == wanted[9:]).all()
        state.write(tmp_path / "clip.state")
        other.load(kg.State.read(tmp_path / "clip.state"))
        assert (frames_of(other, latents[:, 3:]) == wanted[9:]).all()
        other.load(kg.State.parse(state.pack()))
        assert (frames_of(other, latents[:, 3:]) == wanted[9:]).all()
        other.load(pickle.loads(pickle.dumps(state)))
        with other.fork() as second:
            assert (frames_of(second, latents[:, 3:]) == wanted[9:]).all()
        assert (frames_of(other, latents[:, 3:]) == wanted[9:]).all()


def test_streams_go_back_and_leave_the_device(decoder, stream):
    latents = latents_of(6)
    wanted = decoder.decode(latents)
    frames_of(stream, latents[:, :2])
    frames_of(stream, latents_of(1, seed=1))
    stream.push(latents_of(1, seed=2))
    with pytest.raises(kg.InvalidArgument, match="rewinding 3 steps: 2 are kept"):
        stream.rewind(3)
    stream.rewind(2)
    assert stream.pending == 0
    stream.park()
    with pytest.raises(kg.InvalidArgument, match="the clip is parked"):
        stream.push(latents[:, 2:3])
    stream.resume()
    assert (frames_of(stream, latents[:, 2:]) == wanted[5:]).all()
    stream.park()
    stream.reset()
    assert (frames_of(stream, latents) == wanted).all()


def test_what_a_stream_keeps_is_declared_before(decoder, stream):
    declared = decoder.declared_state_bytes(2, 3, rewind=2)
    assert declared == 3 * decoder.declared_state_bytes(2, 3)
    stream.prepare(2, 3)
    assert stream.stats()["state_bytes"] == declared


def test_streams_that_share_make_the_frames_of_their_own(decoder):
    latents = latents_of(5)
    wanted = decoder.decode(latents)
    with decoder.stream(shared=True) as first, decoder.stream(shared=True, background=True, weight=2) as second:
        for begin in range(5):
            for stream in (first, second):
                stream.push(latents[:, begin:begin + 1])
            for stream in (second, first):
                frames = numpy.array([numpy.array(frame) for frame in stream.frames()])
                assert (frames == wanted[max(0, 4 * begin - 3):4 * begin + 1]).all()
        own, further = first.stats(), second.stats()
        assert further["state_bytes"] == own["state_bytes"] and further["clip_bytes"] < own["clip_bytes"]
        assert own["longest_wait_s"] <= own["waited_s"] and own["due_misses"] <= 5
    for refused in ({"background": True}, {"shared": True, "weight": -1.0}):
        with pytest.raises(kg.InvalidArgument), decoder.stream(**refused) as stream:
            stream.prepare(2, 3)


@pytest.fixture
def fresh():
    """A decoder of which no step has been measured."""
    with kg.Decoder("synthetic:wan2.1,dim=2", device="cpu", precision="fp32") as made:
        yield made


def test_shared_streams_are_admitted_while_they_fit_and_have_figures(fresh):
    decoder, latents = fresh, latents_of(3)
    asked = decoder.admission(2, 3, fps=1000)
    assert asked["fits"] and asked["known"] == "no" and 0 < asked["needed_bytes"] < asked["free_bytes"]
    with decoder.stream(shared=True, fps=1000) as stream:
        frames_of(stream, latents[:, :2])
        stream.push(latents[:, 2:], input_time=time.monotonic() - 5)
        assert len(list(stream.frames())) == 4
        while (asked := decoder.admission(2, 3, fps=1000))["known"] != "measured":
            stats = stream.stats()
        assert asked["needed_seconds"] == asked["taken_seconds"] > 0 and asked["visible_streams"] == 1
        stats = stream.stats()
        assert stats["held_back"] == "no" and 0 < stats["latency_s"] <= stats["longest_latency_s"]
        assert 5 < stats["input_latency_s"] == stats["average_input_latency_s"] < 5 + stats["latency_s"] + 1
        assert stats["first_frame_s"] > 0
        counted = 'kinetograph_frames_total{family="wan2.1",clip="1"} 9\n'
        for _ in range(1000):
            stream.stats()  # the last step is counted once it was seen to be done
            if counted in decoder.metrics():
                break
        assert counted in decoder.metrics()
        with contextlib.ExitStack() as streams, pytest.raises(kg.OutOfMemory, match="of which .* visible clips leave"):
            for _ in range(500):
                streams.enter_context(decoder.stream(shared=True, fps=1000, only_if_fits=True)).prepare(2, 3)
        assert decoder.admission(2, 3, fps=1000, background=True)["fits"]


def test_states_that_do_not_fit_are_refused_in_sentences(decoder, stream, tmp_path):
    path = tmp_path / "clip.state"
    frames_of(stream, latents_of(2))
    state = stream.save()
    with kg.Decoder("synthetic:wan2.1,dim=4", device="cpu", precision="fp32") as other, other.stream() as wider:
        with pytest.raises(kg.InvalidArgument, match="is of another decoder or size"):
            wider.load(state)
    state.write(path)
    contents = path.read_bytes()
    path.write_bytes(contents[:-1])
    with pytest.raises(kg.InvalidArgument, match="clip.state"):
        kg.State.read(path)
    path.write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    with pytest.raises(kg.InvalidArgument, match="clip.state: .* the file was altered"):
        kg.State.read(path)
    with pytest.raises(kg.NotFound):
        kg.State.read(tmp_path / "none")
    with pytest.raises(kg.InvalidArgument, match="no str"):
        stream.load("clip.state")
    stream.push(latents_of(4))
    stream.push(latents_of(2))
    with pytest.raises(TimeoutError, match="were not decoded within 0.05 s"):
        stream.save(timeout=0.05)


@pytest.fixture
def streaming(decoder):
    return kg.StreamingDecoder(decoder)


def streamed(streaming, latents, chunks, name="s"):
    state, pieces, begin = streaming.new_decode_state(name), [], 0
    for chunk in chunks:
        pieces.append(streaming.decode_chunk(latents[:, :, begin:begin + chunk], state))
        begin += chunk
    streaming.release(state)
    return numpy.concatenate(pieces, axis=2)


@pytest.mark.parametrize("chunks", [(3, 3, 3), (1, 1, 1, 1, 1), (2, 4, 3)])
def test_chunks_of_a_session_are_the_clip(decoder, streaming, chunks):
    latents = latents_of(sum(chunks))
    whole = decoder.decode(latents, dtype="float32", layout="TCHW").transpose(1, 0, 2, 3)[None]
    assert (streamed(streaming, latents[None], chunks) == whole).all()


def test_sessions_that_take_turns_keep_their_own_state(streaming):
    first, second = latents_of(6, seed=1)[None], latents_of(6, seed=2)[None]
    alone = [streamed(streaming, latents, (6,)) for latents in (first, second)]
    assert (alone[0] != alone[1]).any()
    states, parts = [streaming.new_decode_state(name) for name in "ab"], ([], [])
    for begin in (0, 3):
        for latents, state, part in zip((first, second), states, parts):
            part.append(streaming.decode_chunk(latents[:, :, begin:begin + 3], state))
    assert all((numpy.concatenate(part, axis=2) == wanted).all() for part, wanted in zip(parts, alone))
    continued = parts[0][1]
    anew = streaming.decode_chunk(first[:, :, 3:], streaming.new_decode_state("c"))
    assert (continued[:, :, -8:] != anew[:, :, -8:]).any()


def test_a_session_counts_and_states_its_memory_until_it_is_released(streaming):
    state = streaming.new_decode_state("s")
    assert not state.started and state.nbytes() == 0
    assert streaming.decode_chunk(latents_of(3)[None], state).shape == (1, 3, 9, 16, 24)
    declared = streaming.declared_state_bytes(height=16, width=24, dtype="float32")
    assert state.nbytes() == declared == sum(state.nbytes_by_device().values()) > 0
    for _ in range(4):
        assert streaming.decode_chunk(latents_of(3)[None], state).shape[2] == 12
        assert state.nbytes() == declared
    assert (state.chunks_decoded, state.frames_decoded, state.started) == (5, 15, True)
    streaming.release(state)
    assert state.nbytes() == 0 and not state.started and state.chunks_decoded == 0
    assert streaming.decode_chunk(latents_of(3)[None], state).shape[2] == 9


def test_what_is_no_chunk_of_a_session_is_refused(decoder, streaming):
    state = streaming.new_decode_state("s")
    for latents, sentence in ((latents_of(2), r"\[B, C, T, H, W\]"), (latents_of(2)[None][:, :, :0], "at least one frame"),
                              (numpy.zeros((2, 16, 3, 2, 3), "float32"), "one sample per session state")):
        with pytest.raises(ValueError, match=sentence):
            streaming.decode_chunk(latents, state)
    assert state.frames_decoded == 0
    with pytest.raises(ValueError, match="does not belong to this decoder"):
        streaming.decode_chunk(latents_of(1)[None], kg.StreamingDecoder(decoder).new_decode_state("s"))
    with pytest.raises(ValueError, match="session_id"):
        streaming.new_decode_state("  ")
    with pytest.raises(ValueError, match="each side is a multiple of 8"):
        streaming.declared_state_bytes(height=20, width=24)
    with pytest.raises(TypeError, match="made of a Decoder"):
        kg.StreamingDecoder(object())
