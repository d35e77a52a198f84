"""Making, reading and writing the model: from the hub, a folder, or scratch; whole or through LoRA."""

from __future__ import annotations

import copy
import inspect
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from scpo_agents.llm.config import SCRATCH, LLMConfig
from scpo_agents.llm.words import END, tokenizer_of, vocabulary
from scpo_envs.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedTokenizerBase

_PLAIN_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # what their one class was and is called
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class LanguageModel:
    """A causal language model of which logits are asked at given places.

    Args:
        module: The model, perhaps with adapters.
        dtype: What is computed in; weights may be kept in more.
        temperature: What logits are divided by.
    """

    def __init__(self, module: nn.Module, *, dtype: torch.dtype, temperature: float) -> None:
        self.module = module
        self.dtype = dtype
        self.temperature = temperature
        self.device = next(module.parameters()).device
        causal = module.get_base_model() if hasattr(module, "get_base_model") else module
        self._causal: Any = causal
        self._head: nn.Module = causal.get_output_embeddings()
        named = inspect.signature(causal.forward).parameters
        self._cache_name = "cache" if "cache" in named else "past_key_values"  # transformers renamed it in 5.2x
        self.eager = causal.config._attn_implementation == "eager"

    def logits(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        positions: torch.Tensor,
        where: torch.Tensor,
        cache: Any = None,
    ) -> torch.Tensor:
        """Logits over the temperature after some of the tokens of a batch, in float32.

        The head is run where it is asked for alone: a vocabulary is wide.

        Args:
            ids: Shape (B, Q).
            mask: What is no padding, the cache's slots first, shape (B, T + Q); or who attends to whom, shape
                (B, 1, Q, T + Q).
            positions: Of each token in its text, shape (B, Q).
            where: Places asked for, row * Q + column, shape (n,).
            cache: A `DynamicCache` of T slots, to which these tokens are added.

        Returns:
            Shape (n, vocabulary).
        """
        if mask.dim() == 4 and self.eager:
            mask = torch.where(mask, 0.0, torch.finfo(self.dtype).min).to(self.dtype)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32), self._at(where):
            output = self._causal(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                use_cache=cache is not None,
                **{self._cache_name: cache},
            )
        logits: torch.Tensor = output.logits[0].float() / self.temperature
        return logits

    @contextmanager
    def _at(self, where: torch.Tensor) -> Iterator[None]:
        """Let the head see only the hidden states at some places."""
        handle = self._head.register_forward_pre_hook(lambda _, given: (given[0].flatten(0, 1)[where][None],))
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Neither gradients nor, even if it is otherwise on, checkpointing, which would keep no cache."""
        training = self.module.training
        self.module.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.module.train(training)

    def frozen_copy(self) -> LanguageModel:
        """A copy without gradients, in what is computed in."""
        module = copy.deepcopy(self.module).to(self.dtype).requires_grad_(False)
        return LanguageModel(module, dtype=self.dtype, temperature=self.temperature)


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of transformers' inside: files are read and written again and again."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def choose_device(config: LLMConfig) -> torch.device:
    """Where the model is to live; of several GPUs, this process's."""
    wanted = config.device
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if wanted == "cuda" else torch.device("cpu")


def choose_dtype(config: LLMConfig, device: torch.device) -> torch.dtype:
    """What is computed in."""
    if config.dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return DTYPES[config.dtype]


def make_model(
    config: LLMConfig, *, seed: int, folder: Path | None = None
) -> tuple[LanguageModel, PreTrainedTokenizerBase]:
    """The model and its tokenizer, ready to train: on its device, without dropout.

    Args:
        config: Which, and how.
        seed: Decides random weights: a scratch model's, and LoRA's.
        folder: What `save_model` wrote; whole models and vocabularies are read from there.

    Raises:
        MissingExtraError: transformers, or peft for LoRA, is not installed.
        ValueError: The model is of a kind that cannot be used.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("the language-model agent", "llm") from error
    device = choose_device(config)
    dtype = choose_dtype(config, device)
    whole = folder if folder is not None and not config.lora_rank else None
    with torch.random.fork_rng(devices=[]), quiet():  # layers draw from the global generator
        torch.manual_seed(seed)
        tokenizer: Any
        if config.model == SCRATCH:
            tokenizer = _scratch_tokenizer(config, folder)
            module = _scratch_module(config, tokenizer)
        else:
            source = str(whole or config.model)
            tokenizer = read_tokenizer(folder or config.model)
            module = _pretrained(source, config, dtype if config.lora_rank else torch.float32)
        _check_kind(module.config, config)
        if config.lora_rank:
            module = _with_adapters(module, config)
    module.to(device)
    if config.checkpointing:
        # transformers 5.2x has a new name for it
        enable = getattr(module, "activation_checkpointing_enable", module.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
    module.train(config.checkpointing)  # there is no dropout left; only checkpointing asks for the mode
    return LanguageModel(module, dtype=dtype, temperature=config.temperature), tokenizer


def read_tokenizer(source: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a hub model or a folder, as it was saved.

    `AutoTokenizer` goes by the model's type, and would split words from scratch as Qwen2 does.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    settings = Path(source) / "tokenizer_config.json"
    plain = settings.exists() and json.loads(settings.read_text("utf-8")).get("tokenizer_class") in _PLAIN_TOKENIZERS
    kind: Any = PreTrainedTokenizerFast if plain else AutoTokenizer
    tokenizer: PreTrainedTokenizerBase = kind.from_pretrained(str(source))
    return tokenizer


def _pretrained(source: str, config: LLMConfig, dtype: torch.dtype) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = AutoConfig.from_pretrained(source)
    for name, value in vars(settings).items():
        if isinstance(value, float) and ("dropout" in name or name.endswith("pdrop")):
            setattr(settings, name, 0.0)  # what was sampled without dropout is not trained with it
    return AutoModelForCausalLM.from_pretrained(
        source, config=settings, dtype=dtype, attn_implementation=config.attention
    )


def _scratch_tokenizer(config: LLMConfig, folder: Path | None) -> PreTrainedTokenizerBase:
    if folder is not None:
        return read_tokenizer(folder)
    if not config.words:
        raise ValueError(
            "agent.model='scratch' makes its vocabulary from environments: name them, such as "
            "agent.words=[SCPO-ALFWorld-v0]"
        )
    return tokenizer_of(vocabulary(config.words, config.vocabulary))


def _scratch_module(config: LLMConfig, tokenizer: Any) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    if config.width % (2 * config.heads):
        raise ValueError(f"agent.width={config.width} must be a multiple of twice agent.heads={config.heads}")
    settings = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        intermediate_size=4 * config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads // 2 if config.heads % 2 == 0 else config.heads,
        max_position_embeddings=config.max_context,
        tie_word_embeddings=True,
        initializer_range=config.width**-0.5 / 2,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        bos_token_id=None,
        attn_implementation=config.attention,
    )
    return Qwen2ForCausalLM(settings)


def _check_kind(settings: Any, config: LLMConfig) -> None:
    """Refuse models whose memory of the past is more than a cache of every token, and contexts that are too long."""
    heads = getattr(settings, "num_attention_heads", None)
    kinds = set(getattr(settings, "layer_types", None) or (["full_attention"] if heads else ["no attention"]))
    if kinds - {"full_attention"}:
        raise ValueError(
            f"{settings.model_type} models have layers of the kinds {', '.join(sorted(kinds))}; "
            "this agent keeps caches of full attention alone"
        )
    longest = getattr(settings, "max_position_embeddings", None)
    if longest is not None and config.max_context > longest:
        raise ValueError(
            f"agent.max_context={config.max_context} is more than the {longest} tokens that {config.model} reads"
        )


def _with_adapters(module: Any, config: LLMConfig) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise MissingExtraError("LoRA", "llm") from error
    targets: Any = list(config.lora_targets)
    return get_peft_model(
        module,
        LoraConfig(
            task_type="CAUSAL_LM",
            r=config.lora_rank,
            lora_alpha=config.lora_alpha,
            lora_dropout=0.0,
            target_modules=targets[0] if targets == ["all-linear"] else targets,
        ),
    )


def save_model(folder: Path, model: LanguageModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write the model, or its adapters alone, and the tokenizer into a new folder, as `from_pretrained` reads them."""
    module: Any = model.module
    with quiet():
        module.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def load_weights(folder: Path, model: LanguageModel) -> None:
    """Read what `save_model` wrote into a model of the same kind and size, in place.

    Raises:
        ValueError: It is damaged, or of another size.
    """
    from safetensors import SafetensorError

    module: Any = model.module
    try:
        if hasattr(module, "get_base_model"):
            from peft import load_peft_weights, set_peft_model_state_dict

            set_peft_model_state_dict(module, load_peft_weights(str(folder), device=str(model.device)))
            return
        from transformers import AutoModelForCausalLM

        with quiet():
            other = AutoModelForCausalLM.from_pretrained(folder, dtype=next(module.parameters()).dtype)
    except SafetensorError as error:
        raise ValueError(f"{folder} is damaged: {error}") from error
    read = dict(other.named_parameters())
    for name, parameter in module.named_parameters():
        if name not in read or read[name].shape != parameter.shape:
            found = tuple(read[name].shape) if name in read else None
            raise ValueError(f"{name} has the shape {found} in {folder}, {tuple(parameter.shape)} here")
        with torch.no_grad():
            parameter.copy_(read[name])
