#!/usr/bin/env python3
"""scripts/accuracy on measured runs that are made up: simulated ones, so that every error has to be zero.

Usage: accuracy_test.py PROGRAM
"""

import csv
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


def make_run(truth, name, sets=(), **changes):
    """A run as a server like META would have measured it, without a front end, `sets` made to its scenario."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "scenario.yaml")
        scenario.write_text(SCENARIO)
        subprocess.run([PROGRAM, "run", scenario, "--out", f"{folder}/out", *(word for each in sets for word in ("--set", each))],
                       check=True, capture_output=True)
        with open(f"{folder}/out/requests.csv", newline="") as source, open(truth / f"{name}.csv", "w", newline="") as target:
            columns = ["arrival_s", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s"]
            writer = csv.DictWriter(target, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(csv.DictReader(source))
    (truth / f"{name}.meta.json").write_text(json.dumps({**META, **changes}))


def gpu(name):
    assumed = []
    return catalogue.gpu_entry(name, assumed.append), assumed


def model(name):
    file = catalogue.model_entry(name, lambda _: None)
    return file and file.stem, catalogue.format_of(catalogue.repository_words(name))


def accuracy(data, *arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts/accuracy", "--program", PROGRAM, *arguments], capture_output=True, text=True,
                          env={**os.environ, "BLOCKYARD_DATA_DIR": str(data)}, check=True)
    return done.stdout, done.stderr


class Accuracy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)
        self.truth = self.data / "truth"
        self.truth.mkdir()

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
                ("Qwen/Qwen2.5-32B-Instruct-GPTQ-Int8", "qwen2.5-32b", "gptq-int8"), ("nvidia/DeepSeek-R1-FP4", "deepseek-r1", "nvfp4")):
            self.assertEqual(model(name), (entry, number_format), name)
        # Others that only sound alike.
        for name in ("Qwen/Qwen2.5-Coder-7B-Instruct", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "Qwen/Qwen2.5-7B-Instruct-1M"):
            self.assertIsNone(model(name)[0])
        self.assertRaises(catalogue.NotFound, model, "TheBloke/Llama-2-7B-GGUF")

    def test_every_entry_is_found_by_its_own_repository_and_as_a_config_it_weighs_the_same(self):
        for file in [*(ROOT / "configs/models").glob("*.json"), *(ROOT / "configs/models").glob("*.yaml")]:
            self.assertEqual(catalogue.model_entry(catalogue.source_of(file), lambda _: None), file)
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
        self.assertEqual(json.loads((kept / "fp8/config.json").read_text())["quantization_config"]["quant_method"], "fp8")
        self.assertLess(found["runs"]["fp8"]["error_pct"]["tpot_mean"], -20)  # beside the same requests served in 16 bits
        self.assertIn("dtype: fp8", scenario["kv8"])
        for words in ("scheduler: vllm-v0", "enable_chunked_prefill: false", "prefix_cache: {enable: false}", "max_num_batched_tokens: 1024"):
            self.assertIn(words, scenario["old"])
        for words in ("max_num_seqs 1024", "max_num_batched_tokens 8192", "KV memory by the rules", "gpu_memory_utilization 0.9", "vLLM 0.19"):
            self.assertIn(words, assumed["bare"])
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
        self.assertIn("llama-3.1-8b has another num_layers", found["runs"]["half"]["assumed"][0])
        self.assertLess(found["runs"]["half"]["error_pct"]["tpot_mean"], -30)
        self.assertIn("the meta file lacks hidden_dim, num_heads", found["skipped"]["short"])

    def test_what_no_rule_is_for_is_skipped_with_its_reason(self):
        for name, changes, reason in (
                ("sglang", {"engine": "SGLang"}, "engine SGLang"), ("mla", {"kv_cache_dtype": "fp8_ds_mla"}, "KV in fp8_ds_mla"),
                ("gguf", {"model": "TheBloke/Llama-2-7B-GGUF"}, "weights in gguf"), ("odd", {"dtype": "posit8"}, 'weights in "posit8"'),
                ("draft", {"speculative_config": {"method": "eagle"}}, "speculative_config is not simulated"),
                ("nameless", {"gpu": None}, "names no GPU")):
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

    def test_without_data_it_says_so(self):
        out, err = accuracy(self.data / "nowhere", "--json")
        self.assertEqual(json.loads(out)["runs"], {})
        self.assertIn("skipped: no measured runs in", err)


if __name__ == "__main__":
    unittest.main()
