"""A measured server's meta file -> the scenario of the engine as it was run. What the file leaves open is told to `assume`; what cannot be
simulated as it was run is a Skip. Nothing here is chosen for a run.
"""

import json
import re

import catalogue
from meta_file import Skip


def gpu_name(meta):
    name = meta.text("gpu", "gpu_name", numbers=True) or meta.section("hardware_from_meta").text("device_name")
    if not name:
        raise Skip("the meta file names no GPU")
    return name


def parallel_of(meta, assume):
    """tp, pp, dp. Where no tp is told, the GPUs that pp and dp leave to it."""
    pp, dp = (meta.whole(key, name) or 1 for key, name in (("pp", "pipeline_parallel_size"), ("dp", "data_parallel_size")))
    gpus = meta.whole("num_gpus", "gpu_count") or catalogue.gpus_named(gpu_name(meta))
    tp = meta.whole("tp", "tensor_parallel_size")
    if tp is None:
        tp = max(1, (gpus or 1) // (pp * dp))
        if gpus != 1:
            assume(f"tp {tp}" + (f", of {gpus} GPUs" if gpus else ""))
    if gpus and gpus != tp * pp * dp:
        assume(f"{tp * pp * dp} GPU{'' if tp * pp * dp == 1 else 's'}, where the meta file counts {gpus}")
    return tp, pp, dp


def experts_are_parallel(meta):
    """`ep` is a number of GPUs or a switch."""
    key, ep = meta.found("ep", "expert_parallel_size")
    if isinstance(ep, bool) or isinstance(ep, str) and not ep.isdigit():
        return bool(meta.flag(key))
    return (meta.whole("ep", "expert_parallel_size") or 1) > 1 or bool(meta.flag("enable_expert_parallel"))


SIXTEEN_BITS = {"", "auto", "none", "bf16", "bfloat16", "fp16", "float16", "half"}
OPEN_METHODS = {"compressed", "modelopt", "gptq", "auto", "quark", "torchao", "inc"}  # of quantisation: the checkpoint's name tells the bits


def dtype(text):
    """'torch.bfloat16' -> 'bfloat16'"""
    return (text or "").lower().removeprefix("torch.")


def format_of(meta, name, entry):
    """The number format of the weights: what the meta file says, or else the checkpoint's name; None: 16 bits, or the model's own."""
    named = catalogue.format_of(catalogue.repository_words(name))
    for key in ("quantization", "dtype"):
        text = dtype(meta.text(key))
        words = catalogue.repository_words(text)
        found = None if text in SIXTEEN_BITS else catalogue.format_of(words)
        if text in SIXTEEN_BITS or found == "bf16":  # what is not quantised has this type
            continue
        if OPEN_METHODS & set(words) and found in (None, "gptq"):
            found = named or found
            if found is None and entry and catalogue.own_format(entry):
                return None
        if found is None:
            raise Skip(f'weights in "{meta.text(key)}": their bytes are not known')
        return found
    return named


# In the meta file, and in a config.json.
SIZES = {"num_layers": "num_hidden_layers", "hidden_dim": "hidden_size", "num_heads": "num_attention_heads",
         "num_kv_heads": "num_key_value_heads", "head_dim": "head_dim", "intermediate_dim": "intermediate_size",
         "num_local_experts": "num_local_experts", "num_experts_per_tok": "num_experts_per_tok", "vocab_size": "vocab_size",
         "max_position_embeddings": "max_position_embeddings"}


def sizes_of(meta):
    """What the meta file tells of the model, as a config.json names it."""
    told = meta.section("model_config")
    sizes = {name: size for key, name in SIZES.items() if (size := told.whole(key, name))}
    if sizes.get("num_local_experts", 1) == 1:  # a dense model
        sizes = {name: size for name, size in sizes.items() if name not in ("num_local_experts", "num_experts_per_tok")}
    return sizes


def differing(sizes, entry):
    """Those of the meta file's sizes that the entry's contradict. A file may count shared experts among the experts, and a latent as one
    head of KV; of mixtures it may mean either MLP."""
    experts = entry.get("num_local_experts")
    aside = {"max_position_embeddings"} | ({"intermediate_size"} if experts else set())
    if entry.get("kv_lora_rank"):
        aside |= {"num_key_value_heads", "head_dim"}
    if experts and sizes.get("num_local_experts") == experts + (entry.get("n_shared_experts") or 0):
        aside.add("num_local_experts")
    differ = {name: size for name, size in sizes.items() if name not in aside and entry.get(name) and entry[name] != size}
    heads = {name: differ.get(name, entry.get(name)) for name in ("hidden_size", "num_attention_heads")}
    if "head_dim" not in differ and all(heads.values()) and entry.get("head_dim") == entry["hidden_size"] // entry["num_attention_heads"]:
        if (width := heads["hidden_size"] // heads["num_attention_heads"]) != entry["head_dim"]:
            differ["head_dim"] = width
    return differ


def config_of_sizes(meta, name, sizes):
    """A config.json of the meta file's sizes: a dense Llama or, with experts, a Mixtral."""
    experts = sizes.get("num_local_experts")
    needed = ["num_layers", "hidden_dim", "num_heads", "intermediate_dim", "vocab_size"] + (["num_experts_per_tok"] if experts else [])
    missing = [key for key in needed if not sizes.get(SIZES[key])]
    if missing:
        raise Skip(f"no model {name} in configs/models, and of its sizes the meta file lacks {', '.join(missing)}")
    heads = sizes["num_attention_heads"]
    return {
        "model_type": "mixtral" if experts else "llama",
        "num_key_value_heads": heads,
        "head_dim": sizes["hidden_size"] // heads,
        "max_position_embeddings": max(meta.whole("max_model_len") or 0, 4096),
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": bool(meta.section("model_config").flag("tie_word_embeddings")),
        **sizes,
    }


def model_of(meta, folder, assume):
    """An entry of configs/models; or the path of a file like these, where sizes or number format are not an entry's."""
    name = meta.text("model")
    if not name:
        raise Skip("the meta file names no model")
    entry, sizes = catalogue.model_entry(name, assume), sizes_of(meta)
    word = format_of(meta, name, entry)
    if not entry and not sizes:
        raise Skip(f"no model {name} in configs/models, and no sizes of it in the meta file")
    if word is None and not meta.text("dtype", "quantization") and not (entry and catalogue.own_format(entry)):
        assume("weights in 16 bits")
    if entry and "num_local_experts" in sizes and "experts" not in entry.read_text():
        assume(f"not {entry.stem}, which has no experts")
        entry = None
    own = entry is not None and (word is None or catalogue.own_format(entry) == catalogue.quant_method(word))
    if entry:
        otherwise = catalogue.relative_of(name)[1]
        differ = differing(sizes, {**catalogue.sizes_in(entry), **otherwise})
        if own and not otherwise and not differ:
            return entry.stem
        sizes = {**otherwise, **differ}
        for changes, whose in ((otherwise, f"as {name} has it"), (differ, "of the meta file")):
            if changes:
                told = (f"{key} {value}" if value else f"no {key}" for key, value in changes.items())
                assume(f"{entry.stem} but for {', '.join(told)}, {whose}")
        if own and entry.suffix == ".yaml":
            return model_file(folder, name, catalogue.changed_short_form(entry, sizes), ".yaml")
        config = catalogue.changed(catalogue.config_of(entry), sizes)
    else:
        config = config_of_sizes(meta, name, sizes)
        assume(f"a {config['model_type']} of the meta file's sizes")
    if word is not None and not own:
        config = catalogue.with_format(config, word)
        quantised = config.get("quantization_config") or {}
        kept = quantised.get("ignore") or quantised.get("modules_to_not_convert")
        assume(f"weights in {word}" + (f" but for {', '.join(kept)}" if kept else ""))
    return model_file(folder, name, json.dumps(config), ".json")


def model_file(folder, name, text, suffix):
    """A file under the model's name; its path."""
    file = folder / (re.sub("[^A-Za-z0-9.-]", "-", catalogue.repository(name))[:100] + suffix)
    file.write_text(text)
    return str(file)


def version_of(meta, assume):
    """[0, 15] of 'v0.15.1', 'V1 (0.15.1)' and, as the engine's name, 'vLLM 0.15.1'."""
    engine, told = meta.text("engine") or "vLLM", meta.text("engine_version", "vllm_version", numbers=True)
    if "vllm" not in engine.lower():
        raise Skip(f"engine {engine}")
    for text in (told or "", engine):
        found = re.search(r"(\d+)\.(\d+)", text)
        if found and "0.1.dev" not in text:  # which a build calls itself that knows no better
            return [int(n) for n in found.groups()]
    assume(f"vLLM 0.19: engine version {told or 'not told'}")
    return [0, 19]


def engine_of(meta, gpu, assume):
    """The keys of the section `engine`: the preset that is not newer than the engine, and what the meta file says."""
    version = version_of(meta, assume)
    engine = {"preset": "vllm-0.6"}
    for name, since in (("vllm-0.13", [0, 8]), ("vllm-0.14", [0, 14]), ("vllm-0.19", [0, 19])):
        if version >= since:
            engine["preset"] = name
    old = engine["preset"] == "vllm-0.6"
    chunked = meta.flag("enable_chunked_prefill", "chunked_prefill")
    if old:
        engine["scheduler"] = "vllm-v0"
        if chunked is None:
            assume("chunked prefill off")
        chunked = bool(chunked)
    # What `vllm serve` takes: more on a GPU of 70 GiB or more that is no A100 (EngineArgs); a whole prompt where it does not cut them.
    large = catalogue.gpu_gib(gpu) >= 70 and not gpu.startswith("a100") and not old
    length = meta.whole("max_model_len")
    budget = 8192 if large else 2048
    if chunked is False:
        budget = max(length or 0, budget)
    for key, default in (("max_num_seqs", 1024 if large else 256), ("max_num_batched_tokens", budget)):
        engine[key] = meta.whole(key) or default
        if not meta.whole(key):
            assume(f"{key} {default}")
    if not length:
        assume("max_model_len: the model's")
    for key, value in (("max_model_len", length), ("async_scheduling", meta.flag("async_scheduling")),
                       ("scheduler_reserve_full_isl", meta.flag("scheduler_reserve_full_isl")), ("enable_chunked_prefill", chunked),
                       ("long_prefill_token_threshold", meta.whole("long_prefill_token_threshold")), ("enforce_eager", meta.flag("enforce_eager")),
                       ("queue_order", meta.text("policy", "scheduling_policy"))):
        if value is not None:
            engine[key] = value
    return engine


def kv_cache_of(meta, assume):
    """The keys of the section `kv_cache`."""
    cache = {"block_size": meta.whole("block_size") or 16}
    if not meta.whole("block_size"):
        assume("block_size 16")
    blocks = meta.whole("num_gpu_blocks", "num_gpu_blocks_override")
    if blocks:
        cache["budget"] = f"{blocks} blocks"
    else:
        assume("KV memory by the rules of `blockyard size`" + ("" if meta.number("gpu_memory_utilization") else ", gpu_memory_utilization 0.9"))
    told = meta.text("kv_cache_dtype", "cache_dtype")
    if not told:
        assume("KV cache in 16 bits")
    word = dtype(told)
    known = re.match(r"fp8(?!_ds)|float8|int8|nvfp4", word)
    if known:
        cache["dtype"] = known.group(0).replace("float8", "fp8")
    elif re.sub(r"^auto.*", "auto", word) not in SIXTEEN_BITS:
        raise Skip(f"KV in {told}")
    if meta.flag("disable_hybrid_kv_cache_manager"):
        cache["hybrid_kv_cache_manager"] = "off"
    return cache


def prefix_caching(meta):
    """Whether the engine kept a prefix cache; None: it is not told, and V1 does (V0 only if told to)."""
    told = meta.flag("prefix_caching", "enable_prefix_caching")
    return False if told is None and version_of(meta, lambda _: None) < [0, 8] else told


def sections_of(run, meta, folder, front_end, assume):
    """The scenario, by section."""
    for key in ("speculative_config", "spec_decode", "lora"):
        if meta.told(key):
            raise Skip(f"{key} is not simulated")
    gpu = catalogue.gpu_entry(gpu_name(meta), assume)
    tp, pp, dp = parallel_of(meta, assume)
    hardware = {"gpu": gpu, "tensor_parallel_size": tp}
    hardware.update({name: size for name, size in (("pipeline_parallel_size", pp), ("data_parallel_size", dp)) if size > 1})
    if experts_are_parallel(meta):
        hardware["enable_expert_parallel"] = True
    if utilization := meta.number("gpu_memory_utilization"):
        hardware["gpu_memory_utilization"] = utilization
    scenario = {"name": run, "model": model_of(meta, folder, assume), "hardware": hardware, "engine": engine_of(meta, gpu, assume),
                "kv_cache": kv_cache_of(meta, assume)}
    cached = prefix_caching(meta)
    if meta.flag("prefix_caching", "enable_prefix_caching") is None:
        assume("prefix caching off" if cached is False else "prefix caching on, where prompts share")
    if cached is not None:
        scenario["prefix_cache"] = {"enable": cached}
    if meta.told("cpu_offload"):
        assume("no KV is kept on the host")
    if meta.told("cpu_offload_gb"):
        assume("no weights are kept on the host")
    scenario["cost"] = {"front_end": front_end}
    return scenario


def yaml_of(scenario):
    """The sections as a scenario file."""
    return "".join(f"{name}: {flow(value) if isinstance(value, dict) else json.dumps(value)}\n" for name, value in scenario.items())


def flow(mapping):
    return "{" + ", ".join(f"{k}: {str(v).lower() if isinstance(v, bool) else v}" for k, v in mapping.items()) + "}"
