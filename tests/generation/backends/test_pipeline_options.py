"""LoRAs, variants, quantised weights and offloading: what can be tested without a GPU."""

import importlib
import importlib.util
import shutil
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace

import pytest

from generation.backends import image_diffusers, pipeline_options
from generation.backends.base import BackendError
from generation.backends.torch_support import import_library
from tests.generation.backends.test_image_diffusers import WANTED, loaded, recipe, refusal
from tests.generation.backends.test_images import pngs

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub|peft|torchao)"),
]
GPU = SimpleNamespace(type="cuda")


class TestLora:
    def test_it_changes_the_picture_as_far_as_its_scale_says(self, tiny_models, lora):
        model = tiny_models.stable_diffusion
        plain = pngs(loaded(model), WANTED[:1])
        written = (f"{lora}", f"{lora}@0.5", f"{lora}:other.safetensors")
        made = [pngs(loaded(model, lora=(text,)), WANTED[:1])[0] for text in written]
        both = pngs(loaded(model, lora=(f"{lora}", f"{lora}:other.safetensors")), WANTED[:1])
        assert len({*plain, *made, *both}) == 5
        assert pngs(loaded(model, lora=(f"{lora}@0",)), WANTED[:1]) == plain
        by_file = f"{lora}/other.safetensors"
        assert pngs(loaded(model, lora=(by_file,)), WANTED[:1]) == made[2:]

    def test_its_file_is_named_in_the_history(self, tiny_models, lora):
        texts = f"{lora}@0.5", f"{lora}:other.safetensors"
        libraries = loaded(tiny_models.stable_diffusion, lora=texts).about.libraries
        files = [libraries[f"lora {text}"] for text in texts]
        assert len(set(files)) == 2
        assert all(file.startswith("files-") for file in files)
        assert libraries["peft"]

    def test_one_on_the_hub_comes_from_the_cache_or_the_cure_is_named(
        self, tiny_models, lora, tmp_path, monkeypatch
    ):
        constants = importlib.import_module("huggingface_hub.constants")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        commit = "0123456789abcdef0123456789abcdef01234567"
        cached = tmp_path / "models--someone--style"
        shutil.copytree(lora, cached / "snapshots" / commit)
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text(commit)
        model = tiny_models.stable_diffusion
        from_hub = loaded(model, lora=("someone/style:other.safetensors",))
        local = loaded(model, lora=(f"{lora}:other.safetensors",))
        assert pngs(from_hub, WANTED[:1]) == pngs(local, WANTED[:1])
        why = refusal(model, lora=("someone/other",))
        assert "hf download someone/other pytorch_lora_weights.safetensors" in why

    def test_one_for_another_model_is_refused(self, tiny_models, lora):
        why = refusal(tiny_models.stable_diffusion_3, lora=(f"{lora}",))
        assert f"The LoRA '{lora}' cannot be loaded" in why
        assert "trained for this model" in why

    def test_without_its_library_the_cure_is_named(self, tiny_models, monkeypatch):
        monkeypatch.setitem(sys.modules, "peft", None)
        pipeline = SimpleNamespace(load_lora_weights=None)
        with pytest.raises(BackendError, match=r"needs peft.*pip install '\.\[models\]'"):
            pipeline_options.add_loras(pipeline, recipe("m", lora=("a/b",)))

    def test_a_pipeline_that_takes_none_says_so(self):
        with pytest.raises(BackendError, match="SimpleNamespace takes no LoRA"):
            pipeline_options.add_loras(SimpleNamespace(), recipe("m", lora=("a/b",)))


def test_a_variant_is_loaded_from_its_own_files(tiny_models, tmp_path):
    plain, fp16 = tmp_path / "plain", tmp_path / "fp16"
    diffusers = import_library("diffusers")
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(tiny_models.stable_diffusion)
    pipeline.save_pretrained(plain)
    pipeline.save_pretrained(fp16, variant="fp16")
    assert pngs(loaded(fp16, variant="fp16"), WANTED[:1]) == pngs(loaded(plain), WANTED[:1])
    assert "no files of the variant 'fp16'" in refusal(plain, variant="fp16")


class TestQuantisation:
    PARTS = {
        "transformer": ("diffusers", "FluxTransformer2DModel"),
        "text_encoder": ("transformers", "CLIPTextModel"),
        "text_encoder_2": ("transformers", "T5EncoderModel"),
        "vae": ("diffusers", "AutoencoderKL"),
        "tokenizer_2": ("transformers", "T5Tokenizer"),
    }

    @pytest.mark.parametrize("how", ["bitsandbytes_4bit", "bitsandbytes_8bit"])
    def test_diffusers_is_asked_to_quantise_the_large_parts(self, tiny_models, monkeypatch, how):
        monkeypatch.setitem(sys.modules, "bitsandbytes", ModuleType("bitsandbytes"))
        version = metadata.version
        monkeypatch.setattr(
            metadata, "version", lambda name: "0.50" if name == "bitsandbytes" else version(name)
        )
        asked = []
        monkeypatch.setattr(
            image_diffusers, "_text_to_image", lambda *_, **options: asked.append(options) or 1 / 0
        )
        monkeypatch.setattr(pipeline_options, "check_device", lambda *_: None)
        assert "ZeroDivisionError" in refusal(tiny_models.flux, quantisation=how, dtype="bfloat16")
        mapping = asked[0]["quantization_config"].quant_mapping
        assert set(mapping) == {"transformer", "text_encoder_2"}
        assert type(mapping["transformer"]).__module__.startswith("diffusers.")
        assert type(mapping["text_encoder_2"]).__module__.startswith("transformers.")
        for config in mapping.values():
            assert (config.load_in_4bit, config.load_in_8bit) == (how.endswith("4bit"), how.endswith("8bit"))
            if config.load_in_4bit:
                assert config.bnb_4bit_compute_dtype == import_library("torch").bfloat16

    @pytest.mark.parametrize("how", ["bitsandbytes_4bit", "torchao_int8"])
    def test_a_missing_package_is_named(self, monkeypatch, how):
        package = how.partition("_")[0]
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(BackendError, match=rf"needs the package {package}.*pip install {package}"):
            pipeline_options.quantisation(recipe("m", quantisation=how, dtype="bfloat16"), self.PARTS)

    @pytest.mark.skipif(
        importlib.util.find_spec("torchao") is None, reason="NO TORCHAO: no quantised model was loaded"
    )
    def test_int8_weights_make_a_picture_nearly_the_same(self, tiny_models):
        int8 = loaded(tiny_models.flux, quantisation="torchao_int8", dtype="bfloat16")
        kinds = {type(each).__name__ for each in int8._pipeline.transformer.parameters()}
        assert any("Int8" in kind for kind in kinds)
        assert int8.about.libraries["torchao"]
        assert pngs(int8, WANTED[:1]) != pngs(loaded(tiny_models.flux, dtype="bfloat16"), WANTED[:1])
        assert pngs(int8, WANTED[:2])[1:] == pngs(int8, WANTED[1:2])


class TestOffload:
    @pytest.mark.parametrize(
        "options",
        [{"offload": "model"}, {"offload": "sequential"}, {"quantisation": "bitsandbytes_8bit"}],
    )
    def test_what_needs_a_gpu_is_refused_on_a_cpu_before_anything_is_loaded(self, options):
        why = refusal("/nowhere", **options, dtype="bfloat16")
        assert "needs a GPU, and this worker computes on the CPU" in why

    @pytest.mark.parametrize(
        ("how", "call"),
        [("model", "enable_model_cpu_offload"), ("sequential", "enable_sequential_cpu_offload")],
    )
    def test_diffusers_is_asked_to_offload_to_the_gpu_and_nothing_is_put_there(self, tiny_models, how, call):
        pipeline = loaded(tiny_models.stable_diffusion)._pipeline
        calls = []
        offloaded = SimpleNamespace(
            set_progress_bar_config=pipeline.set_progress_bar_config,
            to=lambda device: calls.append("to"),
            unet=pipeline.unet,
            vae=pipeline.vae,
            **{call: lambda *, device: calls.append(device)},
        )
        image_diffusers._place(offloaded, GPU, None, how)
        assert calls == [GPU]
        torch = import_library("torch")
        assert pipeline.unet.conv_in.weight.is_contiguous(memory_format=torch.contiguous_format)

    def test_an_offloaded_pipeline_makes_the_same_picture(self, tiny_models, monkeypatch):
        """The hooks of "model" work on a CPU too, without gain; those of "sequential" do not."""
        plain = pngs(loaded(tiny_models.flagging_all, safety="record"), WANTED[:2])
        monkeypatch.setattr(pipeline_options, "check_device", lambda *_: None)
        model = loaded(tiny_models.flagging_all, safety="record", offload="model")
        assert model._pipeline._all_hooks
        assert pngs(model, WANTED[:2]) == plain

    def test_the_checker_gets_its_input_where_it_is(self, tiny_models):
        """The parts of an offloaded pipeline are elsewhere."""
        model = loaded(tiny_models.flagging_all, safety="record")
        model._pipeline.to("meta")
        pixels = image_diffusers.Image.new("RGB", (64, 64))
        assert model._verdicts([pixels]) == [True]
