"""diffusers in person: what its classes save opens, and the drop-in decodes as they do. Narrow networks of random
weights. `.ci/run python` installs the packages."""

import copy
import functools
import io
import pickle
import types

import pytest
from conftest import latents_of

import kinetograph as kg
from kinetograph.decoder import family_of

torch = pytest.importorskip("torch", reason="torch is not installed")
diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")

import kinetograph.diffusers  # noqa: E402

LATENTS = torch.from_numpy(latents_of(3, 4, 6))[None]
TOLERANCE = 2e-4  # of float32 sums in another order, one after another through the network
WAN21 = {"base_dim": 8, "z_dim": 16}
WAN22 = {"base_dim": 8, "decoder_base_dim": 8, "z_dim": 48, "in_channels": 12, "out_channels": 12, "is_residual": True,
         "patch_size": 2, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48}


def vae_of(kind=diffusers.AutoencoderKLWan, **config):
    torch.manual_seed(0)
    return kind(**(config or WAN21)).eval().requires_grad_(False)


@pytest.fixture
def vae():
    return vae_of()


@torch.no_grad()
def own(vae, latents=LATENTS):
    """What the decode() of the module's class makes of them."""
    return type(vae).decode(vae, latents).sample


@torch.no_grad()
def decoded(vae, latents=LATENTS):
    return vae.decode(latents).sample


@pytest.mark.parametrize("config, size", [(WAN21, (16, 24)), (WAN22, (32, 48))])
@torch.no_grad()
def test_encode_is_replaced(config, size):
    vae = vae_of(**config)
    video = torch.rand(2, 3, 11, *size, generator=torch.Generator().manual_seed(1)) * 2 - 1
    wanted = vae.encode(video).latent_dist
    replaced = kinetograph.diffusers.replace_vae(vae)
    made = vae.encode(video).latent_dist
    assert type(made) is type(wanted) and wanted.parameters.std() > 0.01
    assert float((made.parameters - wanted.parameters).abs().max()) < TOLERANCE
    assert not torch.equal(made.parameters, wanted.parameters), "sums in another order: it is the library's"
    first = vae.encode(video[:, :, :1], return_dict=False)[0]
    assert float((first.mode() - wanted.mode()[:, :, :1]).abs().max()) < TOLERANCE
    with torch.enable_grad(), pytest.raises(kg.InvalidArgument, match="the pictures require gradients, which an enc"):
        vae.encode(video.clone().requires_grad_())
    replaced.restore()
    assert torch.equal(vae.encode(video).latent_dist.parameters, wanted.parameters)


KL = {"down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4,
      "block_out_channels": (8, 16, 32, 32), "layers_per_block": 2, "norm_num_groups": 8}
SD = {**KL, "latent_channels": 4, "scaling_factor": 0.18215}
FLUX1 = {**KL, "latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159, "use_quant_conv": False,
         "use_post_quant_conv": False}


def flux2():
    """With statistics unlike 0 and 1."""
    vae = vae_of(diffusers.AutoencoderKLFlux2, **{**KL, "latent_channels": 32})
    vae.bn.running_mean.copy_(torch.linspace(-0.3, 0.3, 128))
    vae.bn.running_var.copy_(torch.linspace(0.5, 3, 128))
    return vae


@pytest.mark.parametrize("vae", [functools.partial(vae_of, diffusers.AutoencoderKL, **SD),
                                 functools.partial(vae_of, diffusers.AutoencoderKL, **FLUX1), flux2])
@torch.no_grad()
def test_a_vae_of_pictures_is_replaced_in_both_directions(vae):
    vae = vae()
    pictures = torch.rand(2, 3, 24, 40, generator=torch.Generator().manual_seed(1)) * 2 - 1
    moments = vae.encode(pictures).latent_dist.parameters
    latents = torch.randn(3, vae.config.latent_channels, 3, 5)
    wanted = vae.decode(latents).sample
    replaced = kinetograph.diffusers.replace_vae(vae)
    assert is_replaced(vae) and not differs(decoded(vae, latents), wanted)
    assert not torch.equal(decoded(vae, latents), wanted), "sums in another order: it is the library's"
    assert not differs(vae.decode(latents, return_dict=False, generator=None)[0], wanted)
    made = vae.encode(pictures).latent_dist.parameters
    assert not differs(made, moments) and not torch.equal(made, moments)
    replaced.restore()
    assert torch.equal(vae.decode(latents).sample, wanted)


@pytest.mark.parametrize("config, family", [(SD, "sd"), (FLUX1, "flux.1"), ({**SD, "scaling_factor": 0.13025}, "sdxl"),
                                            ({**FLUX1, "scaling_factor": 1.5305, "shift_factor": 0.0609}, "sd3")])
@torch.no_grad()
def test_the_folder_of_a_vae_of_pictures_decodes_as_what_was_saved(tmp_path, config, family):
    vae = vae_of(diffusers.AutoencoderKL, **config)
    vae.save_pretrained(tmp_path)
    latents = torch.randn(1, config["latent_channels"], 1, 3, 5)
    raw = latents[:, :, 0] / config["scaling_factor"] + config.get("shift_factor", 0)
    wanted = [vae.decode(values).sample.clamp(-1, 1) for values in (raw, latents[:, :, 0])]
    assert not differs(decoded_from(tmp_path, latents, normalized=True)[:, :, 0], wanted[0])
    assert not differs(decoded_from(tmp_path, latents)[:, :, 0], wanted[1])
    assert family_of(tmp_path) == family


@torch.no_grad()
def test_the_folder_of_flux_2_decodes_latents_in_patches_as_its_pipeline_does(tmp_path):
    vae = flux2()
    vae.save_pretrained(tmp_path)
    assert family_of(tmp_path) == "flux.2"
    patches = torch.randn(1, 128, 3, 4)
    undone = patches * torch.sqrt(vae.bn.running_var.view(1, -1, 1, 1) + vae.config.batch_norm_eps) \
        + vae.bn.running_mean.view(1, -1, 1, 1)
    raw = diffusers.Flux2Pipeline._unpatchify_latents(undone)
    wanted = vae.decode(raw).sample.clamp(-1, 1)
    assert not differs(decoded_from(tmp_path, raw[:, :, None])[:, :, 0], wanted)
    assert not differs(decoded_from(tmp_path, patches[:, :, None], normalized=None)[:, :, 0], wanted)
    with kg.Decoder(tmp_path, device="cpu", precision="fp32") as decoder:
        for array in (patches[0], patches[0].numpy()):
            frames = decoder.decode(array, dtype="float32", layout="TCHW")
            assert type(frames) is type(array) and not differs(torch.as_tensor(frames), wanted)
        assert len(decoder.latent_statistics()[0]) == 128
        pictures = vae.decode(raw).sample.clamp(-1, 1)
        moments = vae.encode(pictures).latent_dist.mode()
        made = kg.Encoder(decoder).encode(pictures[0][:, None], layout="CTHW")
        normalised = (diffusers.Flux2Pipeline._patchify_latents(moments) - vae.bn.running_mean.view(1, -1, 1, 1)) \
            / torch.sqrt(vae.bn.running_var.view(1, -1, 1, 1) + vae.config.batch_norm_eps)
        assert not differs(made[:, 0], normalised[0])
    with kg.Decoder(tmp_path, device="cpu", precision="fp32", normalized=True) as decoder:
        with pytest.raises(kg.InvalidArgument, match="latents of 32 channels are raw ones: normalized=True is of"):
            decoder.decode(raw[0])


def differs(frames, wanted):
    assert frames.shape == wanted.shape and frames.dtype == wanted.dtype and wanted.std() > 0.01
    return float((frames - wanted).abs().max()) > TOLERANCE


def is_replaced(vae):
    return getattr(vars(vae).get("decode"), "__module__", None) == "kinetograph.diffusers"


# Files


def decoded_from(weights, latents=LATENTS, normalized=False):
    with kg.Decoder(weights, device="cpu", precision="fp32", normalized=normalized) as decoder:
        return decoder.decode(latents, dtype="float32", layout="TCHW").permute(1, 0, 2, 3)[None]


@pytest.mark.parametrize("files, options", [
    ("diffusion_pytorch_model.safetensors", {}),
    ("diffusion_pytorch_model.bin", {"safe_serialization": False}),
    ("diffusion_pytorch_model.safetensors.index.json", {"max_shard_size": "1MB"}),
    ("diffusion_pytorch_model.fp16.safetensors", {"variant": "fp16"})])
def test_a_folder_of_save_pretrained_decodes_as_what_was_saved(vae, tmp_path, files, options):
    vae.save_pretrained(tmp_path, **options)
    assert (tmp_path / files).exists()
    assert not differs(decoded_from(tmp_path), own(vae))


def test_the_folder_of_a_pipeline_decodes_as_its_vae(tmp_path):
    mean, std = torch.linspace(-1, 1, 16), torch.linspace(0.5, 2, 16)
    vae = vae_of(**WAN21, latents_mean=mean.tolist(), latents_std=std.tolist())
    pipeline_of(vae).save_pretrained(tmp_path)
    wanted = own(vae, LATENTS * std.view(1, -1, 1, 1, 1) + mean.view(1, -1, 1, 1, 1))
    assert not differs(decoded_from(tmp_path, normalized=True), wanted)


@pytest.mark.parametrize("kind, config, frames", [(diffusers.AutoencoderKLQwenImage, WAN21, 1),
                                                  (diffusers.AutoencoderKLWan, WAN22, 2)])
def test_folders_of_other_vaes_decode_as_what_was_saved(tmp_path, kind, config, frames):
    vae = vae_of(kind, **config)
    latents = torch.randn(1, config["z_dim"], frames, 3, 4)
    vae.save_pretrained(tmp_path)
    assert not differs(decoded_from(tmp_path, latents), own(vae, latents))


@pytest.mark.parametrize("wrap", [lambda tensors: tensors, lambda tensors: {"state_dict": tensors, "step": 7},
                                  lambda tensors: {"vae." + name: value for name, value in tensors.items()}])
def test_what_torch_saves_decodes_as_what_was_saved(vae, tmp_path, wrap):
    torch.save(wrap(vae.state_dict()), tmp_path / "vae.pth")
    assert not differs(decoded_from(tmp_path / "vae.pth"), own(vae))


NORMS = {"norm_num_groups": 4, "layers_per_block": 1}
OTHERS = {"AutoencoderKLHunyuanVideo": {"block_out_channels": (8, 8, 8, 8), **NORMS},
          "AutoencoderKLAllegro": {"block_out_channels": (8, 8, 8, 8), **NORMS},
          "AutoencoderKLCosmos": {"encoder_block_out_channels": (8, 8, 8, 8), "num_layers": 1,
                                  "decode_block_out_channels": (8, 8, 8, 8)},
          "AutoencoderKLQwenImage21": {"base_dim": 8, "decoder_base_dim": 8, "latents_mean": [0.0] * 64,
                                       "latents_std": [1.0] * 64}}


@pytest.mark.parametrize("name", OTHERS)
def test_another_vae_is_refused_by_its_name(tmp_path, name):
    other = getattr(diffusers, name)(**OTHERS[name])
    other.save_pretrained(tmp_path)
    for refused in (lambda: kg.Decoder(tmp_path, device="cpu"), lambda: kinetograph.diffusers.replace_vae(other)):
        with pytest.raises(kg.InvalidArgument, match=f"this is an {name} by its metadata"):
            refused()


def test_a_module_without_the_parts_of_a_vae_is_refused_by_its_name(vae):
    with pytest.raises(kg.InvalidArgument, match="a Conv3d has no module with a decoder and a post_quant_conv"):
        kinetograph.diffusers.replace_vae(torch.nn.Conv3d(1, 1, 1))
    with pytest.raises(kg.InvalidArgument, match="a ModuleList has 2 modules with a decoder and a post_quant_conv"):
        kinetograph.diffusers.replace_vae(torch.nn.ModuleList([vae, vae_of()]))


# Pipelines and modules


def pipeline_of(vae):
    pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(1)
    transformer = diffusers.WanTransformer3DModel(
        num_attention_heads=2, attention_head_dim=12, text_dim=8, freq_dim=8, ffn_dim=8, num_layers=1,
        rope_max_seq_len=32)
    return diffusers.WanPipeline(tokenizer=None, text_encoder=None, vae=vae, transformer=transformer,
                                 scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0))


def video_of(pipe, **options):
    return pipe(prompt_embeds=torch.ones(1, 4, 8), negative_prompt_embeds=torch.zeros(1, 4, 8), height=32, width=48,
                num_frames=9, num_inference_steps=2, generator=torch.manual_seed(2), output_type="pt", **options).frames


def test_a_pipeline_makes_the_same_video(vae):
    pipe = pipeline_of(vae)
    pipe.set_progress_bar_config(disable=True)
    wanted = video_of(pipe)
    replaced = kinetograph.diffusers.replace_vae(pipe)
    assert is_replaced(vae) and not differs(video_of(pipe), wanted)
    replaced.restore()
    assert torch.equal(video_of(pipe), wanted)


def test_decode_gives_what_the_vaes_own_does(vae):
    latents = torch.randn(2, 16, 3, 4, 6)
    kinetograph.diffusers.replace_vae(types.SimpleNamespace(vae=vae))
    got = vae.decode(latents)
    assert type(got) is type(type(vae).decode(vae, latents)) and not differs(got.sample, own(vae, latents))
    (in_tuple,) = vae.decode(latents, return_dict=False)
    assert torch.equal(in_tuple, got.sample)
    assert vae.config.latents_mean[0] == pytest.approx(-0.7571)
    assert vae.bfloat16().decode(latents.bfloat16()).sample.dtype == torch.bfloat16


@pytest.mark.parametrize("frames", [1, 2])
def test_a_vae_of_qwen_image_decodes_any_number_of_frames(frames):
    vae = vae_of(diffusers.AutoencoderKLQwenImage)
    kinetograph.diffusers.replace_vae(vae)
    assert not differs(decoded(vae, LATENTS[:, :, :frames]), own(vae, LATENTS[:, :, :frames]))


class Subclass(diffusers.AutoencoderKLWan):
    pass


class Wrapper(torch.nn.Module):
    """Has the VAE as a part of itself."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def decode(self, z, return_dict=True):
        return self.inner.decode(z, return_dict)


class Plain:
    """A wrapper that is no torch module."""

    def __init__(self, inner):
        self.inner = inner

    decode = Wrapper.decode


class Other(torch.nn.Module):
    """A class of its own with the structure of the VAE, as code that was copied from diffusers has."""

    def __init__(self, vae):
        super().__init__()
        self.decoder, self.post_quant_conv, self.decode = vae.decoder, vae.post_quant_conv, vae.decode


@pytest.mark.parametrize("made", [Wrapper, Plain, Other, torch.optim.swa_utils.AveragedModel, torch.compile])
def test_what_holds_the_structure_of_a_vae_is_one(vae, made):
    wanted, holder = own(vae), made(vae)
    replaced = kinetograph.diffusers.replace_vae(types.SimpleNamespace(vae=holder))
    decodes = holder.module if isinstance(holder, torch.optim.swa_utils.AveragedModel) else holder
    frames = decoded(decodes)
    assert not torch.equal(frames, wanted) and not differs(frames, wanted)
    replaced.restore()
    assert torch.equal(decoded(decodes), wanted)


class Around(diffusers.AutoencoderKLWan):
    """With something around diffusers' decode()."""

    def decode(self, z, return_dict=True):
        return super().decode(z * 0.5, return_dict)


def test_what_a_subclass_has_around_decode_stays():
    vae = vae_of(Around)
    wanted = own(vae)
    replaced = kinetograph.diffusers.replace_vae(vae)
    frames = decoded(vae)
    assert not torch.equal(frames, wanted) and not differs(frames, wanted)
    replaced.restore()
    assert torch.equal(decoded(vae), wanted)


def test_a_subclass_is_what_its_base_is():
    vae = vae_of(Subclass)
    wanted = own(vae)
    kinetograph.diffusers.replace_vae(vae)
    assert is_replaced(vae) and not differs(decoded(vae), wanted)


# restore()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("of_users", [False, True])
def test_replacements_are_restored_in_any_order(vae, order, of_users):
    def theirs(z):
        return "theirs"

    if of_users:
        vae.decode = theirs
    replacements = [kinetograph.diffusers.replace_vae(vae) for _ in range(3)]
    for index in order:
        assert is_replaced(vae) and not differs(decoded(vae), own(vae))
        replacements[index].restore()
    for replaced in replacements:
        replaced.restore()  # again, which changes nothing
    assert vars(vae).get("decode") is (theirs if of_users else None)
    assert vae.decode(LATENTS) == "theirs" if of_users else torch.equal(decoded(vae), own(vae))


def test_what_was_put_over_a_replacement_stays_and_decodes_as_the_vae(vae):
    replaced = kinetograph.diffusers.replace_vae(vae)
    over = vae.decode = functools.partial(vae.decode)
    replaced.restore()
    assert vae.decode is over and torch.equal(decoded(vae), own(vae))


# torch.compile()


def compiled(function, **options):
    torch.compiler.reset()
    return torch.compile(function, backend="eager", **options)


def test_a_replaced_decode_can_be_compiled(vae):
    wanted = own(vae)
    replaced = kinetograph.diffusers.replace_vae(vae)
    vae.decode = compiled(vae.decode)
    assert not differs(decoded(vae), wanted)
    double = compiled(lambda z: vae.decode(z * 1.0).sample * 2)
    assert not differs(double(LATENTS), wanted * 2)
    replaced.restore()
    assert torch.equal(decoded(vae), wanted) and torch.equal(double(LATENTS), wanted * 2)


def test_a_graph_without_breaks_cannot_have_a_replaced_decode_and_says_why(vae):
    kinetograph.diffusers.replace_vae(vae)
    with pytest.raises(Exception, match="the decode is Kinetograph's, which is compiled already"):
        compiled(lambda z: vae.decode(z * 1.0).sample * 2, fullgraph=True)(LATENTS)


@pytest.mark.parametrize("compile", [
    lambda pipe: setattr(pipe, "vae", compiled(pipe.vae)), lambda pipe: pipe.vae.compile(backend="eager"),
    lambda pipe: setattr(pipe.vae, "decoder", compiled(pipe.vae.decoder)),
    lambda pipe: setattr(pipe.vae, "decode", compiled(pipe.vae.decode))],
    ids=["the VAE", "the VAE in place", "its decoder", "its decode"])
def test_a_vae_that_was_compiled_can_be_replaced(vae, compile):
    wanted, pipe = own(vae), types.SimpleNamespace(vae=vae)
    compile(pipe)
    theirs = vars(vae).get("decode")
    replaced = kinetograph.diffusers.replace_vae(pipe)
    assert is_replaced(vae) and not differs(decoded(pipe.vae), wanted)
    replaced.restore()
    assert vars(vae).get("decode") is theirs


# Weights that change


@torch.no_grad()
def in_place(vae):
    vae.decoder.conv_in.weight.mul_(2)


def by_state(vae):
    vae.load_state_dict({name: value * 1.5 for name, value in vae.state_dict().items()})


def by_assignment(vae):
    vae.load_state_dict({name: value * 1.5 for name, value in vae.state_dict().items()}, assign=True)


def by_another_part(vae):
    torch.manual_seed(3)
    vae.decoder = diffusers.AutoencoderKLWan(**WAN21).eval().requires_grad_(False).decoder


def by_training(vae):
    vae.post_quant_conv.weight.grad = torch.ones_like(vae.post_quant_conv.weight)
    torch.optim.SGD([vae.post_quant_conv.weight], lr=0.5).step()


@pytest.mark.parametrize("change", [in_place, by_state, by_assignment, by_another_part, by_training])
def test_weights_that_changed_are_read_again(vae, change):
    replaced = kinetograph.diffusers.replace_vae(vae)
    before = decoded(vae)
    change(vae)
    wanted = own(vae)
    assert differs(before, wanted) and not differs(decoded(vae), wanted)
    changed = replaced.decoder
    decoded(vae)
    assert replaced.decoder is changed


def test_weights_that_moved_are_not_opened_again(vae):
    replaced = kinetograph.diffusers.replace_vae(vae)
    opened = replaced.decoder
    for parameter in vae.parameters():
        parameter.data = parameter.data.clone()
    decoded(vae)
    assert replaced.decoder is opened


def test_weights_that_are_written_without_torchs_knowledge_are_read_on_demand(vae):
    replaced = kinetograph.diffusers.replace_vae(vae)
    vae.decoder.conv_in.weight.data.mul_(2)
    replaced.reload()
    assert not differs(decoded(vae), own(vae))


def test_weights_that_were_made_in_inference_mode_are_taken():
    with torch.inference_mode():
        vae = vae_of()
        kinetograph.diffusers.replace_vae(vae)
        assert not differs(vae.decode(LATENTS).sample, type(vae).decode(vae, LATENTS).sample)


def test_weights_that_are_stored_in_8_bits_are_widened(vae):
    wanted = own(vae)
    vae.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=torch.float32,
                                 skip_modules_pattern=[])
    narrow = own(vae)
    kinetograph.diffusers.replace_vae(vae, precision="fp32")
    assert differs(narrow, wanted) and not differs(decoded(vae), narrow)


# Gradients


def test_latents_that_require_gradients_are_refused(vae):
    kinetograph.diffusers.replace_vae(vae)
    latents = LATENTS.clone().requires_grad_()
    with pytest.raises(kg.InvalidArgument, match="the latents require gradients, .* latents.detach"):
        vae.decode(latents)
    assert not differs(decoded(vae, latents), own(vae, latents))
    assert not differs(vae.decode(latents.detach()).sample, own(vae, latents))


# Copies


def by_torch(vae):
    file = io.BytesIO()
    torch.save(vae, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda vae: pickle.loads(pickle.dumps(vae)), by_torch],
                         ids=["deepcopy", "pickle", "torch.save"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_copy_of_a_replaced_vae_is_the_vae_itself(vae, copied, count):
    replacements = [kinetograph.diffusers.replace_vae(vae) for _ in range(count)]
    other = copied(vae)
    assert is_replaced(vae) and not is_replaced(other)
    in_place(other)
    assert torch.equal(decoded(other), own(other)) and not differs(decoded(vae), own(vae))
    again = kinetograph.diffusers.replace_vae(other)
    for replaced in (*replacements, again):
        replaced.restore()
    assert torch.equal(decoded(other), own(other)) and torch.equal(decoded(vae), own(vae))


def test_a_copy_keeps_the_attribute_that_the_replacement_hides(vae):
    vae.decode = pytest.approx  # any function that can be pickled
    kinetograph.diffusers.replace_vae(vae)
    for other in (copy.deepcopy(vae), pickle.loads(pickle.dumps(vae))):
        assert other.decode is pytest.approx


def test_a_shallow_copy_shares_weights_and_decoder(vae):
    replaced = kinetograph.diffusers.replace_vae(vae)
    other = copy.copy(vae)
    in_place(vae)
    assert not differs(decoded(other), own(vae))
    replaced.restore()
    assert torch.equal(decoded(other), own(vae))


def test_a_replacement_cannot_be_copied_and_says_so(vae):
    replaced = kinetograph.diffusers.replace_vae(vae)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a replacement is of one module"):
            copied(replaced)
