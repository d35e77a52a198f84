"""Settings of the language-model agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scpo_agents.config import at_least

SCRATCH = "scratch"
"""The model that is no file: Qwen2's architecture with random weights and a vocabulary of words."""


@dataclass(frozen=True)
class LLMConfig:
    """A causal language model, what it is shown and how it replies."""

    model: str = "Qwen/Qwen2.5-1.5B-Instruct"
    """A name on the Hugging Face hub, a folder, or "scratch": a small Qwen2 with random weights."""

    reply: Literal["think", "choose", "score"] = "think"
    """"think": free text, whose last <action> is the action. "choose": a command, token by token, limited to the
    admissible ones. "score": one draw among the admissible commands by their log-probabilities."""

    context: Literal["window", "transcript"] = "window"
    """"window": each turn a new prompt with the last exchanges. "transcript": one chat an episode, to which turns are
    appended, so that nothing is read twice."""

    history: int = at_least(0, 2)
    """Exchanges that a window shows; also those that a transcript begins anew with when it is full."""

    show_commands: bool = True
    """Whether prompts list the admissible commands."""

    max_context: int = at_least(256, 4096)
    """Tokens of prompt and reply together; older exchanges give way."""

    max_tokens: int = at_least(1, 512)
    """Longest reply of "think", in tokens."""

    temperature: float = at_least(1e-3, 1.0)
    """Of sampling. Log-probabilities, sampled and trained, are those at this temperature."""

    parallel: int = at_least(1, 128)
    """Siblings whose replies are generated at once."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model lives; "auto" takes a GPU if there is one."""

    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """What is computed in; "auto" is bfloat16 on a GPU. Weights that are trained are kept in float32."""

    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    """Attention of transformers; "score" needs one of the first two."""

    checkpointing: bool = False
    """Compute activations anew in the backward pass: less memory, a third more time."""

    lora_rank: int = at_least(0, 0)
    """Rank of LoRA's matrices; 0 trains all weights."""

    lora_alpha: float = at_least(0, 32.0)
    """LoRA's scale is lora_alpha / lora_rank."""

    lora_targets: tuple[str, ...] = ("all-linear",)
    """The linear layers that get them, by name."""

    words: tuple[str, ...] = ()
    """Scratch: ids of the environments whose texts make the vocabulary."""

    vocabulary: int = at_least(16, 4096)
    """Scratch: words kept, the most frequent."""

    width: int = at_least(2, 96)
    """Scratch: numbers a token; a multiple of twice `heads`."""

    layers: int = at_least(1, 3)
    """Scratch: layers."""

    heads: int = at_least(1, 4)
    """Scratch: heads of attention; half as many for keys and values if even."""
