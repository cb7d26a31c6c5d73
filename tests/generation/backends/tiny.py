"""Tiny models of the real classes, with random weights, saved as the folders that people load.

Each function writes one folder and returns it. Weights are seeded, but differ between versions of the
libraries: compare two runs, never a run with a number in a test.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from generation.backends.torch_support import import_library

_HIDDEN = 32
_LENGTH = 77


def stable_diffusion(folder: Path, *, safety: str = "", seed: int = 0) -> Path:
    """Stable Diffusion 1.x, 64x64 pictures. `safety`: "" no checker, "flags all" or "flags none"."""
    diffusers = _seeded(seed)
    checker, features = _tiny_checker(flags_all=safety == "flags all") if safety else (None, None)
    pipeline = diffusers.StableDiffusionPipeline(
        vae=_vae(diffusers),
        text_encoder=_clip_text(),
        tokenizer=clip_tokenizer(),
        unet=_unet(diffusers, cross_attention_dim=_HIDDEN),
        scheduler=diffusers.PNDMScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            skip_prk_steps=True,
            set_alpha_to_one=False,
            steps_offset=1,
        ),
        safety_checker=checker,
        feature_extractor=features,
        requires_safety_checker=bool(safety),
    )
    return _saved(pipeline, folder)


def stable_diffusion_2(folder: Path, *, seed: int = 0) -> Path:
    """Stable Diffusion 2.x: predicts the velocity, reads its prompt with OpenCLIP's text encoder, DDIM."""
    diffusers = _seeded(seed)
    pipeline = diffusers.StableDiffusionPipeline(
        vae=_vae(diffusers),
        text_encoder=_clip_text(hidden_act="gelu", projection_dim=16),
        tokenizer=clip_tokenizer(),
        unet=_unet(diffusers, cross_attention_dim=_HIDDEN, use_linear_projection=True),
        scheduler=diffusers.DDIMScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            clip_sample=False,
            set_alpha_to_one=False,
            steps_offset=1,
            prediction_type="v_prediction",
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    return _saved(pipeline, folder)


def stable_diffusion_xl(folder: Path, *, seed: int = 0) -> Path:
    """Stable Diffusion XL: two text encoders, picture sizes as conditions, no safety checker."""
    diffusers = _seeded(seed)
    tokenizer = clip_tokenizer()
    pipeline = diffusers.StableDiffusionXLPipeline(
        vae=_vae(diffusers),
        text_encoder=_clip_text(),
        text_encoder_2=_clip_text(projected=True),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=_unet(
            diffusers,
            cross_attention_dim=2 * _HIDDEN,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            transformer_layers_per_block=(1,),
            projection_class_embeddings_input_dim=6 * 8 + _HIDDEN,
            use_linear_projection=True,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1
        ),
        add_watermarker=False,
    )
    return _saved(pipeline, folder)


def stable_diffusion_3(folder: Path, *, seed: int = 0) -> Path:
    """Stable Diffusion 3: a transformer, flow matching, three text encoders."""
    diffusers = _seeded(seed)
    tokenizer = clip_tokenizer()
    pipeline = diffusers.StableDiffusion3Pipeline(
        transformer=diffusers.SD3Transformer2DModel(
            sample_size=8,
            patch_size=1,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_projection_dim=_HIDDEN,
            joint_attention_dim=_HIDDEN,
            pooled_projection_dim=2 * _HIDDEN,
        ),
        vae=_vae(diffusers, shift_factor=0.06),
        text_encoder=_clip_text(projected=True),
        tokenizer=tokenizer,
        text_encoder_2=_clip_text(projected=True),
        tokenizer_2=tokenizer,
        text_encoder_3=_t5(),
        tokenizer_3=_t5_tokenizer(),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
    )
    return _saved(pipeline, folder)


def flux(folder: Path, *, guided: bool = True, seed: int = 0) -> Path:
    """Flux: a transformer over packed latents with guidance as a condition (dev), or without (schnell)."""
    diffusers = _seeded(seed)
    pipeline = diffusers.FluxPipeline(
        transformer=diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=_HIDDEN,
            pooled_projection_dim=_HIDDEN,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=guided,
        ),
        vae=_vae(diffusers, shift_factor=0.06),
        text_encoder=_clip_text(),
        tokenizer=clip_tokenizer(),
        text_encoder_2=_t5(),
        tokenizer_2=_t5_tokenizer(),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
    )
    return _saved(pipeline, folder)


def lora(model: Path, file: Path, *, seed: int = 0) -> Path:
    """A LoRA of a Stable Diffusion's UNet, with random weights that change every picture."""
    diffusers, peft = _seeded(seed), import_library("peft")
    unet = diffusers.UNet2DConditionModel.from_pretrained(model, subfolder="unet")
    targets = ["to_q", "to_k", "to_v", "to_out.0"]
    unet.add_adapter(peft.LoraConfig(r=4, target_modules=targets, init_lora_weights=False))
    layers = import_library("diffusers.utils").convert_state_dict_to_diffusers(
        import_library("peft.utils").get_peft_model_state_dict(unet)
    )
    diffusers.StableDiffusionPipeline.save_lora_weights(
        file.parent, unet_lora_layers=layers, weight_name=file.name
    )
    return file


def open_clip_folder(folder: Path, *, seed: int = 0) -> Path:
    """A CLIP of open_clip, loaded as `local-dir:FOLDER`."""
    torch, open_clip = import_library("torch"), import_library("open_clip")
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
        "text_cfg": {"context_length": 77, "width": 32, "heads": 2, "layers": 1, **open_clip_words(folder)},
    }
    preprocess = {"mean": [0.48, 0.46, 0.41], "std": [0.27, 0.26, 0.28]}
    stored = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(stored))
    model = open_clip.model.CLIP(**config)
    import_library("safetensors.torch").save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder


def open_clip_words(folder: Path) -> dict[str, Any]:
    """The settings of open_clip's tokenizer with a small vocabulary. The real one has 49,408 tokens: each
    load would read them again, and each step of a captioner would go over them."""
    merges = ["#version: tiny"]
    for word in ("a", "photo", "of", "person", "man", "woman", "in", "the", "hat", "sari", "street", "beard"):
        *begun, last = word
        parts = [*begun, f"{last}</w>"]
        merges += [f"{''.join(parts[:end])} {parts[end]}" for end in range(1, len(parts))]
    known = list(dict.fromkeys(merges))
    path = folder / "words.txt.gz"
    path.write_bytes(gzip.compress("\n".join(known).encode(), mtime=0))
    bytes_and_ends, special = 2 * 256, 2
    return {
        "vocab_size": bytes_and_ends + len(known) - 1 + special,
        "tokenizer_kwargs": {"bpe_path": str(path)},
    }


def clip_tokenizer() -> Any:
    """CLIP's tokenizer over single letters: 256 byte symbols, the same at a word's end, two special ones."""
    letters = sorted(import_library("tokenizers").pre_tokenizers.ByteLevel.alphabet())
    tokens = [*letters, *(f"{one}</w>" for one in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return import_library("transformers").CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=_LENGTH)


def _t5_tokenizer() -> Any:
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    return import_library("transformers").T5Tokenizer(vocab=pieces, extra_ids=0, model_max_length=_LENGTH)


def _clip_text(*, projected: bool = False, **changed: object) -> Any:
    transformers = import_library("transformers")
    config = transformers.CLIPTextConfig(
        vocab_size=514,
        bos_token_id=512,
        eos_token_id=513,
        pad_token_id=513,
        hidden_size=_HIDDEN,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
        max_position_embeddings=_LENGTH,
        **{"projection_dim": _HIDDEN, **changed},
    )
    return (transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel)(config)


def _t5() -> Any:
    transformers = import_library("transformers")
    return transformers.T5EncoderModel(
        transformers.T5Config(
            vocab_size=64, d_model=_HIDDEN, d_kv=8, d_ff=37, num_layers=1, num_heads=4, dropout_rate=0.0
        )
    )


def _unet(diffusers: Any, **more: object) -> Any:
    return diffusers.UNet2DConditionModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        block_out_channels=(32,),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D",),
        mid_block_type=None,  # each layer costs each test of a picture its time
        up_block_types=("CrossAttnUpBlock2D",),
        attention_head_dim=8,
        norm_num_groups=8,
        **more,
    )


def _vae(diffusers: Any, **more: object) -> Any:
    return diffusers.AutoencoderKL(
        block_out_channels=(8, 8, 16, 16),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=64,
        **more,
    )


def _tiny_checker(*, flags_all: bool) -> tuple[Any, Any]:
    vision = {
        "hidden_size": _HIDDEN,
        "intermediate_size": 37,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    size = {"height": 32, "width": 32}
    features = import_library("transformers").CLIPImageProcessor(size=size, crop_size=size)
    return safety_checker(vision, projection_dim=16, flags_all=flags_all), features


def safety_checker(vision: dict[str, int], *, projection_dim: int, flags_all: bool) -> Any:
    """Stable Diffusion's, which flags every picture or none."""
    config = import_library("transformers").CLIPConfig(vision_config=vision, projection_dim=projection_dim)
    module = import_library("diffusers.pipelines.stable_diffusion.safety_checker")
    checker = module.StableDiffusionSafetyChecker(config)
    # A picture is flagged if it is nearer to one of 17 concepts than this: no cosine is below -1 or above 1.
    checker.concept_embeds_weights.data.fill_(-2.0 if flags_all else 2.0)
    checker.special_care_embeds_weights.data.fill_(2.0)
    return checker


def _seeded(seed: int) -> Any:
    import_library("torch").manual_seed(seed)
    return import_library("diffusers")


def _saved(pipeline: Any, folder: Path) -> Path:
    pipeline.save_pretrained(folder)
    return folder
