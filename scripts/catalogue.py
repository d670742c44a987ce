"""Names as servers' logs and repositories write them -> entries of configs/gpus and configs/models.

A GPU is told by its chip ("a100"), its form ("sxm", "pcie") and its memory ("80gb"); none of these may contradict the entry. A model is told
by its repository: the entry whose name, or whose source, is the same but for words that leave the sizes alone (tuning, dates, number formats),
or that it was trained from (RELATIVES). The number format of a checkpoint is read from the same name. Whatever is a guess is told to `assume`,
and what cannot be told is a NotFound.
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
OTHER_CARDS = {"d", "laptop", "mobile", "max", "super", "ti"}  # behind a chip's name: a card with other clocks or cores
SLICE = re.compile(r"mig|\d+g\.\d+gb|\d+[qc]")  # of a card: "MIG 3g.40gb", "L40S-48Q"


def gpu_words(text):
    """'NVIDIA H100-SXM5-80G' -> ['h100', 'sxm', '80gb'], without the makers' words."""
    text = re.sub(r"rtx[-_ ]?", "", text.lower().replace("_", "-")).replace("pro6000", "pro 6000")
    text = re.sub(r"(?<=\d)(sxm|pcie|nvl)", r" \1", text)
    text = re.sub(r"(?<=\d) +(?=gi?b\b)", "", text)
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
    if part := [word for word in words if SLICE.fullmatch(word)]:
        raise NotFound(f'"{name}" is a slice of a GPU ({", ".join(part)}), not the whole card')
    if other := OTHER_CARDS & set(words):
        raise NotFound(f'"{name}" is another card than {" or ".join(chips)}: {", ".join(sorted(other))}')
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


def gpus_named(name):
    """How many: 8 of '8x H100' and of 'H100 x8'; None: it does not say."""
    found = re.search(r"\b(\d+) *x *(?=[a-z])", name.lower()) or re.search(r"\bx *(\d+)$", name.lower().strip())
    return int(found.group(1)) if found else None


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
    "bf16": None,  # none: of a model that has one of its own
}
ALIKE = {"int4": "w4a16", "fp4": "nvfp4", "nvfp4a16": "w4a16", "e4m3": "fp8", "float8": "fp8", "fp16": "bf16", "bfloat16": "bf16", "float16": "bf16"}
UNKNOWN = {"int8", "4bit", "8bit", "gguf", "bnb", "bitsandbytes", "exl2", "exl3", "hqq", "aqlm", "fp6", "w4a8", "fp32", "float32"}
FORMAT_WORDS = {*FORMATS, *ALIKE, *UNKNOWN}
WITH_FORMAT = {"dynamic", "kv", "block", "static", "g128", "marlin"}  # stand beside a format's word
# Attention stays in 16 bits: llm-compressor's recipes for the family, and Meta's own fp8 checkpoint of Maverick.
KEEPS_ATTENTION = {"llama4"}


# Checkpoints of an entry's very architecture: their words, the entry's, and what their config.json has otherwise.
RELATIVES = [(re.compile(words), entry, otherwise) for words, entry, otherwise in (
    (r"deepseek r1 distill llama 8b", "llama 3.1 8b", {}),
    (r"deepseek r1 distill llama 70b", "llama 3.3 70b", {}),
    (r"deepseek r1 distill qwen (7b|14b|32b)", r"qwen2.5 \1", {"max_position_embeddings": 131072}),
    (r"deepseek coder v2( lite)?", r"deepseek v2\1", {}),
    (r"qwen2.5 coder ([\d.]+b)", r"qwen2.5 \1", {}),
    (r"qwen2.5 math ([\d.]+b)", r"qwen2.5 \1", {"max_position_embeddings": 4096}),
    (r"codellama (\d+b) python", r"codellama \1", {"vocab_size": 32000}),
    (r"hermes 3 llama 3.1 (8b|70b)", r"llama 3.1 \1", {}),
    (r"vicuna (7b|13b) v1.5", r"llama 2 \1", {}),
    (r"phi 3 mini", "phi 3 mini 4k", {}),
    # Their windows are as long as their contexts: none.
    (r"phi 3(?:.5 mini| mini 128k)", "phi 3 mini 4k", {"max_position_embeddings": 131072, "sliding_window": None}),
    (r"phi 3 medium 128k", "phi 3 medium 4k", {"max_position_embeddings": 131072, "sliding_window": None}),
)]

EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")  # one thing in the config.json of several families
NAMES = {"num_experts": "num_local_experts", "experts_per_token": "num_experts_per_tok"}  # of the short form, and of a config.json


def repository(name):
    """Without its owner, also of its folder in a cache: 'hub/models--meta-llama--Llama-3.1-8B/snapshots/d04e592' -> 'Llama-3.1-8B'"""
    parts = name.rstrip("/").split("/")
    cached = [part.split("--")[-1] for part in parts if part.startswith("models--")]
    return (cached or parts)[-1]


def repository_words(name):
    """'RedHatAI/Llama-3.1-8B-Instruct-quantized.w8a8' -> ['llama', '3.1', '8b', 'instruct', 'w8a8']"""
    return re.findall(r"[a-z0-9.]+", repository(name).lower().replace("_", "-").replace("quantized.", ""))


def sizes_of(words, versions):
    """The words that sizes depend on: without tuning, dates and formats; without a version at the end if `versions` is false."""
    aside = TUNING | FORMAT_WORDS | (WITH_FORMAT if FORMAT_WORDS & set(words) else set())
    kept = [word for word in words if word not in aside and not re.fullmatch(r"\d{4}", word)]
    if not versions and len(kept) > 1 and re.fullmatch(r"v\d+(\.\d+)*", kept[-1]):
        kept.pop()
    return kept


def loosely(words):
    """Alike for 'llama2-7b' and 'llama-2-7b', 'llama31-8b' and 'llama-3.1-8b': versions by themselves and without dots, sizes with theirs."""
    kept = []
    for part in (part for word in words for part in re.findall(r"\d[a-z0-9.]*|[a-z]+[.]?", word)):
        part = part if re.fullmatch(r"[\d.]+[bm]", part) else part.replace(".", "")
        if part.isdigit() and kept and kept[-1].isdigit():
            kept[-1] += part  # 3-1 is 3.1
        else:
            kept.append(part)
    return kept


def format_of(words):
    """The number format, of FORMATS, that these words tell; None: none, so 16 bits or what the model's own config.json says."""
    found = [ALIKE.get(word, word) for word in words if word in FORMATS or word in ALIKE]
    found = [word for word in found if word != "bf16"] or found  # a format before what is left in 16 bits
    unknown = UNKNOWN & set(words)
    if "gptq" in found and unknown & {"int8", "8bit"}:
        return "gptq-int8"
    if "fp8" in found and "w8a8" in found:
        return "fp8"
    if unknown - ({"int8", "8bit"} if {"w8a8", "w8a16"} & set(found) else {"4bit"} if found else set()):
        raise NotFound(f"weights in {' '.join(sorted(unknown))}: their bytes are not known")
    return found[0] if found else None


@functools.cache
def source_of(file):
    found = re.search(r'^\s*"?_?source"?: "?config\.json of (\S+) on', file.read_text(), re.M)
    return found.group(1) if found else ""


def relative_of(name):
    """Of a checkpoint trained from an entry's model: the entry's words, and what its config.json has otherwise; (None, {}): it is none."""
    words = " ".join(sizes_of(repository_words(name), True))
    for pattern, entry, otherwise in RELATIVES:
        if found := pattern.fullmatch(words) or pattern.fullmatch(re.sub(r"(?<=[a-z])(?=\d)", " ", words)):
            return found.expand(entry).split(), otherwise
    return None, {}


def model_entry(name, assume):
    """The file of configs/models; None: no entry fits."""
    files = sorted([*(CONFIGS / "models").glob("*.json"), *(CONFIGS / "models").glob("*.yaml")])
    asked = repository_words(name)
    relative = relative_of(name)[0]
    for versions, alike, words in ((True, list, asked), (False, list, asked), (True, loosely, asked), (True, list, relative)):
        if not words:
            continue
        wanted = alike(sizes_of(words, versions))
        names = {f: [alike(sizes_of(repository_words(text), versions)) for text in (f.stem, source_of(f))] for f in files}
        found = sorted((f for f in files if wanted in names[f]), key=lambda f: (sizes_of(repository_words(f.stem), True) != words, f.stem))
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
        experts = [sizes[key] for key in EXPERTS if sizes.get(key)]
        return {**sizes, "num_local_experts": experts[0] if experts else None}
    return {NAMES.get(key, key): int(value.split()[0]) for key, value in short_form(file).items() if value.split()[0].isdigit()}


def config_of(file):
    """An entry as the config.json that says the same. Short forms whose layers no config.json here describes alike are a NotFound."""
    if file.suffix == ".json":
        return json.loads(file.read_text())
    entry = short_form(file)
    if {"gated_mlp", "norm_bias", "mlp_bias", "learned_position_embeddings"} & set(entry):
        raise NotFound(f"{file.stem} in another number format: the entry has no config.json to change")
    kind = ("mixtral" if "num_experts" in entry else "qwen3" if "qk_norm" in entry else "qwen2" if "attention_bias" in entry
            else "mistral" if "sliding_window" in entry else "llama")
    config = {"model_type": kind, "torch_dtype": {"bf16": "bfloat16", "fp16": "float16"}[entry["dtype"]],
              "tie_word_embeddings": entry.get("tie_word_embeddings") == "true"}
    return {**config, **sizes_in(file)}


def changed(config, sizes):
    """A config.json with these values in place of its own, wherever it keeps them. What it lists layer by layer follows a smaller number."""
    config = json.loads(json.dumps(config))
    inner = config.get("text_config") or config
    for key, value in sizes.items():
        name = next((n for n in EXPERTS if n in inner), key) if key in EXPERTS else key
        (config if name in config and name not in inner else inner)[name] = value
    layers = inner.get("num_hidden_layers")
    inner.update({name: of_layer[:layers] for name, of_layer in inner.items() if name == "layer_types"})
    return config


def changed_short_form(file, sizes):
    """The same of a YAML entry, as its text; every value must be there."""
    text = file.read_text()
    for key, value in sizes.items():
        name = next((short for short, name in NAMES.items() if name == key), key)
        text, found = re.subn(rf"^({name}: *)\d+", rf"\g<1>{value}", text, flags=re.M)
        if not found:
            raise NotFound(f"{file.stem} tells no {name} to be changed")
    return text


def own_format(file):
    """The quant_method that an entry's config.json says itself; '' if it says none."""
    config = json.loads(file.read_text()) if file.suffix == ".json" else {}
    return (config.get("quantization_config") or {}).get("quant_method", "")


def quant_method(word):
    """How a config.json calls this number format; '' for none."""
    return (FORMATS[word] or {}).get("quant_method", "")


def with_format(config, word):
    """The config.json of a checkpoint in this number format."""
    if FORMATS[word] is None:
        return {key: value for key, value in config.items() if key != "quantization_config"}
    kept = ["lm_head"] + (["self_attn"] if config.get("model_type") in KEEPS_ATTENTION else [])
    key = "ignore" if FORMATS[word]["quant_method"] in ("compressed-tensors", "modelopt") else "modules_to_not_convert"
    return {**config, "quantization_config": {**FORMATS[word], key: kept}}
