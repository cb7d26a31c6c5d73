"""Tiny encoders of images and texts of transformers' real classes, with random weights, as folders."""

from __future__ import annotations

from pathlib import Path

from generation.backends.torch_support import import_library
from tests.generation.backends import tiny, tiny_captions

_LAYERS = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 1, "num_attention_heads": 4}
_VISION = {**_LAYERS, "image_size": 32, "patch_size": 16}


def clip(folder: Path) -> Path:
    """CLIP, whose processor crops."""
    transformers = import_library("transformers")
    import_library("torch").manual_seed(0)
    tokenizer = tiny.clip_tokenizer()
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    transformers.CLIPProcessor(transformers.CLIPImageProcessor(**size), tokenizer).save_pretrained(folder)
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    text = {**_LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 77, "eos_token_id": end}
    config = transformers.CLIPConfig(text_config=text, vision_config=_VISION, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    return folder


def siglip(folder: Path) -> Path:
    """SigLIP, which reads texts that are padded to its whole length."""
    transformers = import_library("transformers")
    import_library("torch").manual_seed(0)
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokenizer = transformers.T5Tokenizer(vocab=pieces, extra_ids=0, model_max_length=24)
    tokenizer.model_input_names = ["input_ids"]
    size = {"height": 32, "width": 32}
    transformers.SiglipProcessor(transformers.SiglipImageProcessor(size=size), tokenizer).save_pretrained(
        folder
    )
    text = {**_LAYERS, "vocab_size": len(pieces), "max_position_embeddings": 24, "projection_size": 32}
    config = transformers.SiglipConfig(text_config=text, vision_config=_VISION)
    transformers.SiglipModel(config).save_pretrained(folder)
    return folder


def blip_retrieval(folder: Path) -> Path:
    """BLIP for retrieval, over a dozen words."""
    transformers = import_library("transformers")
    tiny_captions.blip(folder)
    config = transformers.BlipConfig.from_pretrained(folder)
    config.image_text_hidden_size = 16
    import_library("torch").manual_seed(0)
    transformers.BlipForImageTextRetrieval(config).save_pretrained(folder)
    return folder
