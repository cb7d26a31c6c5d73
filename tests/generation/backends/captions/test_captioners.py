"""What each captioner does in its own way."""

import shutil
from dataclasses import replace

import pytest

from generation import backends
from generation.backends.base import BackendError
from generation.backends.ngrams import Ngrams
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from tests.generation.backends import tiny
from tests.generation.backends.test_weights import SPOILT, weights_of


class TestVisage:
    def test_bart_reads_the_nearest_ngrams(self, load, folders, ngrams, images):
        captioner = load("visage", top_ngrams=5, separator=" ; ")
        writer = captioner._model
        seen = writer.encode(images, batch=1)
        clip = backends.load(
            EmbeddingRecipe(model=f"local-dir:{folders['clip']}", pretrained=""), device="cpu"
        )
        vectors = clip.encode_images([clip.prepare(image) for image in images])
        cache = Ngrams(ngrams)
        cosines = vectors @ clip.encode_texts([cache.text(row) for row in range(len(cache))]).T
        rows = [
            "".join(f"{cache.text(row)} ; " for row in image)
            for image in (-cosines).argsort(axis=1)[:, :5].tolist()
        ]
        assert len(set(rows)) == 3
        lengths = [len(writer._tokenizer(row).input_ids) for row in rows]
        assert seen["mask"].sum(1).tolist() == lengths

    def test_ranked_by_the_cosine_to_the_image(self, load, folders, images):
        made = load("visage").caption(images, count=4, seed=1)
        clip = backends.load(
            EmbeddingRecipe(model=f"local-dir:{folders['clip']}", pretrained=""), device="cpu"
        )
        vectors = clip.encode_images([clip.prepare(image) for image in images])
        for vector, written in zip(vectors, made, strict=True):
            cosines = clip.encode_texts([one.text for one in written]) @ vector
            assert [one.score for one in written] == pytest.approx(cosines.tolist(), abs=1e-5)

    def test_the_best_of_all_candidates_are_kept(self, load, images):
        few = load("visage", candidates=40).caption(images, count=3, seed=1)
        many = load("visage", candidates=40).caption(images, count=9, seed=1)
        assert [one[:3] for one in many] == few

    def test_clip_always_gets_goes_of_one_size(self, load, images, monkeypatch):
        captioner = load("visage")
        encoder, sizes = captioner._model._encoder, {"images": set(), "texts": set()}
        images_of, texts_of = encoder.encode_images, encoder.encode_texts

        def noted(kind, encode, items):
            sizes[kind].add(len(items))
            return encode(items)

        monkeypatch.setattr(encoder, "encode_images", lambda items: noted("images", images_of, items))
        monkeypatch.setattr(encoder, "encode_texts", lambda items: noted("texts", texts_of, items))
        captioner.batch = 2
        for some in (images, images[:1]):
            captioner.caption(some, count=4, seed=1)
        assert sizes == {"images": {2}, "texts": {64}}

    def test_other_ngrams_other_captions(self, load, images):
        one, three = (load("visage", top_ngrams=top).caption(images, count=4, seed=1) for top in (1, 3))
        assert one != three

    def test_it_names_its_clip_and_its_ngrams(self, load, ngrams):
        told = load("visage").about.libraries
        assert told["ngrams"] == Ngrams(ngrams).manifest.vectors_sha256
        assert "local-dir:" in told["clip"]
        assert {"transformers", "open_clip_torch"} <= set(told)

    def test_ngrams_of_another_clip(self, recipe, folders, tmp_path):
        other = f"local-dir:{tiny.open_clip_folder(tmp_path / 'clip', seed=9)}"
        with pytest.raises(
            BackendError, match=r"was made with local-dir:.*asks for local-dir:.*manage\.py ngrams"
        ):
            backends.load(recipe("visage", clip=other), device="cpu")

    def test_ngrams_of_other_weights_in_the_same_folder(self, recipe, folders, ngrams, tmp_path):
        import json

        other = f"local-dir:{tiny.open_clip_folder(tmp_path / 'clip', seed=9)}"
        shutil.copytree(ngrams, tmp_path / "ngrams")
        told = json.loads((ngrams / "manifest.json").read_text())
        (tmp_path / "ngrams" / "manifest.json").write_text(json.dumps({**told, "model": other}))
        with pytest.raises(BackendError, match="made with other weights of"):
            backends.load(recipe("visage", clip=other, ngrams=str(tmp_path / "ngrams")), device="cpu")

    def test_no_ngrams_there(self, recipe, tmp_path):
        with pytest.raises(BackendError, match="There is no n-gram cache at"):
            backends.load(recipe("visage", ngrams=str(tmp_path)), device="cpu")

    def test_a_model_that_writes_no_captions(self, recipe, folders, ngrams):
        asked = recipe("visage")
        wrong = CaptionRecipe(model=str(folders["blip"]), options=asked.options)
        with pytest.raises(BackendError, match="cannot be loaded"):
            backends.load(wrong, device="cpu")

    def test_a_tokenizer_without_its_vocabulary(self, recipe, folders, tmp_path):
        there = shutil.copytree(folders["bart"], tmp_path / "bart")
        (there / "tokenizer.json").unlink()
        with pytest.raises(BackendError, match=str(there)):
            backends.load(CaptionRecipe(model=str(there), options=recipe("visage").options), device="cpu")


class TestBlip:
    def test_captions_begin_with_the_prompt(self, load, images):
        made = load("blip", prompt="a photo of").caption(images, count=4, seed=1)
        assert all(one.text.startswith("a photo of") for some in made for one in some)

    def test_greedy_is_what_transformers_writes(self, load, folders, images):
        """The image is read once and the decoder called by itself: the same words as the whole model's."""
        import transformers

        here = load("blip", count=1, method="greedy").caption(images, count=1, seed=0)
        model = transformers.BlipForConditionalGeneration.from_pretrained(folders["blip"]).eval()
        processor = transformers.BlipProcessor.from_pretrained(folders["blip"])
        pixels = processor.image_processor(images, return_tensors="pt").pixel_values
        tokens = model.generate(pixel_values=pixels, max_new_tokens=8, do_sample=False, num_beams=1)
        theirs = processor.tokenizer.batch_decode(tokens[:, 1:], skip_special_tokens=True)
        assert [" ".join(one[0].text.split()) for one in here] == [" ".join(text.split()) for text in theirs]

    def test_scores_are_mean_log_probabilities(self, load, folders, images):
        """Asked of the whole model, all tokens at once."""
        import torch
        import transformers

        captioner = load("blip", count=1, method="greedy")
        (written,) = captioner.caption(images[:1], count=1, seed=0)
        model = transformers.BlipForConditionalGeneration.from_pretrained(folders["blip"]).eval()
        processor = transformers.BlipProcessor.from_pretrained(folders["blip"])
        pixels = processor.image_processor(images[:1], return_tensors="pt").pixel_values
        tokens = model.generate(pixel_values=pixels, max_new_tokens=8, do_sample=False, num_beams=1)
        with torch.inference_mode():
            odds = model(pixel_values=pixels, input_ids=tokens).logits.log_softmax(-1)[0, :-1]
        expected = odds.gather(1, tokens[0, 1:, None]).mean().item()
        assert written[0].score == pytest.approx(expected, abs=1e-4)


class TestCoca:
    def test_greedy_is_the_likeliest_next_token_each_time(self, load, folders, images):
        """By the whole model's own forward pass."""
        import open_clip
        import torch

        here = load("coca", count=1, method="greedy", max_tokens=8).caption(images, count=1, seed=0)
        name = f"local-dir:{folders['coca']}"
        model, _, preprocess = open_clip.create_model_and_transforms(name)
        tokenizer = open_clip.get_tokenizer(name)
        model.eval()
        for image, written in zip(images, here, strict=True):
            tokens = torch.tensor([[tokenizer.sot_token_id]])
            for _ in range(8):
                with torch.inference_mode():
                    told = model(preprocess(image)[None], tokens, output_labels=False)
                tokens = torch.cat([tokens, told["logits"][:, -1].argmax(-1, keepdim=True)], dim=1)
            text = tokenizer.decode(tokens[0, 1:].tolist()).split("<end_of_text>")[0]
            assert written[0].text == " ".join(text.split())

    def test_a_caption_ends_where_the_model_ends_it(self, load):
        writer = load("coca")._model
        man, hat = (writer._tokenizer.encode(word)[0] for word in ("man", "hat"))
        assert writer._text([man, writer.end, hat]).split() == ["man"]
        assert writer._text([writer._tokenizer.sot_token_id, man, hat]).split() == ["man", "hat"]

    def test_more_tokens_than_it_knows_places_for(self, recipe):
        with pytest.raises(BackendError, match=r"options\.max_tokens: .* writes at most 19 tokens"):
            backends.load(recipe("coca", max_tokens=20), device="cpu")

    def test_a_clip_writes_no_captions(self, folders):
        asked = CaptionRecipe(backend="coca", model=f"local-dir:{folders['clip']}")
        with pytest.raises(
            BackendError, match=r"cannot write captions\. Choose a CoCa model, for example coca_ViT-L-14"
        ):
            backends.load(asked, device="cpu")


@pytest.mark.parametrize("how", ["truncated", "gone", "without a tensor"])
@pytest.mark.parametrize("backend", ["visage", "blip", "coca"])
def test_a_spoilt_folder_is_refused_and_never_filled_with_random_weights(
    recipe, folders, tmp_path, backend, how
):
    folder = folders["bart" if backend == "visage" else backend]
    copied = shutil.copytree(folder, tmp_path / "spoilt")
    SPOILT[how](weights_of(copied))
    asked = recipe(backend)
    spoilt = replace(asked, model=asked.model.replace(str(folder), str(copied)))
    with pytest.raises(BackendError, match="copy or download them again") as refused:
        backends.load(spoilt, device="cpu")
    assert str(copied) in str(refused.value)


def test_names_that_a_hub_would_know_say_how_to_get_them(monkeypatch):
    """Without a network, or a mistyped name."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BackendError, match=r"nobody/blip.*hub.*hf download nobody/blip"):
        backends.load(CaptionRecipe(backend="blip", model="nobody/blip"), device="cpu")
