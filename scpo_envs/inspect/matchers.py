"""The matchers that the inspector offers, and why others cannot be had."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from scpo_envs.credit import LexicalMatcher, Matcher

DEFAULT = "lexical"

_MODELS = {
    "embedding": "cosine of sentence embeddings",
    "cross-encoder": "a cross-encoder, as in the paper",
    "onnx": "a cross-encoder without torch",
}


@dataclass(frozen=True)
class Offer:
    """A matcher to choose.

    Attributes:
        name: Its name in addresses.
        label: What it does.
        matcher: The matcher; None where it cannot be had.
        reason: Why not.
    """

    name: str
    label: str
    matcher: Matcher | None
    reason: str = ""


def offers(models: Mapping[str, Matcher] | None = None) -> dict[str, Offer]:
    """All matchers by name: the lexical ones, and those of models.

    Args:
        models: Matchers of models that have been loaded, by the names "embedding", "cross-encoder", "onnx".

    Raises:
        ValueError: A model's name is another.
    """
    models = models or {}
    if unknown := models.keys() - _MODELS.keys():
        raise ValueError(f"unknown matcher {sorted(unknown)[0]!r}: models are {', '.join(_MODELS)}")
    listed = [
        Offer(DEFAULT, "words in order", LexicalMatcher()),
        Offer("lexical-whole", "words in order, observation and action as one text", LexicalMatcher(apart=False)),
        Offer("lexical-characters", "characters in order", LexicalMatcher(scorer="characters")),
        Offer("lexical-sorted", "words in any order", LexicalMatcher(scorer="token_sort")),
    ]
    installed = importlib.util.find_spec("sentence_transformers") or importlib.util.find_spec("onnxruntime")
    for name, label in _MODELS.items():
        reason = f"scpo inspect --{name} FOLDER" if installed else "needs pip install 'scpo-envs[models]'"
        listed.append(Offer(name, label, models.get(name), "" if name in models else reason))
    return {offer.name: offer for offer in listed}


def load_models(
    embedding: str | None = None, cross_encoder: str | None = None, onnx: str | None = None
) -> dict[str, Matcher]:
    """Load the models that are named; each is a folder or a hub's name.

    Raises:
        MissingExtraError: The extra `models` is not installed.
    """
    from scpo_envs.credit import CrossEncoderMatcher, EmbeddingMatcher, OnnxCrossEncoderMatcher

    loaded: dict[str, Matcher] = {}
    if embedding is not None:
        loaded["embedding"] = EmbeddingMatcher(embedding)
    if cross_encoder is not None:
        loaded["cross-encoder"] = CrossEncoderMatcher(cross_encoder)
    if onnx is not None:
        loaded["onnx"] = OnnxCrossEncoderMatcher(onnx)
    return loaded
