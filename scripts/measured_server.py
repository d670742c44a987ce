"""A measured server's meta file -> the scenario of the engine as it was run. What the file leaves open is told to `assume`; what cannot be
simulated as it was run is a Skip. Nothing here is chosen for a run.
"""

import json
import math
import re

import catalogue


class Skip(Exception):
    """Why a run cannot be simulated."""


def said(meta, *keys):
    """The first of the keys that the meta file, or the engine's own configuration in it, gives a value."""
    places = (meta, meta.get("scheduler_config") or {}, meta.get("kv_cache_from_meta") or {})
    return next((place[key] for key in keys for place in places if place.get(key) is not None), None)


def gpu_of(meta, assume):
    name = meta.get("gpu") or (meta.get("hardware_from_meta") or {}).get("device_name")
    if not name:
        raise Skip("the meta file names no GPU")
    return catalogue.gpu_entry(name, assume)


SIXTEEN_BITS = {"", "auto", "none", "bf16", "bfloat16", "fp16", "float16", "half"}


def format_of(meta):
    """The number format of the weights: what the meta file says, or else the checkpoint's name; None: 16 bits, or the model's own."""
    for key in ("quantization", "dtype"):
        text = str(meta.get(key) or "").lower()
        if text in SIXTEEN_BITS:
            continue
        found = catalogue.format_of(catalogue.repository_words(text))
        if found is None:
            raise Skip(f'weights in "{meta[key]}": their bytes are not known')
        return found
    return catalogue.format_of(catalogue.repository_words(meta["model"]))


# In the meta file, and in a config.json.
SIZES = {"num_layers": "num_hidden_layers", "hidden_dim": "hidden_size", "num_heads": "num_attention_heads",
         "num_kv_heads": "num_key_value_heads", "num_local_experts": "num_local_experts", "vocab_size": "vocab_size"}


def differing(sizes, entry):
    """Which of the meta file's sizes the entry contradicts."""
    return [key for key, name in SIZES.items() if sizes.get(key) and entry.get(name) and sizes[key] != entry[name]]


def config_of_sizes(meta, sizes):
    """A config.json of the meta file's sizes: a dense Llama or, with experts, a Mixtral."""
    experts = sizes.get("num_local_experts") or 0
    needed = ["num_layers", "hidden_dim", "num_heads", "intermediate_dim", "vocab_size"] + (["num_experts_per_tok"] if experts else [])
    missing = [key for key in needed if not sizes.get(key)]
    if missing:
        raise Skip(f"no model {meta['model']} in configs/models, and of its sizes the meta file lacks {', '.join(missing)}")
    heads = sizes["num_heads"]
    config = {
        "model_type": "mixtral" if experts else "llama",
        "num_hidden_layers": sizes["num_layers"],
        "hidden_size": sizes["hidden_dim"],
        "num_attention_heads": heads,
        "num_key_value_heads": sizes.get("num_kv_heads") or heads,
        "head_dim": sizes.get("head_dim") or sizes["hidden_dim"] // heads,
        "intermediate_size": sizes["intermediate_dim"],
        "vocab_size": sizes["vocab_size"],
        "max_position_embeddings": sizes.get("max_position_embeddings") or max(meta.get("max_model_len") or 0, 4096),
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": bool(sizes.get("tie_word_embeddings")),
    }
    if experts:
        config.update(num_local_experts=experts, num_experts_per_tok=sizes["num_experts_per_tok"])
    return config


def model_of(meta, folder, assume):
    """An entry of configs/models; or the path of a config.json, where sizes or number format are not an entry's."""
    if not meta.get("model"):
        raise Skip("the meta file names no model")
    word = format_of(meta)
    entry = catalogue.model_entry(meta["model"], assume)
    sizes = meta.get("model_config") or {}
    wrong = differing(sizes, catalogue.sizes_in(entry)) if entry and sizes else []
    if wrong:
        assume(f"sizes of the meta file: {entry.stem} has another {', '.join(wrong)}")
    if not entry and not sizes:
        raise Skip(f"no model {meta['model']} in configs/models, and no sizes of it in the meta file")
    if entry and not wrong:
        if word is None:
            return entry.stem
        config = catalogue.config_of(entry)
        if catalogue.own_format(config) == catalogue.FORMATS[word]["quant_method"]:
            return entry.stem
    else:
        config = config_of_sizes(meta, sizes)
        assume(f"a {config['model_type']} of the meta file's sizes")
    if word is not None:
        config = catalogue.with_format(config, word)
        kept = config["quantization_config"].get("ignore") or config["quantization_config"]["modules_to_not_convert"]
        assume(f"weights in {word} but for {', '.join(kept)}")
    file = folder / "config.json"
    file.write_text(json.dumps(config))
    return str(file)


def version_of(meta, assume):
    """[0, 15] of 'v0.15.1'."""
    if "vllm" not in (meta.get("engine") or "vLLM").lower():
        raise Skip(f"engine {meta['engine']}")
    version = [int(n) for n in re.findall(r"\d+", meta.get("engine_version") or "")[:2]]
    if len(version) < 2:
        assume(f"vLLM 0.19: engine version {meta.get('engine_version') or 'not told'}")
        return [0, 19]
    return version


def engine_of(meta, gpu, assume):
    """The keys of the section `engine`: the preset that is not newer than the engine, and what the meta file says."""
    version = version_of(meta, assume)
    engine = {"preset": "vllm-0.6"}
    for name, since in (("vllm-0.13", [0, 8]), ("vllm-0.14", [0, 14]), ("vllm-0.19", [0, 19])):
        if version >= since:
            engine["preset"] = name
    old = engine["preset"] == "vllm-0.6"
    chunked = said(meta, "enable_chunked_prefill", "chunked_prefill")
    if old:
        engine["scheduler"] = "vllm-v0"
        chunked = bool(chunked)
    # What `vllm serve` takes: more on a GPU of 70 GiB or more that is no A100 (EngineArgs); V0 a whole prompt where it does not cut them.
    large = catalogue.gpu_gib(gpu) >= 70 and not gpu.startswith("a100") and not old
    budget = 8192 if large else 2048
    if old and not chunked:
        budget = max(meta.get("max_model_len") or 0, budget)
    for key, default in (("max_num_seqs", 1024 if large else 256), ("max_num_batched_tokens", budget)):
        engine[key] = said(meta, key) or default
        if not said(meta, key):
            assume(f"{key} {default}")
    for key, value in (("max_model_len", said(meta, "max_model_len")), ("async_scheduling", said(meta, "async_scheduling")),
                       ("scheduler_reserve_full_isl", said(meta, "scheduler_reserve_full_isl")), ("enable_chunked_prefill", chunked),
                       ("long_prefill_token_threshold", said(meta, "long_prefill_token_threshold")), ("enforce_eager", said(meta, "enforce_eager")),
                       ("queue_order", said(meta, "policy", "scheduling_policy"))):
        if value is not None:
            engine[key] = value
    return engine


def kv_cache_of(meta, assume):
    """The keys of the section `kv_cache`."""
    cache = {"block_size": said(meta, "block_size") or 16}
    blocks = said(meta, "num_gpu_blocks")
    if blocks:
        cache["budget"] = f"{blocks} blocks"
    else:
        assume("KV memory by the rules of `blockyard size`" + ("" if said(meta, "gpu_memory_utilization") else ", gpu_memory_utilization 0.9"))
    dtype = str(meta.get("kv_cache_dtype") or "auto").lower()
    known = re.match(r"fp8(?!_ds)|int8|nvfp4", dtype)
    if known:
        cache["dtype"] = known.group(0)
    elif re.sub(r"^auto.*", "auto", dtype) not in SIXTEEN_BITS:
        raise Skip(f"KV in {dtype}")
    if said(meta, "disable_hybrid_kv_cache_manager"):
        cache["hybrid_kv_cache_manager"] = "off"
    return cache


def cache_is_off(meta):
    """V1 keeps a prefix cache unless told not to, V0 only if told to."""
    told = said(meta, "prefix_caching", "enable_prefix_caching")
    return told is False or (told is None and version_of(meta, lambda _: None) < [0, 8])


PARALLEL = {"pp": "pipeline_parallel_size", "dp": "data_parallel_size"}


def scenario_of(run, meta, folder, front_end, assume):
    """The YAML text."""
    for key in ("speculative_config", "spec_decode", "lora"):
        if meta.get(key):
            raise Skip(f"{key} is not simulated")
    gpu = gpu_of(meta, assume)
    parallel = {name: meta.get(key) or 1 for key, name in PARALLEL.items()}
    tp = meta.get("tp") or max(1, (meta.get("num_gpus") or 1) // math.prod(parallel.values()))
    lines = [
        f"name: {run}",
        f"model: {json.dumps(model_of(meta, folder, assume))}",
        f"hardware: {{gpu: {gpu}, tensor_parallel_size: {tp}"
        + "".join(f", {name}: {size}" for name, size in parallel.items() if size > 1)
        + (", enable_expert_parallel: true" if (meta.get("ep") or 1) > 1 else "")
        + (f", gpu_memory_utilization: {said(meta, 'gpu_memory_utilization')}" if said(meta, "gpu_memory_utilization") else "") + "}",
        f"engine: {flow(engine_of(meta, gpu, assume))}",
        f"kv_cache: {flow(kv_cache_of(meta, assume))}",
    ]
    if cache_is_off(meta):
        lines.append("prefix_cache: {enable: false}")
    if meta.get("cpu_offload"):
        assume("no KV is kept on the host")
    lines.append(f"cost: {{front_end: {front_end}}}")
    return "\n".join(lines) + "\n"


def flow(mapping):
    return "{" + ", ".join(f"{k}: {str(v).lower() if isinstance(v, bool) else v}" for k, v in mapping.items()) + "}"
