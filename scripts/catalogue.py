"""Names as servers' logs and repositories write them -> entries of configs/gpus and configs/models.

A GPU is told by its chip ("a100"), its form ("sxm", "pcie") and its memory ("80gb"); none of these may contradict the entry. A model is told
by its repository: the entry whose name, or whose source, is the same but for words that leave the sizes alone (tuning, dates, number formats).
The number format of a checkpoint is read from the same name. Whatever is a guess is told to `assume`, and what cannot be told is a NotFound.
"""

import functools
import json
import pathlib
import re

CONFIGS = pathlib.Path(__file__).resolve().parent.parent / "configs"


class NotFound(Exception):
    """Why no entry fits."""


# --- GPUs

FORMS = {"sxm": "sxm", "hbm3": "sxm", "pcie": "pcie", "nvl": "nvl"}  # "NVIDIA H100 80GB HBM3" is how a driver writes H100 SXM


def gpu_words(text):
    """'NVIDIA H100-SXM5-80G' -> ['h100', 'sxm', '80gb'], without the makers' words."""
    text = re.sub(r"rtx[-_ ]?", "", text.lower().replace("_", "-")).replace("pro6000", "pro 6000")
    words = []
    for word in re.findall(r"[a-z0-9.]+", re.sub(r"\b\d+x *(?=[a-z])", "", text)):
        word = re.sub(r"^(sxm|pcie)\d*$", r"\1", re.sub(r"^(\d+)g(ib|b)?$", r"\1gb", word))
        if word not in ("nvidia", "geforce", "tesla", "blackwell", "gpu"):
            words.append(FORMS.get(word, word))
    return words


def only(words, kind):
    """The words of a kind: 'form' or 'memory'."""
    return {w for w in words if (w in FORMS.values() if kind == "form" else re.fullmatch(r"\d+gb", w))}


def gpu_entry(name, assume):
    words = gpu_words(name)
    entries = {file.stem: gpu_words(file.stem) for file in sorted((CONFIGS / "gpus").glob("*.yaml"))}
    chips = {e: w for e, w in entries.items() if set(w) - only(w, "form") - only(w, "memory") <= set(words)}
    if not chips:
        raise NotFound(f'no GPU like "{name}" in configs/gpus')
    fitting = {
        e: w for e, w in chips.items()
        if all(not only(words, kind) or not only(w, kind) or only(words, kind) == only(w, kind) for kind in ("form", "memory"))
    }
    if not fitting:
        raise NotFound(f'"{name}" is no {" or ".join(chips)}')
    # The form that most servers have goes first, and of two sizes the larger.
    best = max(fitting, key=lambda e: (len(set(fitting[e]) & set(words)), "sxm" in fitting[e], sorted(only(fitting[e], "memory"))))
    if sum(set(w) & set(words) == set(fitting[best]) & set(words) for w in fitting.values()) > 1:
        assume(f'GPU {best}: "{name}" does not tell it from {", ".join(e for e in fitting if e != best)}')
    return best


def gpu_gib(entry):
    """Memory, as the entry has it."""
    number, unit = re.search(r"^memory: *([\d.]+) (GiB|GB|B)", (CONFIGS / f"gpus/{entry}.yaml").read_text(), re.M).groups()
    return float(number) * {"GiB": 1, "GB": 1e9 / 2**30, "B": 1 / 2**30}[unit]


# --- Models

TUNING = {"instruct", "chat", "hf", "it", "pt", "base", "meta", "thinking"}
# Words for the number format of a checkpoint -> its quantization_config.
INT8 = {"num_bits": 8, "type": "int"}
FORMATS = {
    "fp8": {"quant_method": "fp8"},
    "w8a8": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": INT8, "input_activations": INT8}}},
    "w8a16": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": INT8}}},
    "w4a16": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    "gptq-int8": {"quant_method": "gptq", "bits": 8, "group_size": 128},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 128},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "mxfp4": {"quant_method": "mxfp4"},
}
ALIKE = {"int4": "w4a16", "fp4": "nvfp4", "e4m3": "fp8", "float8": "fp8"}
UNKNOWN = {"int8", "4bit", "8bit", "gguf", "bnb", "bitsandbytes", "exl2", "exl3", "hqq", "aqlm", "fp6", "w4a8", "fp32", "float32"}
FORMAT_WORDS = {*FORMATS, *ALIKE, *UNKNOWN}
WITH_FORMAT = {"dynamic", "kv", "block", "static", "g128", "marlin"}  # stand beside a format's word
# Attention stays in 16 bits: llm-compressor's recipes for the family, and Meta's own fp8 checkpoint of Maverick.
KEEPS_ATTENTION = {"llama4"}


NAMES = {"num_experts": "num_local_experts", "experts_per_token": "num_experts_per_tok"}  # of the short form, and of a config.json


def repository_words(name):
    """'RedHatAI/Llama-3.1-8B-Instruct-quantized.w8a8' -> ['llama', '3.1', '8b', 'instruct', 'w8a8']"""
    name = name.rstrip("/").split("/")[-1].lower().replace("_", "-").replace("quantized.", "")
    return re.findall(r"[a-z0-9.]+", name)


def sizes_of(words, versions):
    """The words that sizes depend on: without tuning, dates and formats; without a version at the end if `versions` is false."""
    aside = TUNING | FORMAT_WORDS | (WITH_FORMAT if FORMAT_WORDS & set(words) else set())
    kept = [word for word in words if word not in aside and not re.fullmatch(r"\d{4}", word)]
    if not versions and len(kept) > 1 and re.fullmatch(r"v\d+(\.\d+)*", kept[-1]):
        kept.pop()
    return kept


def format_of(words):
    """The number format, of FORMATS, that these words tell; None: none, so 16 bits or what the model's own config.json says."""
    found = [ALIKE.get(word, word) for word in words if word in FORMATS or word in ALIKE]
    unknown = UNKNOWN & set(words)
    if "gptq" in found and unknown & {"int8", "8bit"}:
        return "gptq-int8"
    if unknown - ({"4bit"} if found else set()):
        raise NotFound(f"weights in {' '.join(sorted(unknown))}: their bytes are not known")
    return found[0] if found else None


@functools.cache
def source_of(file):
    found = re.search(r'^\s*"?_?source"?: "?config\.json of (\S+) on', file.read_text(), re.M)
    return found.group(1) if found else ""


def model_entry(name, assume):
    """The file of configs/models; None: no entry fits."""
    files = sorted([*(CONFIGS / "models").glob("*.json"), *(CONFIGS / "models").glob("*.yaml")])
    asked = repository_words(name)
    for versions in (True, False):
        wanted = sizes_of(asked, versions)
        found = [f for f in files if wanted in (sizes_of(repository_words(f.stem), versions), sizes_of(repository_words(source_of(f)), versions))]
        found.sort(key=lambda f: (sizes_of(repository_words(f.stem), True) != wanted, f.stem))
        if found:
            source = source_of(found[0])
            if repository_words(source) != asked and sizes_of(repository_words(source), True) != sizes_of(asked, True):
                assume(f"model {found[0].stem}: sizes of {source}")
            return found[0]
    return None


def short_form(file):
    """The keys of a YAML entry, whose values stand beside them."""
    return dict(re.findall(r"^(\w+): *([^#\n]*[^#\s])", file.read_text(), re.M))


def sizes_in(file):
    """Sizes of an entry, under their names in a config.json."""
    if file.suffix == ".json":
        config = json.loads(file.read_text())
        sizes = {**config, **(config.get("text_config") or {})}
        experts = [sizes[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if sizes.get(key)]
        return {**sizes, "num_local_experts": experts[0] if experts else None}
    return {NAMES.get(key, key): int(value.split()[0]) for key, value in short_form(file).items() if value.split()[0].isdigit()}


def config_of(file):
    """An entry as the config.json that says the same. Short forms whose layers no config.json here describes alike are a NotFound."""
    if file.suffix == ".json":
        return json.loads(file.read_text())
    entry = short_form(file)
    if {"gated_mlp", "norm_bias", "mlp_bias", "learned_position_embeddings"} & set(entry):
        raise NotFound(f"quantised weights of {file.stem}: the entry has no config.json")
    kind = ("mixtral" if "num_experts" in entry else "qwen3" if "qk_norm" in entry else "qwen2" if "attention_bias" in entry
            else "mistral" if "sliding_window" in entry else "llama")
    config = {"model_type": kind, "torch_dtype": {"bf16": "bfloat16", "fp16": "float16"}[entry["dtype"]],
              "tie_word_embeddings": entry.get("tie_word_embeddings") == "true"}
    return {**config, **sizes_in(file)}


def own_format(config):
    """The quant_method that a config.json says itself; '' if it says none."""
    return (config.get("quantization_config") or {}).get("quant_method", "")


def with_format(config, word):
    """The config.json of a checkpoint in this number format."""
    kept = ["lm_head"] + (["self_attn"] if config.get("model_type") in KEEPS_ATTENTION else [])
    key = "ignore" if FORMATS[word]["quant_method"] in ("compressed-tensors", "modelopt") else "modules_to_not_convert"
    return {**config, "quantization_config": {**FORMATS[word], key: kept}}
