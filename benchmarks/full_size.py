"""Models of the published sizes with random weights, for benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generation.backends.torch_support import import_library
from tests.generation.backends import tiny


def stable_diffusion_14(folder: Path) -> Path:
    """Stable Diffusion 1.4: 860 million parameters in the UNet, 304 million in the safety checker, which
    flags nothing."""
    diffusers, transformers = import_library("diffusers"), import_library("transformers")
    import_library("torch").manual_seed(0)
    blocks: dict[str, Any] = {
        "down_block_types": ("DownEncoderBlock2D",) * 4,
        "up_block_types": ("UpDecoderBlock2D",) * 4,
        "block_out_channels": (128, 256, 512, 512),
    }
    text = transformers.CLIPTextConfig(
        hidden_size=768,
        intermediate_size=3072,
        num_attention_heads=12,
        num_hidden_layers=12,
        projection_dim=768,
        bos_token_id=512,
        eos_token_id=513,
        pad_token_id=513,
    )
    vision = {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "patch_size": 14,
    }
    pipeline = diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(layers_per_block=2, latent_channels=4, sample_size=512, **blocks),
        text_encoder=transformers.CLIPTextModel(text),
        tokenizer=tiny.clip_tokenizer(),
        unet=diffusers.UNet2DConditionModel(sample_size=64, cross_attention_dim=768),
        scheduler=diffusers.PNDMScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            skip_prk_steps=True,
            steps_offset=1,
        ),
        safety_checker=tiny.safety_checker(vision, projection_dim=768, flags_all=False),
        feature_extractor=transformers.CLIPImageProcessor(),
    )
    pipeline.save_pretrained(folder)
    return folder


def open_clip_model(folder: Path, name: str) -> Path:
    """A CLIP of open_clip by its name (ViT-B-32, ViT-L-14), as a folder."""
    open_clip = import_library("open_clip")
    import_library("torch").manual_seed(0)
    folder.mkdir(parents=True)
    stored = {"model_cfg": open_clip.get_model_config(name), "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(json.dumps(stored))
    model = open_clip.create_model(name)
    import_library("safetensors.torch").save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder


def blip(folder: Path) -> Path:
    """BLIP for captions in its base size, with the small vocabulary of the tests."""
    from tests.generation.backends import tiny_captions

    transformers = import_library("transformers")
    tiny_captions.blip(folder)
    small = transformers.BlipConfig.from_pretrained(folder)
    kept = ("vocab_size", "bos_token_id", "sep_token_id", "eos_token_id", "pad_token_id")
    text = {name: getattr(small.text_config, name) for name in kept} | {"encoder_hidden_size": 768}
    import_library("torch").manual_seed(0)
    config = transformers.BlipConfig(text_config=text, vision_config={"image_size": 384})
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    size = {"height": 384, "width": 384}
    processor = transformers.BlipProcessor.from_pretrained(folder)
    processor.image_processor.size = size
    processor.save_pretrained(folder)
    return folder


__all__ = ["blip", "open_clip_model", "stable_diffusion_14"]
