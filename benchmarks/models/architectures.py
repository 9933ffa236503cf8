"""Models with random weights: how each is made, and the inputs of a call."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 211,
    "max_position_embeddings": 64,
}
GROUPED = {**SMALL, "num_key_value_heads": 2, "use_cache": False}

#: Configuration class, model class, options of the configuration.
TRANSFORMERS: dict[str, tuple[str, str, dict]] = {
    "bert": ("BertConfig", "BertModel", SMALL),
    "roberta": ("RobertaConfig", "RobertaModel", SMALL),
    "albert": ("AlbertConfig", "AlbertModel", {**SMALL, "embedding_size": 32}),
    "electra": ("ElectraConfig", "ElectraModel", {**SMALL, "embedding_size": 32}),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertModel",
        {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 211},
    ),
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 211, "use_cache": False},
    ),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {**SMALL, "ffn_dim": 128, "word_embed_proj_dim": 64, "use_cache": False},
    ),
    "gptneox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**SMALL, "use_cache": False}),
    "phi": ("PhiConfig", "PhiForCausalLM", {**SMALL, "use_cache": False}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "sliding_window": 8}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 16}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 16}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**GROUPED, "num_local_experts": 4}),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 211, "use_cache": False},
    ),
    "t5_encoder": (
        "T5Config",
        "T5EncoderModel",
        {
            "d_model": 64,
            "d_kv": 16,
            "d_ff": 128,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 211,
            "use_cache": False,
        },
    ),
}

#: Names in torchvision and timm, with the size of the image.
TORCHVISION = {
    "alexnet": 96,
    "convnext_tiny": 64,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "mnasnet0_5": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "regnet_y_400mf": 64,
    "resnet18": 64,
    "resnet50": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_0": 64,
    "swin_t": 64,
    "vgg11": 64,
}
TIMM = {
    "coatnet_0_rw_224": 224,
    "convmixer_768_32": 64,
    "deit_tiny_patch16_224": 224,
    "ghostnet_050": 64,
    "gmlp_s16_224": 224,
    "mixer_s32_224": 224,
    "poolformer_s12": 64,
    "resmlp_12_224": 224,
}


def _tokens() -> tuple:
    return (torch.randint(0, 200, (2, 16)),)


def _transformer(name: str) -> nn.Module:
    import transformers

    config, model, options = TRANSFORMERS[name]
    return getattr(transformers, model)(getattr(transformers, config)(**options))


def _torchvision(name: str) -> nn.Module:
    import torchvision

    return getattr(torchvision.models, name)(num_classes=10)


def _timm(name: str) -> nn.Module:
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10)


def models() -> dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple]]]:
    """By name: a function that makes the model, and one that makes its inputs."""
    found: dict[str, tuple[Callable, Callable]] = {}
    for name in TRANSFORMERS:
        found[name] = (lambda name=name: _transformer(name)), _tokens
    for make, sizes in ((_torchvision, TORCHVISION), (_timm, TIMM)):
        for name, size in sizes.items():
            found[name] = (
                (lambda make=make, name=name: make(name)),
                (lambda size=size: (torch.randn(2, 3, size, size),)),
            )
    return found
