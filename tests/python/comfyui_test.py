"""The nodes of comfyui/ as ComfyUI loads and runs them, with what they use of ComfyUI stood in for;
KINETOGRAPH_TEST_COMFYUI names a checkout of ComfyUI, whose own modules are used then."""

import importlib.util
import os
import sys
import types

import pytest
from conftest import ROOT, latents_of

import kinetograph as kg

torch = pytest.importorskip("torch", reason="torch is not installed")
sys.path.insert(0, str(ROOT / "bench/peers"))
import wan21_pytorch  # noqa: E402

LATENTS = torch.from_numpy(latents_of(3, 4, 6))[None]


class Interrupted(Exception):
    """As comfy.model_management.InterruptProcessingException."""


class Wan21:
    """comfy.latent_formats.Wan21, whose process_in() leads from what a VAE takes to what the diffusion model made."""

    def process_in(self, latent):
        return (latent - 0.5) / 2


class ProgressBar:
    """comfy.utils.ProgressBar; made[-1] is the newest."""

    made = []

    def __init__(self, total):
        self.total, self.current = total, 0
        ProgressBar.made.append(self)

    def update(self, value):
        self.current += value


def stood_in(folder):
    """The modules of ComfyUI as far as the nodes use them."""
    def get_save_image_path(prefix, directory, width, height):
        return directory, prefix, 1, "", prefix

    management = types.SimpleNamespace(
        throw_exception_if_processing_interrupted=lambda: None, intermediate_device=lambda: torch.device("cpu"),
        soft_empty_cache=lambda: None, unload_all_models=lambda: None)
    paths = types.SimpleNamespace(
        get_filename_list=lambda kind: sorted(path.name for path in (folder / kind).glob("*")),
        get_full_path=lambda kind, name: str(folder / kind / name) if (folder / kind / name).is_file() else None,
        get_temp_directory=lambda: str(folder / "temp"), get_save_image_path=get_save_image_path)
    return {"comfy": types.SimpleNamespace(model_management=management, utils=types.SimpleNamespace(
        ProgressBar=ProgressBar), latent_formats=types.SimpleNamespace(Wan21=Wan21)), "folder_paths": paths}


def of_checkout(checkout, folder, monkeypatch):
    """The modules themselves, with models and temporary files in `folder`."""
    monkeypatch.syspath_prepend(checkout)
    from comfy.cli_args import args
    args.cpu = True
    import comfy.latent_formats  # noqa: F401
    import comfy.model_management
    import comfy.utils
    import folder_paths
    monkeypatch.setattr(folder_paths, "filename_list_cache", {})
    for kind in ("vae", "vae_approx"):
        monkeypatch.setitem(folder_paths.folder_names_and_paths, kind, ([str(folder / kind)], {".safetensors", ".pth"}))
    monkeypatch.setattr(folder_paths, "temp_directory", str(folder / "temp"))
    monkeypatch.setattr(comfy.utils, "ProgressBar", ProgressBar)
    return {"comfy": comfy, "folder_paths": folder_paths}


@pytest.fixture
def host(tmp_path, monkeypatch):
    """ComfyUI, with a checkpoint in models/vae and a tiny one in models/vae_approx."""
    for name in ("vae", "vae_approx", "temp"):
        (tmp_path / name).mkdir()
    torch.save(wan21_pytorch.synthetic_weights("synthetic:wan2.1,dim=8"), tmp_path / "vae" / "wan.pth")
    checkout = os.environ.get("KINETOGRAPH_TEST_COMFYUI")
    modules = of_checkout(checkout, tmp_path, monkeypatch) if checkout else stood_in(tmp_path)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("latent_formats", "model_management", "utils"):
        monkeypatch.setitem(sys.modules, f"comfy.{name}", getattr(modules["comfy"], name))
    return types.SimpleNamespace(**modules, path=tmp_path)


@pytest.fixture
def nodes(host, monkeypatch):
    """NODE_CLASS_MAPPINGS, as ComfyUI loads a folder of custom_nodes."""
    spec = importlib.util.spec_from_file_location("custom_nodes_kinetograph", ROOT / "comfyui" / "__init__.py")
    package = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, package)
    monkeypatch.delitem(sys.modules, f"{spec.name}.nodes", raising=False)
    spec.loader.exec_module(package)
    assert package.NODE_DISPLAY_NAME_MAPPINGS.keys() == package.NODE_CLASS_MAPPINGS.keys()
    return package.NODE_CLASS_MAPPINGS


@torch.inference_mode()
def run(nodes, workflow):
    """The results of a workflow in ComfyUI's API format, {id: {"class_type": ..., "inputs": {name: value or [id,
    index of the output]}}}, in the order of its nodes; inputs are checked and defaulted as ComfyUI does."""
    results = {}
    for key, node in workflow.items():
        kind, given = nodes[node["class_type"]], {}
        for name, (wanted, *options) in kind.INPUT_TYPES()["required"].items():
            value = node["inputs"].get(name, options[0].get("default") if options else None)
            if isinstance(wanted, list):
                assert value in wanted, f"{value} is not in {wanted}"
            elif isinstance(value, list):
                source, index = value
                assert nodes[workflow[source]["class_type"]].RETURN_TYPES[index] == wanted
                value = results[source][index]
            elif wanted == "FLOAT":
                assert options[0]["min"] <= value <= options[0]["max"]
            given[name] = value
        result = getattr(kind(), kind.FUNCTION)(**given)
        if not getattr(kind, "OUTPUT_NODE", False):
            assert len(result) == len(kind.RETURN_TYPES)
        results[key] = result
    return results


class LatentOf:
    """A node that gives latents."""

    RETURN_TYPES, FUNCTION = ("LATENT",), "latents"
    samples = LATENTS

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {}}

    def latents(self):
        return ({"samples": self.samples},)


def workflow_of(last, weights="wan.pth", **inputs):
    return {"1": {"class_type": "LatentOf", "inputs": {}},
            "2": {"class_type": "KinetographLoad", "inputs": {"weights": weights, "device": "auto",
                                                              "precision": "fp32"}},
            "3": {"class_type": last, "inputs": {"samples": ["1", 0], "decoder": ["2", 0], **inputs}}}


def images_of(nodes, samples=LATENTS, weights="wan.pth"):
    source = type("Source", (LatentOf,), {"samples": samples})
    return run({**nodes, "LatentOf": source}, workflow_of("KinetographDecode", weights))["3"][0]


def decoded(host, latents=LATENTS[0], dtype="float32"):
    with kg.Decoder(host.path / "vae" / "wan.pth", device="cpu", precision="fp32", normalized=False) as decoder:
        return decoder.decode(latents, dtype=dtype)


def test_decode_gives_images_as_comfyui_has_them(host, nodes):
    images = images_of(nodes)
    assert images.shape == (9, 32, 48, 3) and images.dtype == torch.float32 and images.std() > 0.05
    assert torch.allclose(images, (decoded(host) + 1) / 2, atol=1e-6)
    assert images.min() >= 0 and images.max() <= 1
    assert ProgressBar.made[-1].total == ProgressBar.made[-1].current == 3


def test_a_batch_is_one_clip_after_another_and_pictures_are_clips_of_one_frame(host, nodes):
    batch = torch.cat([LATENTS, LATENTS.flip(4)])
    images = images_of(nodes, batch)
    assert ProgressBar.made[-1].total == ProgressBar.made[-1].current == 6
    assert torch.equal(images[:9], images_of(nodes)) and torch.equal(images[9:], images_of(nodes, batch[1:]))
    pictures = images_of(nodes, batch[:, :, 0])
    assert torch.equal(pictures, images[[0, 9]])


@pytest.mark.parametrize("samples", [torch.zeros(16, 4, 6), types.SimpleNamespace(is_nested=True, shape=(2,))])
def test_other_latents_are_refused(nodes, samples):
    with pytest.raises(ValueError, match="Kinetograph decodes .batch, channels, frames, height, width."):
        images_of(nodes, samples)


def test_latents_of_another_model_are_refused_by_the_library(nodes):
    with pytest.raises(kg.InvalidArgument, match="48"):
        images_of(nodes, torch.zeros(1, 48, 2, 4, 6))


def test_a_decoder_of_what_the_diffusion_model_makes_gets_that(host, nodes, monkeypatch):
    """As TAEW does; ComfyUI's latents are what a VAE takes."""
    name, family = "taew2_1.safetensors", "synthetic:taew2.1"
    (host.path / "vae_approx" / name).write_bytes(b"")
    find = host.folder_paths.get_full_path
    monkeypatch.setattr(host.folder_paths, "get_full_path", lambda kind, file: (
        family if (kind, file) == ("vae_approx", name) else find(kind, file)))
    made = host.comfy.latent_formats.Wan21().process_in(LATENTS)
    with kg.Decoder(family, device="cpu", precision="fp32") as decoder:
        wanted = decoder.decode(made[0], dtype="float32")
        assert not torch.allclose(wanted, decoder.decode(LATENTS[0], dtype="float32"), atol=0.01)
    assert torch.allclose(images_of(nodes, weights=name), (wanted + 1) / 2, atol=1e-6)


@pytest.mark.parametrize("frames, animated", [(3, True), (1, False)])
def test_preview_plays_the_frames_in_the_node(host, nodes, frames, animated):
    source = type("Source", (LatentOf,), {"samples": LATENTS[:, :, :frames]})
    result = run({**nodes, "LatentOf": source}, workflow_of("KinetographPreview", fps=8.0))["3"]
    (shown,) = result["ui"]["images"]
    assert result["ui"]["animated"] == (animated,) and (shown["type"], shown["subfolder"]) == ("temp", "")
    written = (host.path / "temp" / shown["filename"]).read_bytes()
    kind = b"\x89PNG" if shown["filename"].endswith(".png") else b"ftyp"
    assert kind in written[:12] and (animated or shown["filename"].endswith(".png"))


def test_a_workflow_that_is_stopped_ends_at_the_next_step(host, nodes, monkeypatch):
    steps = []

    def stop():
        steps.append(1)
        raise Interrupted

    monkeypatch.setattr(host.comfy.model_management, "throw_exception_if_processing_interrupted", stop)
    with pytest.raises(Interrupted):
        images_of(nodes)
    assert len(steps) == 1


def test_a_full_gpu_is_cleared_of_comfyuis_models_once(host, nodes, monkeypatch):
    calls, unloaded, failing = [], [], {1}

    def open_decoder(path, **options):
        calls.append(options)
        if len(calls) in failing:
            raise kg.OutOfMemory("no room")
        return "opened"

    monkeypatch.setattr(kg, "Decoder", open_decoder)
    monkeypatch.setattr(host.comfy.model_management, "unload_all_models", lambda: unloaded.append(1))
    monkeypatch.setattr(host.comfy.model_management, "soft_empty_cache", lambda: None)
    load = nodes["KinetographLoad"]()
    load.load("wan.pth", "auto", "bf16")
    assert len(calls) == 2 and len(unloaded) == 1
    failing.update({3, 4})
    with pytest.raises(kg.OutOfMemory):
        load.load("wan.pth", "auto", "bf16")


def test_load_lists_the_checkpoints_and_devices_and_notices_a_newer_file(host, nodes):
    load = nodes["KinetographLoad"]
    inputs = load.INPUT_TYPES()["required"]
    assert inputs["weights"][0] == ["wan.pth"] and inputs["device"][0][:2] == ["auto", "cpu:0"]
    before = load.IS_CHANGED(weights="wan.pth", device="auto", precision="bf16")
    os.utime(host.path / "vae" / "wan.pth", (1, 1))
    assert load.IS_CHANGED(weights="wan.pth") == 10**9 != before
    with pytest.raises(FileNotFoundError, match="other.pth: in none of ComfyUI's folders vae and vae_approx"):
        load.IS_CHANGED(weights="other.pth")
