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


def make_run(truth, name, **changes):
    """A run as a server like META would have measured it, without a front end."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "scenario.yaml")
        scenario.write_text(SCENARIO)
        subprocess.run([PROGRAM, "run", scenario, "--out", f"{folder}/out"], check=True, capture_output=True)
        with open(f"{folder}/out/requests.csv", newline="") as source, open(truth / f"{name}.csv", "w", newline="") as target:
            columns = ["arrival_s", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s"]
            writer = csv.DictWriter(target, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(csv.DictReader(source))
    (truth / f"{name}.meta.json").write_text(json.dumps({**META, **changes}))


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
        runs = json.loads(accuracy(self.data, "--json")[0])["runs"]
        self.assertEqual(sorted(runs), ["http", "ours", "sizes"])
        for run in ("ours", "sizes"):
            self.assertEqual(sorted(runs[run]["error_pct"]), sorted(["ttft_mean", "tpot_mean", "e2e_mean", "ttft_p99", "e2e_p99"]))
            for name, error in runs[run]["error_pct"].items():
                self.assertAlmostEqual(error, 0, places=3, msg=f"{run} {name}")
        self.assertGreater(runs["http"]["error_pct"]["ttft_mean"], 3)
        self.assertLess(abs(runs["http"]["error_pct"]["tpot_mean"]), 2)

    def test_what_cannot_be_simulated_is_skipped_and_said(self):
        make_run(self.truth, "two", dp=2)
        make_run(self.truth, "toaster", gpu="Acme Toaster 5")
        make_run(self.truth, "unknown", model="nobody/unheard-of")
        out, err = accuracy(self.data, "--json")
        found = json.loads(out)
        self.assertEqual(found["runs"], {})
        self.assertEqual(found["skipped"]["two"], "dp = 2 is not simulated")
        self.assertIn("no GPU like", found["skipped"]["toaster"])
        self.assertIn("no sizes of it", found["skipped"]["unknown"])
        self.assertIn("skipped: two: dp = 2", err)

    def test_without_data_it_says_so(self):
        out, err = accuracy(self.data / "nowhere", "--json")
        self.assertEqual(json.loads(out)["runs"], {})
        self.assertIn("skipped: no measured runs in", err)


if __name__ == "__main__":
    unittest.main()
