#!/usr/bin/env python3
"""scripts/accuracy on measured runs that are made up: simulated ones, so that every error has to be zero.

Usage: accuracy_test.py PROGRAM
"""

import csv
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import catalogue  # noqa: E402
META = {
    "model": "meta-llama/Llama-3.1-8B-Instruct", "gpu": "NVIDIA H100 SXM 80GB", "tp": 2, "engine": "vLLM", "engine_version": "0.15.1",
    "max_num_seqs": 32, "max_num_batched_tokens": 1024, "max_model_len": 4096, "block_size": 16, "num_gpu_blocks": 3000,
    "gpu_memory_utilization": 0.9, "prefix_caching": True, "chunked_prefill": True,
}
SCENARIO = """
model: llama-3.1-8b
hardware: {gpu: h100-80gb-sxm, tensor_parallel_size: 2}
workload:
  generate:
    requests: 120
    arrivals: {process: poisson, rate: 12 req/s}
    prompt_tokens: {distribution: lognormal, mean: 700, cv: 0.8, max: 3000}
    output_tokens: {distribution: uniform, low: 10, high: 200}
engine: {preset: vllm-0.14, max_num_seqs: 32, max_num_batched_tokens: 1024, max_model_len: 4096}
kv_cache: {budget: 3000 blocks}
"""


@functools.cache
def simulated(sets):
    """The CSV of SCENARIO, `sets` made to it, as a server would have been measured."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "scenario.yaml")
        scenario.write_text(SCENARIO)
        subprocess.run([PROGRAM, "run", scenario, "--out", f"{folder}/out", *(word for each in sets for word in ("--set", each))],
                       check=True, capture_output=True)
        text = io.StringIO()
        columns = ["arrival_s", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s"]
        writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows_of(pathlib.Path(folder, "out/requests.csv")))
        return text.getvalue()


def make_run(truth, name, sets=(), **changes):
    """A run as a server like META would have measured it, without a front end, `sets` made to its scenario."""
    (truth / f"{name}.csv").write_text(simulated(tuple(sets)))
    (truth / f"{name}.meta.json").write_text(json.dumps({**META, **changes}))


def rows_of(file):
    return list(csv.DictReader(file.read_text().splitlines()))


def edit_csv(truth, name, line_of):
    """The run's CSV with each line as line_of(number, line) has it; the header is line 0."""
    file = truth / f"{name}.csv"
    file.write_text("\n".join(line_of(i, line) for i, line in enumerate(file.read_text().splitlines())) + "\n")


def gpu(name):
    assumed = []
    return catalogue.gpu_entry(name, assumed.append), assumed


def model(name):
    file = catalogue.model_entry(name, lambda _: None)
    return file and file.stem, catalogue.format_of(catalogue.repository_words(name))


def accuracy(data, *arguments, cwd=None, check=True):
    done = subprocess.run([sys.executable, ROOT / "scripts/accuracy", "--program", PROGRAM, *arguments], capture_output=True, text=True,
                          env={**os.environ, "BLOCKYARD_DATA_DIR": str(data)}, check=check, cwd=cwd)
    return done.stdout, done.stderr


class Accuracy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)
        self.truth = self.data / "truth"
        self.truth.mkdir()

    def compared(self, runs):
        """The runs as found, META changed as said; none may be skipped."""
        for name, changes in runs.items():
            make_run(self.truth, name, **changes)
        self.kept = self.data / "kept"
        found = json.loads(accuracy(self.data, "--json", "--keep", str(self.kept))[0])
        self.assertEqual(found["skipped"], {})
        return found["runs"]

    def assert_no_error(self, run):
        for name, error in run["error_pct"].items():
            self.assertAlmostEqual(error, 0, places=3, msg=name)

    def test_a_simulation_has_no_error_and_one_over_http_lacks_its_front_end(self):
        make_run(self.truth, "ours")
        make_run(self.truth, "http", client_overhead_note="latencies are measured at the client over HTTP/SSE")
        make_run(self.truth, "sizes", model="nobody/unheard-of", model_config={
            "num_layers": 32, "hidden_dim": 4096, "num_heads": 32, "num_kv_heads": 8, "intermediate_dim": 14336, "num_local_experts": 0,
            "num_experts_per_tok": 0, "vocab_size": 128256})
        make_run(self.truth, "replicas", ["hardware.data_parallel_size=2"], dp=2)
        make_run(self.truth, "stages", ["hardware.pipeline_parallel_size=2"], pp=2)
        runs = json.loads(accuracy(self.data, "--json")[0])["runs"]
        self.assertEqual(sorted(runs), ["http", "ours", "replicas", "sizes", "stages"])
        for run in ("ours", "replicas", "sizes", "stages"):
            self.assertEqual(sorted(runs[run]["error_pct"]), sorted(["ttft_mean", "tpot_mean", "e2e_mean", "ttft_p99", "e2e_p99"]))
            for name, error in runs[run]["error_pct"].items():
                self.assertAlmostEqual(error, 0, places=3, msg=f"{run} {name}")
        self.assertGreater(runs["http"]["error_pct"]["ttft_mean"], 3)
        self.assertLess(abs(runs["http"]["error_pct"]["tpot_mean"]), 2)

    def test_what_cannot_be_simulated_is_skipped_and_said(self):
        make_run(self.truth, "toaster", gpu="Acme Toaster 5")
        make_run(self.truth, "unknown", model="nobody/unheard-of")
        out, err = accuracy(self.data, "--json")
        found = json.loads(out)
        self.assertEqual(found["runs"], {})
        self.assertIn("no GPU like", found["skipped"]["toaster"])
        self.assertIn("no sizes of it", found["skipped"]["unknown"])
        self.assertIn("skipped: toaster: no GPU like", err)
        self.assertEqual(accuracy(self.data, check=False)[0], "")  # no table of nothing

    def test_gpus_as_drivers_and_logs_write_them(self):
        for name, entry in (
                ("NVIDIA A100 80GB SXM", "a100-80gb-sxm"), ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"), ("NVIDIA A100-SXM4-40GB", "a100-40gb-sxm"),
                ("NVIDIA A100 80GB PCIe", "a100-80gb-pcie"), ("NVIDIA A40", "a40"),
                ("NVIDIA H100 80GB HBM3", "h100-80gb-sxm"), ("NVIDIA H100 PCIe", "h100-80gb-pcie"), ("NVIDIA H200", "h200-141gb-sxm"),
                ("B200", "b200"), ("NVIDIA L4", "l4"), ("NVIDIA L40S 48GB", "l40s"), ("NVIDIA A10", "a10"), ("RTX4090", "rtx-4090"),
                ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"), ("8x H100-SXM5-80G", "h100-80gb-sxm")):
            self.assertEqual(gpu(name), (entry, []))
        self.assertEqual(gpu("A100")[0], "a100-80gb-sxm")
        self.assertIn("does not tell it from a100-40gb-sxm", gpu("A100")[1][0])
        for name, entry in (("H100SXM", "h100-80gb-sxm"), ("A100 SXM 40 GB", "a100-40gb-sxm"), ("NVIDIA A100-SXM4-80GB x4", "a100-80gb-sxm")):
            self.assertEqual(gpu(name), (entry, []))
        for name, why in (("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "slice of a GPU"), ("NVIDIA L40S-48Q", "slice of a GPU"),
                          ("NVIDIA GeForce RTX 4090 D", "another card"), ("NVIDIA GeForce RTX 4090 Laptop GPU", "another card")):
            self.assertRaisesRegex(catalogue.NotFound, why, gpu, name)
        for name in ("NVIDIA L40", "NVIDIA A10G", "NVIDIA GH200 480GB", "NVIDIA H800", "NVIDIA RTX 6000 Ada Generation", "AMD Instinct MI300X",
                     "NVIDIA A100-PCIE-40GB", "NVIDIA H100 NVL"):
            self.assertRaises(catalogue.NotFound, gpu, name)

    def test_models_as_repositories_write_them(self):
        for name, entry, number_format in (
                ("Qwen/Qwen3-32B", "qwen3-32b", None), ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b", None),
                ("mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b", None), ("01-ai/Yi-34B", "yi-34b", None),
                ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b", None), ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b", None),
                ("microsoft/phi-4", "phi-4-14b", None), ("google/gemma-2-9b-it", "gemma-2-9b", None), ("openai/gpt-oss-20b", "gpt-oss-20b", None),
                ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3", None), ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", None),
                ("/models/llama-2-7b-chat-hf/", "llama-2-7b", None), ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1", None),
                ("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "llama-4-scout-17b-16e", "fp8"),
                ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b", "w8a8"),
                ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b", "awq"),
                ("Qwen/Qwen2.5-32B-Instruct-GPTQ-Int8", "qwen2.5-32b", "gptq-int8"), ("nvidia/DeepSeek-R1-FP4", "deepseek-r1", "nvfp4"),
                ("llama-3.1-8b-w8a8-int8", "llama-3.1-8b", "w8a8"), ("llama-3.1-8b-w8a8-fp8", "llama-3.1-8b", "fp8"),
                ("RedHatAI/Qwen3-8B-NVFP4A16", "qwen3-8b", "w4a16")):
            self.assertEqual(model(name), (entry, number_format), name)
        # As people write them, and as a cache on disk does.
        for name, entry in (
                ("Llama2-7B", "llama-2-7b"), ("llama31-8b", "llama-3.1-8b"), ("llama3.1-8b", "llama-3.1-8b"), ("Qwen-2.5-7B", "qwen2.5-7b"),
                ("gemma2-9b", "gemma-2-9b"), ("llama-3-1-8b-instruct", "llama-3.1-8b"), ("phi-3-mini", "phi-3-mini-4k"), ("phi3-mini-128k", "phi-3-mini-4k"),
                ("models--meta-llama--Llama-3.1-8B", "llama-3.1-8b"),
                ("/root/hub/models--meta-llama--Llama-2-7b-hf/snapshots/8cca527612d856d7d32bd94f8103728d614eb852/", "llama-2-7b")):
            self.assertEqual(model(name)[0], entry, name)
        # Trained from an entry's model.
        for name, entry in (
                ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7b"), ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"),
                ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b"), ("microsoft/Phi-3-mini-128k-instruct", "phi-3-mini-4k"),
                ("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2-lite")):
            assumed = []
            self.assertEqual(catalogue.model_entry(name, assumed.append).stem, entry)
            self.assertIn(f"model {entry}: sizes of", assumed[0])
        # Others that only sound alike.
        for name in ("Qwen/Qwen2.5-7B-Instruct-1M", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "Llama-27B", "Qwen-27B", "opt-1.3", "Yi-Coder-9B"):
            self.assertIsNone(model(name)[0], name)
        self.assertRaises(catalogue.NotFound, model, "TheBloke/Llama-2-7B-GGUF")

    def test_no_two_entries_are_alike_in_loose_spelling(self):
        files = [*(ROOT / "configs/models").glob("*.json"), *(ROOT / "configs/models").glob("*.yaml")]
        self.assertEqual(len({tuple(catalogue.loosely(catalogue.sizes_of(catalogue.repository_words(f.stem), True))) for f in files}), len(files))

    def test_every_entry_is_found_by_its_own_repository_and_as_a_config_it_weighs_the_same(self):
        for file in [*(ROOT / "configs/models").glob("*.json"), *(ROOT / "configs/models").glob("*.yaml")]:
            self.assertEqual(catalogue.model_entry(catalogue.source_of(file), lambda _: None), file)
            self.assertEqual(catalogue.model_entry(file.stem, lambda _: None), file)
            if file.suffix == ".json":
                continue
            try:
                config = self.data / "config.json"
                config.write_text(json.dumps(catalogue.config_of(file)))
            except catalogue.NotFound:
                continue
            size = [json.loads(subprocess.run([PROGRAM, "size", "--model", m, "--gpu", "h200-141gb-sxm", "--tp", "4", "--json"], check=True,
                                              capture_output=True, text=True).stdout) for m in (file.stem, config)]
            for key in ("parameters", "active_parameters", "weight_bytes_per_gpu", "bytes_per_token", "kv_blocks", "max_model_len"):
                self.assertEqual(size[0][key], size[1][key], f"{file.stem} {key}")

    def test_a_server_that_is_not_like_the_others_is_simulated_as_it_was(self):
        cases = {
            "fp8": {"model": "RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic"},
            "kv8": {"kv_cache_dtype": "fp8_e4m3"},
            "old": {"engine_version": "v0.6.6.post1", "prefix_caching": None, "chunked_prefill": None},
            "bare": {key: None for key in ("tp", "max_num_seqs", "max_num_batched_tokens", "num_gpu_blocks", "gpu_memory_utilization",
                                           "chunked_prefill", "engine_version", "block_size")},
            "json": {"model": "Qwen/Qwen3-30B-A3B-Instruct-2507"},
            "whole": {"chunked_prefill": False, "max_num_batched_tokens": None, "max_model_len": 32768},
            "l40s": {"gpu": "NVIDIA L40S", "model": "Qwen/Qwen2.5-7B-Instruct"},
        }
        for name, changes in cases.items():
            make_run(self.truth, name, **changes)
        kept = self.data / "kept"
        found = json.loads(accuracy(self.data, "--json", "--keep", str(kept))[0])
        self.assertEqual(found["skipped"], {})
        scenario = {name: (kept / name / "scenario.yaml").read_text() for name in cases}
        assumed = {name: "; ".join(found["runs"][name]["assumed"]) for name in cases}
        self.assertIn("weights in fp8 but for lm_head", assumed["fp8"])
        self.assertEqual(json.loads((kept / "fp8/Llama-3.1-8B-Instruct-FP8-dynamic.json").read_text())["quantization_config"]["quant_method"], "fp8")
        self.assertLess(found["runs"]["fp8"]["error_pct"]["tpot_mean"], -20)  # beside the same requests served in 16 bits
        self.assertIn("dtype: fp8", scenario["kv8"])
        for words in ("scheduler: vllm-v0", "enable_chunked_prefill: false", "prefix_cache: {enable: false}", "max_num_batched_tokens: 1024"):
            self.assertIn(words, scenario["old"])
        for words in ("max_num_seqs 1024", "max_num_batched_tokens 8192", "KV memory by the rules", "gpu_memory_utilization 0.9", "vLLM 0.19",
                      "tp 1", "block_size 16", "weights in 16 bits", "KV cache in 16 bits", "engine's own times: nothing says"):
            self.assertIn(words, assumed["bare"])
        self.assertIn("max_num_batched_tokens 32768", assumed["whole"])
        engine = found["runs"]["json"]["engine"]
        self.assertEqual([engine[key] for key in ("model", "gpu", "gpus", "tensor_parallel_size", "preset")],
                         ["qwen3-30b-a3b", "h100-80gb-sxm", 2, 2, "vllm-0.14"])
        self.assertEqual(found["runs"]["l40s"]["engine"]["gpu"], "l40s")
        for name in cases:
            self.assertIn("prompts that share nothing", assumed[name] if name != "old" else "prompts that share nothing")
        self.assertNotIn("share nothing", assumed["old"])  # its cache was off

    def test_sizes_of_the_meta_file_go_before_an_entry_that_contradicts_them(self):
        sizes = {"num_layers": 16, "hidden_dim": 4096, "num_heads": 32, "num_kv_heads": 8, "intermediate_dim": 14336, "vocab_size": 128256}
        make_run(self.truth, "half", model_config=sizes)
        make_run(self.truth, "short", model="nobody/unheard-of", model_config={"num_layers": 16})
        found = json.loads(accuracy(self.data, "--json")[0])
        self.assertIn("llama-3.1-8b but for num_hidden_layers 16, of the meta file", found["runs"]["half"]["assumed"])
        self.assertLess(found["runs"]["half"]["error_pct"]["tpot_mean"], -30)
        self.assertIn("the meta file lacks hidden_dim, num_heads", found["skipped"]["short"])

    def test_what_no_rule_is_for_is_skipped_with_its_reason(self):
        for name, changes, reason in (
                ("sglang", {"engine": "SGLang"}, "engine SGLang"), ("mla", {"kv_cache_dtype": "fp8_ds_mla"}, "KV in fp8_ds_mla"),
                ("gguf", {"model": "TheBloke/Llama-2-7B-GGUF"}, "weights in gguf"), ("odd", {"dtype": "posit8"}, 'weights in "posit8"'),
                ("draft", {"speculative_config": {"method": "eagle"}}, "speculative_config is not simulated"),
                ("nameless", {"gpu": None}, "names no GPU"),
                ("narrow", {"model": "meta-llama/Llama-2-70b-hf", "tp": None, "num_gpu_blocks": None}, "does not fit on 1 x h100-80gb-sxm"),
                ("guess", {"tp": None, "num_gpus": 3}, "; assumed: tp 3, of 3 GPUs")):
            make_run(self.truth, name, **changes)
            out, err = accuracy(self.data, "--json", "--only", name)
            self.assertIn(reason, json.loads(out)["skipped"][name])
            self.assertIn(f"skipped: {name}", err)

    def test_failed_rows_and_what_prompts_share_are_told(self):
        make_run(self.truth, "rows")
        text = (self.truth / "rows.csv").read_text().splitlines()
        text = [text[0] + ",prompt_id,error"] + [f"{line},{i % 7},{'Timeout' if i == 3 else ''}" for i, line in enumerate(text[1:])]
        (self.truth / "rows.csv").write_text("\n".join(text))
        assumed = json.loads(accuracy(self.data, "--json")[0])["runs"]["rows"]["assumed"]
        self.assertIn("1 request that failed does not matter", assumed)
        self.assertNotIn("prompts that share nothing", assumed)
        self.assertIn("assumed: 1 request that failed", accuracy(self.data)[0])

    def test_a_run_that_is_not_there_is_answered_with_those_that_are(self):
        make_run(self.truth, "there")
        done = subprocess.run([ROOT / "scripts/accuracy", "--program", PROGRAM, "--only", "ther"], capture_output=True, text=True,
                              env={**os.environ, "BLOCKYARD_DATA_DIR": str(self.data)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("no run ther; in ", done.stderr)
        self.assertTrue(done.stderr.endswith("there are there\n"))

    def test_without_runs_it_says_so_and_fails(self):
        for data in (self.data, self.data / "nowhere"):
            self.assertRaises(subprocess.CalledProcessError, accuracy, data)
            out, err = accuracy(data, "--json", check=False)
            self.assertEqual(json.loads(out), {"runs": {}, "skipped": {}})
            self.assertIn("no measured runs in", err)

    def test_a_bad_run_is_skipped_with_its_reason_and_loses_no_other(self):
        make_run(self.truth, "good")
        cases = {
            "gpu": ({"gpu": ["A100"]}, "gpu is a list, expected a name"), "model": ({"model": {"name": "llama"}}, "model is an object, expected a name"),
            "sizes": ({"model_config": "llama"}, 'model_config is "llama", expected an object'), "pp": ({"pp": "two"}, 'pp is "two", expected a number'),
            "seqs": ({"max_num_seqs": 1.5}, "max_num_seqs is 1.5, expected a whole number"), "tp": ({"tp": True}, "tp is true, expected a number"),
            "cache": ({"kv_cache_from_meta": 5}, "kv_cache_from_meta is 5, expected an object"),
            "flag": ({"prefix_caching": "maybe"}, 'prefix_caching is "maybe", expected true or false'),
        }
        for name, (changes, _) in cases.items():
            make_run(self.truth, name, **changes)
        for name, text, reason in (("list", "[]", "meta file: a list, expected an object"), ("broken", '{"model": ', "meta file: Expecting value"),
                                   ("empty", "", "meta file: Expecting value")):
            make_run(self.truth, name)
            (self.truth / f"{name}.meta.json").write_text(text)
            cases[name] = ({}, reason)
        for name, text, reason in (("nothing", "", "an empty file"), ("ragged", "arrival_s,prompt_tokens,output_tokens,e2e_s,prompt_id\n0,1,1\n", "found 3"),
                                   ("header", "arrival_s\n0\n", "need the column(s) prompt_tokens")):
            make_run(self.truth, name, system_prompt_len=100)
            (self.truth / f"{name}.csv").write_text(text)
            cases[name] = ({}, reason)
        make_run(self.truth, "lone")
        (self.truth / "lone.csv").unlink()
        cases["lone"] = ({}, "no lone.csv beside")
        make_run(self.truth, "folder")  # what no rule foresees
        (self.truth / "folder.meta.json").unlink()
        (self.truth / "folder.meta.json").mkdir()
        cases["folder"] = ({}, "IsADirectoryError: ")
        found = json.loads(accuracy(self.data, "--json")[0])
        self.assertEqual(list(found["runs"]), ["good"])
        self.assertEqual(sorted(found["skipped"]), sorted(cases))
        for name, (_, reason) in cases.items():
            self.assertIn(reason, found["skipped"][name])

    def test_values_are_read_as_they_are_plainly_meant(self):
        runs = self.compared({
            "words": {"tp": "2", "max_num_seqs": "32", "max_num_batched_tokens": "1,024", "num_gpu_blocks": 3000.0, "gpu_memory_utilization": "0.9",
                      "prefix_caching": "true", "chunked_prefill": "True", "max_model_len": "4096"},
            "number": {"engine_version": 0.15}, "named": {"engine": "vLLM 0.15.1", "engine_version": None}, "v1": {"engine_version": "V1 (0.15.1)"},
            "torch": {"dtype": "torch.bfloat16", "kv_cache_dtype": "torch.bfloat16"}, "note": {"clock_note": ["engine's clock"]},
            "spelt": {"tp": None, "tensor_parallel_size": 2}, "nested": {"tp": None, "parallel_config": {"tensor_parallel_size": 2}},
            "dense": {"model_config": {"num_local_experts": 1, "num_experts_per_tok": 1}}, "card": {"tp": None, "gpu": "H100 SXM x2"},
            "percent": {"gpu_memory_utilization": "90%", "num_cpu_blocks": float("nan"), "tensor_parallel_size": float("nan")},
            "none": {"lora": "None", "speculative_config": False, "quantization": False, "num_gpus": "unknown"}})
        for name, run in runs.items():
            self.assert_no_error(run)
            self.assertEqual((run["engine"]["preset"], run["engine"]["tensor_parallel_size"]), ("vllm-0.14", 2), name)
        self.assertNotIn("KV cache", "".join(runs["torch"]["assumed"]))
        self.assertNotIn("own times", "".join(runs["note"]["assumed"]))

    def test_how_a_server_is_spread_over_gpus_is_read_or_said(self):
        moe = {"model": "Qwen/Qwen3-30B-A3B", "tp": 2}
        runs = self.compared({
            "untold": {"tp": None}, "counted": {"tp": None, "num_gpus": 4, "pipeline_parallel_size": "2"}, "name": {"tp": None, "gpu": "8x NVIDIA H100 SXM"},
            "odd": {"num_gpus": 4}, "ep": {**moe, "ep": True}, "long": {**moe, "enable_expert_parallel": "true"}, "ep1": {**moe, "ep": 1},
            "dp": {**moe, "tp": 1, "data_parallel_size": 2}, "full": {"tp": 1, "model": "meta-llama/Llama-2-70b-hf"}})
        assumed = {name: "; ".join(run["assumed"]) for name, run in runs.items()}
        sizes = {name: [run["engine"][f"{kind}_parallel_size"] for kind in ("tensor", "pipeline", "data")] for name, run in runs.items()}
        self.assertIn("tp 1", runs["untold"]["assumed"])
        self.assertEqual((sizes["counted"], sizes["name"], sizes["dp"]), ([2, 2, 1], [8, 1, 1], [1, 1, 2]))
        self.assertIn("tp 2, of 4 GPUs", assumed["counted"])
        self.assertIn("2 GPUs, where the meta file counts 4", assumed["odd"])
        for name, parallel in (("ep", True), ("long", True), ("ep1", False)):
            self.assertEqual("enable_expert_parallel: true" in (self.kept / name / "scenario.yaml").read_text(), parallel, name)
        self.assertIn("3000 blocks and weights of 143 GiB a GPU, which has 79 GiB", assumed["full"])
        self.assertNotIn("GiB", assumed["untold"])

    def test_a_method_of_quantisation_that_leaves_the_bits_open_is_told_by_the_name(self):
        runs = self.compared({
            "fp8": {"model": "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "quantization": "compressed-tensors"},
            "w4": {"model": "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "quantization": "compressed-tensors"},
            "fp4": {"model": "nvidia/Llama-3.1-8B-Instruct-FP4", "quantization": "modelopt", "gpu": "NVIDIA B200"},
            "int8": {"model": "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "quantization": "gptq_marlin"},
            "own": {"model": "deepseek-ai/DeepSeek-R1", "quantization": "fp8", "tp": 16, "gpu": "NVIDIA H200"},
            "undone": {"model": "unsloth/gpt-oss-20b-BF16"}, "kept": {"model": "openai/gpt-oss-20b", "dtype": "bfloat16"}})
        for name, words in (("fp8", "fp8 but for"), ("w4", "w4a16 but for"), ("fp4", "nvfp4 but for"), ("int8", "gptq-int8 but for"), ("undone", "bf16")):
            self.assertIn(f"weights in {words}", "; ".join(runs[name]["assumed"]))
        self.assertEqual((runs["own"]["engine"]["model"], runs["kept"]["engine"]["model"]), ("deepseek-r1", "gpt-oss-20b"))
        self.assertLess(runs["kept"]["error_pct"]["tpot_mean"], runs["undone"]["error_pct"]["tpot_mean"])
        make_run(self.truth, "open", quantization="compressed-tensors")
        self.assertIn('weights in "compressed-tensors"', json.loads(accuracy(self.data, "--json", "--only", "open")[0])["skipped"]["open"])

    def test_a_prefix_cache_that_was_on_is_on_and_what_is_not_told_is_the_programs(self):
        runs = self.compared({"on": {}, "off": {"prefix_caching": "false"}, "untold": {"prefix_caching": None},
                              "old": {"engine_version": "0.6.6", "enable_prefix_caching": True, "prefix_caching": None}})
        scenario = {name: (self.kept / name / "scenario.yaml").read_text() for name in runs}
        for name in ("on", "old"):
            self.assertIn("prefix_cache: {enable: true}", scenario[name])
        self.assertIn("prefix_cache: {enable: false}", scenario["off"])
        self.assertNotIn("prefix_cache", scenario["untold"])
        self.assertIn("prefix caching on, where prompts share", runs["untold"]["assumed"])

    def test_sizes_that_differ_leave_the_entry_what_it_is(self):
        lite = {"num_layers": 27, "hidden_dim": 2048, "num_heads": 16, "num_kv_heads": 16, "intermediate_dim": 10944, "num_local_experts": 64,
                "num_experts_per_tok": 6, "vocab_size": 102400}
        oss = {"num_layers": 24, "hidden_dim": 2880, "num_heads": 64, "num_kv_heads": 8, "vocab_size": 201072}
        deepseek = {"model": "deepseek-ai/DeepSeek-V2-Lite-Chat", "tp": 1}
        runs = self.compared({
            "padded": {**deepseek, "model_config": {**lite, "vocab_size": 102656}}, "latent": {**deepseek, "model_config": {**lite, "num_kv_heads": 1}},
            "shared": {**deepseek, "model_config": {**lite, "num_local_experts": 66}}, "fewer": {**deepseek, "model_config": {**lite, "num_local_experts": 32}},
            "oss": {"model": "openai/gpt-oss-20b", "model_config": oss}, "short": {"model": "openai/gpt-oss-20b", "model_config": {"num_layers": "12"}},
            "hf": {"model": "google/gemma-2-9b-it", "model_config": {"vocab_size": 256128, "num_hidden_layers": 42}},
            "opt": {"model": "facebook/opt-13b", "model_config": {"vocab_size": 50304}, "max_model_len": 2048}, "padded70": {
                "model": "meta-llama/Llama-2-70b-hf", "model_config": {"vocab_size": 32064, "num_heads": 64}, "quantization": "fp8"},
            "phi": {"model": "microsoft/Phi-3-mini-128k-instruct", "tp": 1, "max_model_len": 8192}})
        for name in ("latent", "shared"):  # counted otherwise: the same
            self.assertEqual(runs[name]["engine"]["model"], "deepseek-v2-lite")
            self.assertNotIn("but for", "; ".join(runs[name]["assumed"]))
        config = {name: json.loads(next((self.kept / name).glob("*.json")).read_text()) for name in ("padded", "fewer", "oss", "short", "hf", "phi")}
        self.assertEqual((config["padded"]["model_type"], config["padded"]["vocab_size"], config["padded"]["kv_lora_rank"]), ("deepseek_v2", 102656, 512))
        self.assertIn("deepseek-v2-lite but for vocab_size 102656, of the meta file", runs["padded"]["assumed"])
        self.assertEqual((config["fewer"]["n_routed_experts"], "num_local_experts" in config["fewer"]), (32, False))
        self.assertEqual((config["oss"]["model_type"], config["oss"]["vocab_size"]), ("gpt_oss", 201072))
        self.assertEqual((config["short"]["num_hidden_layers"], len(config["short"]["layer_types"])), (12, 12))
        self.assertEqual((config["hf"]["model_type"], config["hf"]["vocab_size"]), ("gemma2", 256128))
        self.assertIn("vocab_size: 50304 ", (self.kept / "opt/opt-13b.yaml").read_text())
        self.assertEqual(json.loads((self.kept / "padded70/Llama-2-70b-hf.json").read_text())["vocab_size"], 32064)
        self.assertEqual((config["phi"]["max_position_embeddings"], config["phi"]["sliding_window"]), (131072, None))

    def test_requests_that_the_simulation_cuts_short_or_turns_away_are_counted(self):
        make_run(self.truth, "some", max_model_len=1000)
        make_run(self.truth, "none", num_gpu_blocks=2)
        edit_csv(self.truth, "none", lambda i, line: line if i == 0 else ",".join("900" if k == 1 else field for k, field in enumerate(line.split(","))))
        found = json.loads(accuracy(self.data, "--json")[0])
        rows = rows_of(self.truth / "some.csv")
        away = sum(int(row["prompt_tokens"]) >= 1000 for row in rows)
        cut = sum(int(row["prompt_tokens"]) < 1000 < int(row["prompt_tokens"]) + int(row["output_tokens"]) for row in rows)
        self.assertGreater(min(away, cut), 0)
        self.assertIn(f"{away} of 120 requests turned away", found["runs"]["some"]["assumed"])
        self.assertIn(f"{cut} of 120 requests cut short at max_model_len", found["runs"]["some"]["assumed"])
        self.assertEqual(found["skipped"], {"none": "nothing to compare; 120 of 120 requests turned away"})

    def test_a_figure_that_cannot_be_compared_is_a_dash(self):
        make_run(self.truth, "zero")
        edit_csv(self.truth, "zero", lambda i, line: ",".join("0" if i and k == 3 else field for k, field in enumerate(line.split(","))))
        self.assertRegex(accuracy(self.data)[0], r"\nzero +- +[-+]\d\.\d +0\.0 +- +0\.0\n")

    def test_a_folder_to_keep_may_be_a_relative_path(self):
        make_run(self.truth, "fp8", model="RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic")
        found = json.loads(accuracy(self.data, "--json", "--keep", "kept", cwd=self.data)[0])
        self.assertEqual(found["skipped"], {})
        self.assertTrue((self.data / "kept/fp8/scenario.yaml").is_file())

    def test_prompts_are_numbered_and_grouped_however_their_ids_are_written(self):
        spellings = {
            "plain": lambda i: i % 40, "float": lambda i: f"{i % 40}.0", "word": lambda i: f"p{i % 40}", "blank": lambda i: i % 40,
            "upper": lambda i: i % 40, "some": lambda i: ("", "-1", "nan")[i % 3 - 1] if i % 3 else i % 40}
        for name, spell in spellings.items():
            make_run(self.truth, name, system_prompt_len=64, workload="4 groups x 10 prompts" if name != "word" else "chat")
            edit_csv(self.truth, name, lambda i, line: f"{line},{spell(i - 1) if i else 'prompt_id'}")
        edit_csv(self.truth, "blank", lambda i, line: line + ("\n" if i in (7, 120) else ""))
        edit_csv(self.truth, "upper", lambda i, line: line if i else ", ".join(name.upper() for name in line.split(",")))
        found = json.loads(accuracy(self.data, "--json", "--keep", str(self.data / "kept"))[0])
        self.assertEqual(found["skipped"], {})
        for name in ("float", "word", "blank", "upper"):
            self.assertEqual(found["runs"][name]["error_pct"], found["runs"]["plain"]["error_pct"], name)
        self.assertNotEqual(found["runs"]["some"]["error_pct"], found["runs"]["plain"]["error_pct"])
        self.assertIn("prompts numbered as they first appear, 10 a group", found["runs"]["word"]["assumed"])
        self.assertIn("10 prompts a group that begins alike", found["runs"]["word"]["assumed"])
        self.assertIn("80 requests without a prompt_id share nothing", found["runs"]["some"]["assumed"])
        rows = rows_of(self.data / "kept/some/some.csv")
        self.assertEqual([rows[1][key] for key in ("prompt_id", "prefix_id", "prefix_tokens")], ["", "", ""])
        self.assertEqual([rows[12][key] for key in ("prompt_id", "prefix_id", "prefix_tokens")], ["12", "1", "64"])

    def test_who_took_the_times_is_read_from_the_note(self):
        front_end = {"sse": "OpenAI API, streaming (SSE)", "http": "at the client over HTTP", "engine": "engine timestamps, no HTTP in between"}
        runs = self.compared({name: {"client_overhead_note": note} for name, note in front_end.items()})
        self.assertEqual([runs[name]["front_end"].startswith("front end") for name in front_end], [True, True, False])


if __name__ == "__main__":
    unittest.main()
