"""Public decoders, each in its own published code, for pytorch_decoder.py and peer_rates.py to time.

    python3 -m pip install diffusers==0.42.1 fastvae==0.1.0
    python3 -m pip install --no-deps vllm-omni==0.30.0     # the fast path needs nothing of the serving engine
    git clone https://github.com/madebyollin/taehv         # PYTHONPATH names the folder of its taehv.py

Every peer decodes a whole clip: latents [1, z_dim, T, h, w] at the decoder's scale to frames [3, 4 T - 3, 8 h, 8 w] in
[-1, 1]; frames of Wan 2.2, of its small decoders and of those of HunyuanVideo 1.5 are 16 h x 16 w. Peers of Wan 2.1 and
2.2 wrap diffusers' AutoencoderKLWan, that of Qwen-Image wraps AutoencoderKLQwenImage; fastvae takes only Wan 2.1. The
small decoders, including LightTAE, run in the two published modes of taehv.py: all frames of a layer at once, or frame
by frame. LightTAE for HunyuanVideo 1.5 runs in that code with its own activations and range of values.
"""
import functools
import importlib.metadata
import importlib.util
import logging
import re
import sys
import types

from wan21_pytorch import synthetic_tensor

PEERS = ("diffusers", "fastvae", "fastvae-chunk5", "vllm-omni")
TAEHV_PEERS = ("taehv-parallel", "taehv-sequential")
# Latent channels; patch: the last layer makes patch x patch pixels of each position.
TAEHV_SHAPES = {"taew2.1": (16, 1), "lighttaew2.1": (16, 1), "taehv": (16, 1), "taew2.2": (48, 2),
                "lighttaew2.2": (48, 2), "taehv1.5": (32, 2), "lighttaehy1.5": (32, 2)}
LEAKY = {"lighttaehy1.5": 0.2}  # slope of its leaky ReLUs; its frames are in [-1, 1]

OUTER = {"decoder.conv1.": "decoder.conv_in.", "decoder.middle.0.": "decoder.mid_block.resnets.0.",
         "decoder.middle.1.": "decoder.mid_block.attentions.0.", "decoder.middle.2.": "decoder.mid_block.resnets.1.",
         "decoder.head.0.": "decoder.norm_out.", "decoder.head.2.": "decoder.conv_out."}
RESIDUAL = {"residual.0.": "norm1.", "residual.2.": "conv1.", "residual.3.": "norm2.", "residual.6.": "conv2.",
            "shortcut.": "conv_shortcut."}


def diffusers_name(name):
    """The name of a parameter of the original decoder in diffusers' AutoencoderKLWan."""
    name = re.sub(r"^conv2\.", "post_quant_conv.", name)
    for original, theirs in OUTER.items():
        name = name.replace(original, theirs)
    found = re.match(r"decoder\.upsamples\.(\d)\.upsamples\.(\d)\.(.*)", name)
    if found:  # Wan 2.2
        name = f"decoder.up_blocks.{found[1]}.{f'resnets.{found[2]}' if found[2] < '3' else 'upsampler'}.{found[3]}"
    found = re.match(r"decoder\.upsamples\.(\d+)\.(.*)", name)
    if found:  # four a stage: three residual blocks and the upsampling
        stage, member = divmod(int(found[1]), 4)
        name = f"decoder.up_blocks.{stage}.{f'resnets.{member}' if member < 3 else 'upsamplers.0'}.{found[2]}"
    for original, theirs in RESIDUAL.items():
        name = name.replace(original, theirs)
    return name


def is_wan22(weights):
    return "decoder.upsamples.0.upsamples.0.residual.0.gamma" in weights


def autoencoder(weights, device, dtype, kind="AutoencoderKLWan"):
    """diffusers' class `kind` with the decoder's weights, given under their original names; its encoder is empty."""
    import diffusers
    import torch
    z_dim, dim = weights["conv2.weight"].shape[0], weights["decoder.head.0.gamma"].shape[0]
    residual = {"base_dim": 8, "decoder_base_dim": dim, "is_residual": True, "in_channels": 12, "out_channels": 12,
                "patch_size": 2, "scale_factor_spatial": 16} if is_wan22(weights) else {"base_dim": dim}
    vae = getattr(diffusers, kind)(z_dim=z_dim, **residual)
    found = vae.load_state_dict({diffusers_name(name): tensor for name, tensor in weights.items()}, strict=False)
    left = [name for name in found.missing_keys if not name.startswith(("encoder.", "quant_conv."))]
    if left or found.unexpected_keys:
        raise ValueError(f"diffusers' decoder has no weights for {left}, and no place for {found.unexpected_keys}")
    vae.encoder, vae.quant_conv = torch.nn.Identity(), None  # clear_cache() counts the encoder's convolutions
    return vae.to(device, dtype).eval()


@functools.cache
def vllm_omni_fast_path():
    """Loads only the package's fast path for Wan. Of vLLM it imports a logger and Triton, for which stand-ins are used
    if vLLM is not installed."""
    if importlib.util.find_spec("vllm") is None:
        import triton
        import triton.language
        from triton.language.extra import libdevice
        logger, triton_utils = types.ModuleType("vllm.logger"), types.ModuleType("vllm.triton_utils")
        logger.init_logger = logging.getLogger
        triton_utils.HAS_TRITON, triton_utils.triton = True, triton
        triton_utils.tl, triton_utils.tldevice = triton.language, libdevice
        sys.modules.update({"vllm": types.ModuleType("vllm"), logger.__name__: logger,
                            triton_utils.__name__: triton_utils})
    folder = importlib.metadata.distribution("vllm-omni").locate_file(
        "vllm_omni/diffusion/distributed/autoencoders/wan_vae_fastpath")
    spec = importlib.util.spec_from_file_location("wan_vae_fastpath", folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def version_of(peer):
    """The packages that the peer runs, with their versions."""
    if peer in TAEHV_PEERS:
        return f"madebyollin/taehv, {peer.removeprefix('taehv-')}"
    packages = ["diffusers"] if peer == "diffusers" else [peer.split("-chunk")[0], "diffusers"]
    return ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)


def decoder_of(peer, weights, device, dtype, kind="AutoencoderKLWan"):
    """A function that decodes a clip's latents as `peer` does, in diffusers' class `kind` or around it.

    Raises importlib.metadata.PackageNotFoundError or ImportError if the peer's package is not installed.
    """
    vae = autoencoder(weights, device, dtype, kind)
    if peer == "diffusers":
        return lambda latents: vae.decode(latents, return_dict=False)[0][0]
    if peer == "vllm-omni":
        fast_path = vllm_omni_fast_path()
        report = fast_path.install_wan_vae_fastpath(vae, level="channels_last")
        if not report.installed:
            raise RuntimeError(f"vllm-omni did not install its fast path: {report.reason}")
        return lambda latents: fast_path.decode_frames(vae, latents)[0]
    from fastvae import FastVAEDecoder
    decode = FastVAEDecoder.from_vae(vae).to(device).decode
    if peer == "fastvae-chunk5":
        decode = functools.partial(decode, chunk_frames=5)
    return lambda latents: decode(latents)[0]


def taehv_decoder_of(peer, family, device, dtype):
    """The same for a small decoder of TAEHV_SHAPES, with the parameters of synthetic:FAMILY. Raises ImportError if its
    taehv.py is not found."""
    if importlib.util.find_spec("tqdm") is None:  # a stand-in for its progress bar, which is not shown
        bar = types.ModuleType("tqdm.auto")
        bar.tqdm = lambda items, **_: items
        sys.modules.update({"tqdm": types.ModuleType("tqdm"), "tqdm.auto": bar})
    from taehv import TAEHV
    channels, patch = TAEHV_SHAPES[family]
    model = TAEHV(checkpoint_path=None, patch_size=patch, latent_channels=channels)
    model.encoder = None
    model.load_state_dict({name: synthetic_tensor(name, tuple(tensor.shape))
                           for name, tensor in model.state_dict().items()})
    if family in LEAKY:
        make_leaky(model, LEAKY[family])
    model = model.to(device, dtype).eval()

    def decode(latents):
        frames = model.decode_video(latents.transpose(1, 2), parallel=peer == "taehv-parallel", show_progress_bar=False)
        frames = frames[0].transpose(0, 1)
        return frames if family in LEAKY else frames.mul_(2).sub_(1)
    return decode


def make_leaky(model, slope):
    """Replaces every ReLU by a leaky one, and takes the last layer's values, clamped to [-1, 1], as the pixels."""
    import torch
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.ReLU):
                setattr(module, name, torch.nn.LeakyReLU(slope, inplace=True))
    patch = model.patch_size
    model.postprocess_output_frames = lambda frames: torch.nn.functional.pixel_shuffle(frames, patch).clamp_(-1, 1)
