"""bench/peers/peer_decoders.py: what it keeps of a published decoder. Neither PyTorch nor the published code runs:
stand-ins have the parts that are used."""
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/peers"))
sys.dont_write_bytecode = True
with mock.patch.dict(sys.modules, tensor_files=mock.MagicMock(), wan21_pytorch=mock.MagicMock()):
    import peer_decoders


class Module:
    def modules(self):
        return [self]


class Convolution(Module):
    pass


class Autoencoder:
    """diffusers' AutoencoderKLQwenImage as far as its caches go."""

    def __init__(self, **_):
        self.encoder = self.decoder = self.quant_conv = Convolution()

    def load_state_dict(self, weights, strict):
        return types.SimpleNamespace(missing_keys=["encoder.conv_in.weight", "quant_conv.weight"], unexpected_keys=[])

    def to(self, *_):
        return self

    def eval(self):
        return self

    def decode(self, latents, return_dict):
        counts = [sum(isinstance(module, Convolution) for module in part.modules())
                  for part in (self.decoder, self.encoder)]
        return [[(latents, counts)]]


class PeerDecoders(unittest.TestCase):
    def test_a_decoder_that_counts_the_encoders_convolutions_finds_none_there(self):
        torch = types.SimpleNamespace(nn=types.SimpleNamespace(Identity=Module))
        weights = {"conv2.weight": types.SimpleNamespace(shape=(16, 16)),
                   "decoder.head.0.gamma": types.SimpleNamespace(shape=(96, 1, 1, 1))}
        with mock.patch.dict(sys.modules, torch=torch,
                             diffusers=types.SimpleNamespace(AutoencoderKLQwenImage=Autoencoder)):
            decode = peer_decoders.decoder_of("diffusers", weights, "cuda", "bf16", "AutoencoderKLQwenImage")
        self.assertEqual(decode("latents"), ("latents", [1, 0]))


if __name__ == "__main__":
    unittest.main()
