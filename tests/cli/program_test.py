#!/usr/bin/env python3
"""The program as a whole, as a shell sees it: exit statuses, what goes to which stream, files, closed pipes, Ctrl-C.

Usage: program_test.py PATH_OF_BLOCKYARD
"""

import csv
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BLOCKYARD = ""

SCENARIO = """\
name: small
seed: 7
model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
workload:
  generate:
    requests: REQUESTS
    arrivals: {process: poisson, rate: 4 req/s}
    prompt_tokens: {distribution: lognormal, mean: 512, cv: 1.0}
    output_tokens: {distribution: constant, value: 64}
engine: {scheduler: vllm-v1, max_model_len: 8192}
kv_cache: {strategy: paged, block_size: 16}
"""


def blockyard(*arguments, **options):
    return subprocess.run([BLOCKYARD, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False, **options)


class TheProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="blockyard-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scenario = self.write("small.yaml", SCENARIO.replace("REQUESTS", "200"))

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_a_run_prints_a_report_and_nothing_to_err(self):
        done = blockyard("run", self.scenario)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("TTFT", done.stdout)

    def test_what_a_trace_was_read_as_is_said_on_the_screen_and_not_in_the_files(self):
        self.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,10,5\n")
        text = SCENARIO[:SCENARIO.index("workload:")] + "workload: {trace: {file: t.csv}}\n" + SCENARIO[SCENARIO.index("engine:"):]
        traced = self.write("traced.yaml", text)
        done = blockyard("run", traced, "--out", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note        trace format blockyard: 2 rows read\n", done.stdout)
        self.assertNotIn("rows read", (self.folder / "out" / "summary.json").read_text())
        self.assertNotIn("rows read", blockyard("run", self.scenario).stdout)
        self.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n1,10,5\n0,10,5\n")
        done = blockyard("run", traced, "--out", self.folder / "out")
        self.assertEqual(done.stdout.count("2 rows read, 1 out of order"), 1, done.stdout)
        self.assertIn("2 rows read, 1 out of order", (self.folder / "out" / "summary.json").read_text())

    def test_memory_that_is_never_enough_is_told_with_all_that_made_it_small(self):
        def said(*settings):
            settings = [word for setting in ("kv_cache.budget=80 blocks", *settings) for word in ("--set", setting)]
            done = blockyard("run", self.scenario, *settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            return " ".join(done.stdout.split())
        self.assertIn("could never hold them (kv_cache.budget, admission.watermark):", said("admission.watermark=78 blocks"))
        self.assertIn("could never hold them (kv_cache.budget, kv_cache.reservation):", said("kv_cache.strategy=contiguous"))
        note = "preemption.swap_space holds no block of 2097152 bytes: all victims are recomputed"
        self.assertIn(note, said("preemption.mode=swap", "preemption.swap_space=2 MB"))
        self.assertNotIn(note, said("preemption.mode=swap", "preemption.swap_space=2 MiB"))

    def test_links_are_of_this_world(self):
        for setting in ("bandwidth=1e-15 GB/s", "bandwidth=999 kB/s", "bandwidth=0 GB/s", "copy_overhead=1 s",
                        "latency=1 min"):
            key, value = setting.split("=")
            done = blockyard("run", self.scenario, "--set", "preemption.mode=swap", "--set", f"hardware.links.host.{setting}")
            self.assertEqual(done.returncode, 2, setting)
            self.assertIn(f"hardware.links.host.{key}: expected", done.stderr)
            self.assertIn(f'found "{value}"', done.stderr)

        for key in ("hardware.links.stage.bandwidth", "prefix_cache.tiers.nvme.bandwidth"):
            done = blockyard("run", self.scenario, "--set", f"{key}=1e-6 B/s")
            self.assertEqual(done.returncode, 2, key)
            self.assertIn(f"{key}: expected at least 1 MB/s", done.stderr)

    def test_a_section_begun_by_set_in_a_list_needs_its_keys(self):
        population = pathlib.Path(__file__).parents[2] / "configs" / "tenants-qwen2.5-7b.yaml"
        lacking = blockyard("run", population, "--set", "workload.generate.clients[0].prefix.groups=5")
        self.assertEqual(lacking.returncode, 2)
        self.assertIn("workload.generate.clients[0].prefix.tokens: required but not given", lacking.stderr)
        whole = blockyard("run", population, "--set", "workload.generate.clients[0].prefix.groups=5",
                          "--set", "workload.generate.clients[0].prefix.tokens=64", "--set", "workload.generate.requests=50")
        self.assertEqual(whole.returncode, 0, whole.stderr)

    def test_what_is_wrong_with_a_client_stands_where_it_does(self):
        spec = self.folder / "population.yaml"
        lengths = "      - prompt_tokens: {distribution: constant, value: 40}\n" \
                  "        output_tokens: {distribution: constant, value: 20}\n"
        client = lengths + "        arrivals: {process: poisson, rate: 1 req/s}\n"
        spec.write_text("model: llama-3-8b\nhardware: {gpu: h100-80gb-sxm}\nworkload:\n  generate:\n    requests: 9\n"
                        "    rate: 2 req/s\n    clients:\n" + client + client + "        share: 2\n" + lengths +
                        "        arrivals: {process: piecewise, curve: \"0 s: 1 req/s\"}\n")
        done = blockyard("run", spec)
        self.assertEqual(done.returncode, 2)
        self.assertIn("population.yaml:14:16: workload.generate.clients[1].share: all clients have a share, or none", done.stderr)
        spec.write_text(spec.read_text().replace("        share: 2\n", ""))
        self.assertIn("population.yaml:16:9: workload.generate.clients[2].arrivals: a curve has no mean rate",
                      blockyard("run", spec).stderr)

    def test_json_is_all_there_is_on_out(self):
        done = blockyard("run", self.scenario, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        requests = summary["requests"]
        self.assertEqual(requests["arrived"], 200)
        self.assertEqual(requests["arrived"],
                         requests["finished"] + requests["rejected"] + requests["timed_out"] + requests["unfinished"])

    def test_the_same_run_gives_the_same_bytes(self):
        outputs = []
        for name in ("a", "b"):
            out = self.folder / name
            done = blockyard("run", self.scenario, "--json", "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.append([done.stdout] + [(out / f).read_bytes() for f in ("summary.json", "requests.csv", "timeseries.csv", "events.csv")])
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(json.loads(outputs[0][0]), json.loads(outputs[0][1]))

    def test_the_files_in_a_folder_are_of_one_run(self):
        out = self.folder / "out"
        for events in (True, False):
            settings = ("--set", "output.memory_events=true") if events else ()
            done = blockyard("run", self.scenario, "--out", out, *settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((out / "memory.csv").exists(), events)

    def test_a_comparison_is_written_flat_too(self):
        out = self.folder / "out"
        done = blockyard("compare", self.scenario, "--vary", "kv_cache.block_size=16,32", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out / "comparison.csv", newline="") as source:
            rows = list(csv.DictReader(source))
        self.assertEqual([row["kv_cache.block_size"] for row in rows], ["16", "32"])
        for row, variant in zip(rows, json.loads((out / "comparison.json").read_text())["variants"]):
            self.assertEqual(row["label"], variant["label"])
            self.assertEqual(float(row["latency.ttft_s.mean"]), variant["summary"]["latency"]["ttft_s"]["mean"])

    def test_requests_csv_has_a_row_for_each_request(self):
        done = blockyard("run", self.scenario, "--out", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len((self.folder / "out/requests.csv").read_text().splitlines()), 201)

    def test_explain_tells_a_request_from_the_files_of_a_run(self):
        out = self.folder / "explained"
        short = ("--set", "kv_cache.budget=80 blocks")  # memory for a few requests only
        done = blockyard("run", self.scenario, *short, "--json", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["preemption"]["count"], 0)
        worst = blockyard("explain", out, "--worst", "2", "--by", "stall", "--json")
        self.assertEqual(worst.returncode, 0, worst.stderr)
        stories = json.loads(worst.stdout)["requests"]
        self.assertEqual(len(stories), 2)
        for story in stories:
            self.assertGreater(len(story["preemptions"]), 0)
            self.assertAlmostEqual(sum(story["time_ledger"].values()), story["e2e_s"], places=9)
            self.assertIsNotNone(story["preemptions"][0]["for_request"])
        one = blockyard("explain", out, "--request", str(stories[0]["request"]))
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertIn("is preempted", one.stdout)
        for wrong in (["--request", "200"], ["--request", "x"], [], ["--worst", "0"], ["--worst", "1", "--by", "tpot"]):
            self.assertEqual(blockyard("explain", out, *wrong).returncode, 2, wrong)
        self.assertEqual(blockyard("explain", self.folder / "absent", "--request", "1").returncode, 2)
        done = blockyard("run", self.scenario, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(blockyard("explain", out, "--worst", "2", "--by", "stall").stdout,
                         f"no request of {out} was stalled\n")
        done = blockyard("run", self.scenario, "--set", "output.events=false", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = blockyard("explain", out, "--request", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("output.events=true", done.stderr)

    def test_ctrl_c_while_a_trace_is_awaited_writes_what_is_done(self):
        fifo = self.folder / "fifo.csv"
        os.mkfifo(fifo)
        text = SCENARIO[:SCENARIO.index("workload:")] + f"workload: {{trace: {{file: {fifo}, format: blockyard}}}}\n"
        waiting = self.write("fifo.yaml", text)
        child = subprocess.Popen([BLOCKYARD, "run", waiting, "--json"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(fifo, "w") as writer:
            writer.write("arrival_s,prompt_tokens,output_tokens\n0,10,5\n")
            writer.flush()
            asleep = 0  # looks in a row at which it waited for more
            while asleep < 5 and child.poll() is None:
                state = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
                asleep = asleep + 1 if state == "S" else 0
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, err)
        if out:
            self.assertTrue(json.loads(out)["interrupted"])

    def test_a_setting_is_as_good_as_the_file(self):
        by_setting = blockyard("run", self.scenario, "--json", "--set", "seed=8")
        by_file = blockyard("run", self.write("eight.yaml", self.scenario.read_text().replace("seed: 7", "seed: 8")), "--json")
        self.assertEqual(by_setting.returncode, 0, by_setting.stderr)
        self.assertEqual(by_setting.stdout, by_file.stdout)
        self.assertNotEqual(by_setting.stdout, blockyard("run", self.scenario, "--json").stdout)

    def test_a_wrong_scenario_is_told_whole_with_places(self):
        wrong = self.write("wrong.yaml", SCENARIO.replace("REQUESTS", "many").replace("block_size", "block_sise"))
        done = blockyard("run", wrong, "--json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, lines)
        for line in lines:
            self.assertRegex(line, r"^" + re.escape(str(wrong)) + r":\d+:\d+: ")
        self.assertIn('did you mean "block_size"?', done.stderr)

    def test_a_wrong_setting_and_a_missing_file_are_wrong_input(self):
        self.assertEqual(blockyard("run", self.scenario, "--set", "kv_cache.strategy=pagd").returncode, 2)
        self.assertEqual(blockyard("run", self.folder / "absent.yaml").returncode, 2)
        self.assertEqual(blockyard("trace", "info", self.folder / "absent.csv").returncode, 2)

    def test_wrong_usage(self):
        for arguments in ([], ["rum"], ["run"], ["run", "--jsno", self.scenario], ["trace", "inof"], ["list", "modles"]):
            done = blockyard(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertNotEqual(done.stderr, "", arguments)

    def test_compare_has_a_column_for_each_combination(self):
        done = blockyard("compare", self.scenario, "--vary", "kv_cache.strategy=paged,contiguous", "--vary", "seed=1,2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        labels = [variant["label"] for variant in json.loads(done.stdout)["variants"]]
        self.assertEqual(labels, ["strategy=paged, seed=1", "strategy=paged, seed=2",
                                  "strategy=contiguous, seed=1", "strategy=contiguous, seed=2"])

    def test_compare_is_the_runs_and_does_not_depend_on_jobs(self):
        vary = ("compare", self.scenario, "--vary", "kv_cache.block_size=16,32", "--json")
        one, four = blockyard(*vary, "--jobs", "1"), blockyard(*vary, "--jobs", "4")
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(one.stdout, four.stdout)
        alone = json.loads(blockyard("run", self.scenario, "--json", "--set", "kv_cache.block_size=32").stdout)
        self.assertEqual(json.loads(one.stdout)["variants"][1]["summary"], alone)

    def test_every_variant_is_validated_before_any_runs(self):
        done = blockyard("compare", self.scenario, "--vary", "kv_cache.strategy=paged,pagd")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('did you mean "paged"?', done.stderr)

    def size(self, *arguments):
        done = blockyard("size", *arguments, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def test_size_answers_in_the_keys_that_others_read(self):
        status, size = self.size("--model", "llama-3-8b", "--budget", "60 GiB", "--max-model-len", "8192",
                                 "--context", "2048,131072")
        self.assertEqual(status, 0)
        self.assertEqual(size["bytes_per_token_per_gpu"], 131072)
        self.assertEqual(size["fixed_bytes_per_sequence"], 0)
        self.assertEqual(size["kv_bytes_per_gpu"], 60 << 30)
        self.assertEqual((size["kv_blocks"], size["kv_tokens"]), (30720, 491520))
        self.assertEqual((size["max_concurrency"], size["fits"]), (60, True))
        self.assertEqual(size["largest_max_model_len"], 491520)
        self.assertEqual([at["sequences"] for at in size["contexts"]], [239, 3])
        self.assertEqual([at["sequences_by_arithmetic"] for at in size["contexts"]], [240, 3.75])
        for ask in (("--context", "2048", "131072"), ("--context", "2048", "--context", "131072")):
            _, again = self.size("--model", "llama-3-8b", "--budget", "60 GiB", *ask)
            self.assertEqual([at["context_tokens"] for at in again["contexts"]], [2048, 131072])
        self.assertEqual(self.size("--model", "llama-3-8b", "--budget", "60 GiB", "2048")[0], 2)

    def test_size_refuses_with_what_would_help(self):
        done = blockyard("size", "--model", "qwen3-coder-480b-a35b", "--budget", "48.66 GiB", "--max-model-len", "262144")
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs 62.00 GiB of KV cache on one GPU, and 48.66 GiB are there", done.stderr)
        self.assertIn("Largest max_model_len: 205,728", done.stderr)
        self.assertIn("fp8", done.stderr)
        status, size = self.size("--model", "qwen3-coder-480b-a35b", "--budget", "48.66 GiB")
        self.assertEqual((status, size["fits"], size["largest_max_model_len"]), (1, False, 205728))

    def test_size_makes_a_table_of_several(self):
        done = blockyard("size", "--model", "llama-3.1-70b", "--gpu", "h100-80gb-sxm,b200", "--tp", "1,2,4,8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len([line for line in done.stdout.splitlines() if " x " in line]), 8)
        # What is asked of lengths and of a trace has a column each.
        trace = self.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,600\n")
        done = blockyard("size", "--model", "llama-3-8b", "--budget", "1 GiB", "--tp", "1,2", "--context", "1600", "--trace",
                         trace, "--max-model-len", "2048")
        self.assertEqual([line.split()[-2:] for line in done.stdout.splitlines() if " x " in line],
                         [["5", "5.1"], ["10", "10.2"]])
        # It is read once for all of them, as what comes through a pipe can be.
        piped = subprocess.run([BLOCKYARD, "size", "--model", "llama-3-8b", "--budget", "1 GiB", "--tp", "1,2", "--trace", "-",
                                "--max-model-len", "2048", "--json"], input=trace.read_text(), capture_output=True, text=True,
                               timeout=300, check=False)
        self.assertEqual([case["trace"]["requests"] for case in json.loads(piped.stdout)["sizes"]], [1, 1], piped.stderr)
        status, sizes = self.size("--model", "llama-3.1-70b", "--gpu", "h100-80gb-sxm", "--tp", "1,2,4,8")
        self.assertEqual([case["fits"] for case in sizes["sizes"]], [False, False, True, True])

    def test_size_looks_at_a_trace_and_at_a_log(self):
        trace = self.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,500\n1,16,16\n")
        status, size = self.size("--model", "llama-3-8b", "--budget", "200 blocks", "--max-model-len", "1024", "--trace",
                                 trace)
        self.assertEqual(status, 0)
        self.assertEqual(size["trace"]["mean_blocks"], (94 + 2) / 2)
        self.assertEqual(size["trace"]["beyond_max_model_len"], 1)
        self.assertAlmostEqual(size["trace"]["concurrency"], 199 / 48)
        log = self.write("engine.log", "Available KV cache memory: 58.11 GiB\nGPU KV cache size: 476,016 tokens\n"
                                       "Maximum concurrency for 8,192 tokens per request: 58.11x\n")
        status, said = self.size("--from-log", log, "--model", "llama-3-8b")
        self.assertEqual((status, said["log"]["kv_tokens"]), (0, 476016))
        self.assertEqual(said["arithmetic"]["kv_blocks"], 29752)
        self.assertIn("8,192", blockyard("size", "--from-log", log, "--model", "llama-3-8b").stdout)

    def test_size_shows_the_difference_to_a_log_line_by_line(self):
        log = self.write("engine.log", "Initializing a V1 LLM engine (v0.19.0) with config: model='m', tensor_parallel_size=2\n"
                                       "Available KV cache memory: 30.00 GiB\nGPU KV cache size: 491,000 tokens\n")
        status, said = self.size("--from-log", log, "--model", "llama-3-8b")
        self.assertEqual(status, 0, said)
        lines = {line["name"]: line for line in said["comparison"]}
        self.assertEqual((lines["KV tokens"]["engine"], lines["KV tokens"]["ours"]), (491000, 491520))
        self.assertAlmostEqual(lines["KV tokens"]["difference_percent"], 100 * 520 / 491000)
        # Only blocks are known of this one.
        status, said = self.size("--from-log", self.write("blocks.log", "# GPU blocks: 100, # CPU blocks: 5\n"),
                                 "--model", "llama-3-8b")
        self.assertEqual((status, said["arithmetic"]["kv_tokens"]), (0, 1600), said)
        # What does not go with a log is said.
        for options in (("--model", "llama-3-8b", "--tp", "3,5"), ("--model", "llama-3-8b", "--context", "100"),
                        ("--tp", "2"), ("--model", "llama-3-8b", "--gpu", "b200,l40s")):
            status, said = self.size("--from-log", log, *options)
            self.assertEqual(status, 2, options)
            self.assertIn("from-log", said)

    def test_size_says_why_a_table_has_no_rows(self):
        done = blockyard("size", "--model", "llama-3-8b", "--budget", "1 GiB", "--tp", "3,5")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("tp 3: tensor_parallel_size 3 does not divide num_attention_heads 32", done.stderr)
        self.assertIn("tp 5: ", done.stderr)
        status, sizes = self.size("--model", "llama-3-8b", "--budget", "9 GiB", "--tp", "2,3")
        self.assertEqual((status, len(sizes["sizes"])), (0, 1))
        self.assertIn("tp 3: ", sizes["cannot_be_split"][0])

    def test_size_reads_a_downloaded_folder(self):
        folder = self.folder / "my-model"
        folder.mkdir()
        config = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
                  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                  "max_position_embeddings": 8192}
        (folder / "config.json").write_text(json.dumps(config))
        ask = ("--model", str(folder / "config.json"), "--budget", "9 GiB")
        status, size = self.size(*ask)
        self.assertEqual((status, size["bytes_per_token_per_gpu"]), (0, 131072))
        (folder / "hf_quant_config.json").write_text(
            '{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}')
        self.assertEqual(self.size(*ask)[1]["bytes_per_token_per_gpu"], 65536)

    def test_size_is_told_what_is_wrong_all_at_once(self):
        done = blockyard("size", "--model", "lama-3-8b", "--gpu", "h100", "--gpu-memory-utilization", "1.5", "--context",
                         "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn('did you mean "llama-3-8b"?', done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 4, done.stderr)
        for text, words in (("", "not JSON"), ("{}", "which architecture"), ("[1]", "expected an object"),
                            ('{"architectures": ["NoSuchModel"]}', "not known")):
            done = blockyard("size", "--model", self.write("config.json", text), "--gpu", "b200")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)
        done = blockyard("size", "--model", "llama-3-8b", "--gpu", "b200", "--tp", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("does not divide num_attention_heads 32, num_key_value_heads 8", done.stderr)

    def test_validate_and_calibrate_say_what_is_wrong_before_they_run(self):
        measured = self.write("m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s\n0,10,3,1\n1,10,3,1\n")
        for options, words in ((("--fail-above", "ttft_men=10%"), 'did you mean "ttft_mean"?'),
                               (("--fail-above", "e2e_mean=10%"), "no figure"),
                               (("--fail-above", "ttft_mean=10"), 'such as ttft_mean=10%, found "ttft_mean=10"'),
                               (("--fail-above", "ttft_mean=10%,ttft_p99"), 'found "ttft_p99"'),
                               (("--leave-out-first", "2"), "nothing to compare")):
            done = blockyard("validate", self.scenario, "--measured", measured, *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(words, done.stderr)
        for arguments, words in (
                (("validate", "--leave-out-first", "x", "--fail-above", "a,b=1"),
                 ("--measured is missing", '--leave-out-first: expected a whole number from 0 on, found "x"', 'found "a"', 'found "b=1"')),
                (("validate", "--measured", measured, "--leave-out-first", "2", "--fail-above", "a=1%,b=1%"),
                 ("nothing to compare", 'no figure "a"', 'no figure "b"')),
                (("calibrate", "--fit", "foo,bar", "--holdout", "2", "--leave-out-first", "2.5"),
                 ("--measured is missing", 'no constant "foo"', 'no constant "bar"', "--holdout: expected a share above 0 and up to 0.9",
                  'found "2.5"')),
                (("calibrate", "--measured", measured, "--holdout", "0"), ("expected a share above 0",))):
            done = blockyard(*arguments, self.scenario)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)
        empty = self.write("e.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s\n0,10,3,\n")
        done = blockyard("validate", self.scenario, "--measured", empty)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no request has a measured time", done.stderr)
        rows = "".join(f"{i},100,20,0.1\n" for i in range(40))
        many = self.write("many.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s\n" + rows)
        done = blockyard("calibrate", self.scenario, "--measured", many, "--fit", "front_end", "--out",
                         self.folder / "no-such-folder" / "c.yaml")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("no-such-folder", done.stderr)

    def test_a_fit_that_tells_nothing_writes_nothing(self):
        rows = "".join(f"{i},100,20,0.1\n" for i in range(40))
        measured = self.write("many.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s\n" + rows)
        out = self.folder / "nothing.yaml"
        done = blockyard("calibrate", self.scenario, "--measured", measured, "--fit", "host_rank", "--out", out)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("is not written: it would say nothing", done.stdout)
        self.assertFalse(out.exists())

    def test_list_names_what_scenarios_use(self):
        overview = blockyard("list")
        self.assertEqual(overview.returncode, 0, overview.stderr)
        kinds = [line.split()[0] for line in overview.stdout.splitlines() if line.strip()]
        self.assertIn("models", kinds)
        for kind in kinds:
            done = blockyard("list", kind)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotEqual(done.stdout, "", kind)
        self.assertIn("llama-3-8b", blockyard("list", "models").stdout)

    def test_schema_is_json(self):
        schema = json.loads(blockyard("schema").stdout)
        self.assertIn("kv_cache", schema["properties"])

    TRACE = "arrival_s,prompt_tokens,output_tokens,session\n0,100,10,1\n5,300,20,1\n9,70000,30,2\n"

    def test_trace_info_is_text_json_or_a_table(self):
        trace = self.write("a.csv", self.TRACE)
        one = blockyard("trace", "info", trace, "--max-model-len", "8192")
        self.assertEqual((one.returncode, one.stderr), (0, ""))
        self.assertRegex(one.stdout, r"sessions +2, with 3 requests")
        self.assertRegex(one.stdout, r"over 8,192 +1 prompts alone")
        two = blockyard("trace", "info", trace, self.write("b.csv", self.TRACE))
        self.assertRegex(two.stdout, r"\n?requests +3 +3\n")
        seen = json.loads(blockyard("trace", "info", trace, "--json", "--max-model-len", "8192").stdout)["traces"][0]
        self.assertEqual(seen["over_limit"]["prompt"], 1)
        self.assertEqual(seen["prefix"]["ideal_hit_tokens"], 110)
        # Sessions do not say what full blocks an engine would find.
        self.assertNotIn("engine's rules", one.stdout)
        self.assertIsNone(seen["prefix"]["ideal_engine_hit_ratio"])

    def test_trace_info_has_the_curve_of_an_lru_cache(self):
        # Blocks 0 1, 2 3, 0 1: the third prompt finds both only where four blocks are held.
        rows = [(0, [0, 1]), (1, [2, 3]), (2, [0, 1])]
        trace = self.write("a.jsonl", "".join(json.dumps({"timestamp": t, "input_length": 1024, "output_length": 1, "hash_ids": ids}) + "\n"
                                              for t, ids in rows))
        seen = json.loads(blockyard("trace", "info", trace, "--json").stdout)["traces"][0]
        self.assertEqual([(p["capacity_blocks"], p["hit_blocks"]) for p in seen["lru_curve"]], [(1, 0), (2, 0), (4, 2)])
        self.assertEqual(seen["prefix"]["ideal_hit_blocks"], 2)
        self.assertEqual(seen["prefix"]["ideal_engine_hit_blocks"], 1)  # not the last token's
        self.assertIn("by an engine's rules", blockyard("trace", "info", trace).stdout)

    def test_a_trace_without_requests_is_warned_of(self):
        trace = self.write("empty.csv", "arrival_s,prompt_tokens,output_tokens\n")
        done = blockyard("trace", "info", trace)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "warning: .*empty.csv: no request in 0 rows")
        self.write("empty.yaml", f"model: llama-3-8b\nhardware: {{gpu: l40s}}\nworkload: {{trace: {{file: {trace}}}}}\n")
        summary = json.loads(blockyard("run", self.folder / "empty.yaml", "--json").stdout)
        self.assertIn("no request arrived: there is nothing to measure", summary["warnings"])

    def test_trace_convert_writes_whole_files_or_none(self):
        trace = self.write("a.csv", self.TRACE)
        out = self.folder / "out.jsonl"
        done = blockyard("trace", "convert", trace, out, "--max-model-len", "8192")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(out.read_text().count("\n"), 2)
        again = blockyard("trace", "convert", trace, out, "--sample", "0.5")
        self.assertRegex(again.stdout, r"ideal hits +0\.\d+ %")
        broken = self.write("broken.csv", self.TRACE + "x,1,1,1\n")
        failed = blockyard("trace", "convert", broken, self.folder / "none.jsonl")
        self.assertEqual(failed.returncode, 2)
        self.assertIn("broken.csv:5:1: arrival_s: found", failed.stderr)
        self.assertFalse([p for p in self.folder.iterdir() if p.name.startswith("none")])

    def test_trace_convert_writes_to_standard_output_and_tells_the_rest_elsewhere(self):
        trace = self.write("a.csv", self.TRACE)
        for out in ("-", "/dev/stdout"):
            done = blockyard("trace", "convert", trace, out, "--to", "vidur")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n5,300,20\n9,70000,30\n")
            self.assertIn("written       3 requests", done.stderr)
        self.assertIn("name it", blockyard("trace", "convert", trace, "-").stderr)
        # A regular file behind standard output is written where it stands.
        with (self.folder / "all.csv").open("w") as all_rows:
            all_rows.write("before\n")
            all_rows.flush()
            subprocess.run([BLOCKYARD, "trace", "convert", trace, "/dev/stdout", "--to", "vidur"], stdout=all_rows,
                           stderr=subprocess.DEVNULL, timeout=300, check=True)
        self.assertTrue((self.folder / "all.csv").read_text().startswith("before\narrived_at,"))

    def test_an_endless_line_is_refused_early(self):
        # Of ten gigabytes little more is taken than the longest line there may be.
        for start in (b"", b"arrival_s,prompt_tokens,output_tokens\n0,", b'{"timestamp": 0, "input_length": ',
                      b'[{"timestamp": "', b'{"conversations": [{"value": "'):
            longest = 80 << 20
            process = subprocess.Popen([BLOCKYARD, "trace", "info", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            taken = 0
            try:
                os.write(process.stdin.fileno(), start)
                while taken < 10_000_000_000:
                    taken += os.write(process.stdin.fileno(), b"7" * (1 << 16))
            except BrokenPipeError:
                pass
            told = process.stderr.read().decode()
            process.stdin.close()
            process.stderr.close()
            self.assertEqual(process.wait(timeout=300), 2, start)
            self.assertRegex(told, r"<stdin>:\d+: the (line|JSON object) is longer than \d+ bytes")
            self.assertLess(taken, longest, start)

    def test_trace_convert_tells_what_was_left_out_and_where(self):
        trace = self.write("a.csv", self.TRACE + "x,1,1,1\n20,0,7,1\n")
        done = blockyard("trace", "convert", trace, self.folder / "out.csv", "--max-bad-rows", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"dropped +1 with zero_prompt")
        self.assertRegex(done.stdout, r"malformed +1, left out:\n +.*a.csv:5:1: arrival_s: found")
        lengths = self.write("b.csv", "num_prefill_tokens,num_decode_tokens\n5,6\n")
        self.assertRegex(blockyard("trace", "convert", lengths, self.folder / "out.csv").stdout, r"untimed +1: ")

    def test_a_file_that_cannot_be_written_fails_the_run_and_is_no_wrong_input(self):
        trace = self.write("a.csv", self.TRACE)
        done = blockyard("trace", "convert", trace, self.folder / "absent" / "out.csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent/out.csv: cannot be written: No such file or directory", done.stderr)

    def test_an_unknown_format_is_told_before_anything_is_read(self):
        done = blockyard("trace", "convert", self.folder / "absent.csv", self.folder / "out", "--to", "vidor")
        self.assertEqual(done.returncode, 2)
        self.assertIn('did you mean "vidur"?', done.stderr)
        self.assertNotIn("absent.csv", done.stderr)

    def test_trace_convert_refuses_what_contradicts_itself(self):
        trace = self.write("a.csv", self.TRACE)
        for options in (["--clip"], ["--seed", "3"], ["--scale-think-times"], ["--sample", "1.5"], ["--scale-rate", "0"],
                        ["--window", "5..3"], ["--to", "vidor"], ["--anonymise", ""]):
            done = blockyard("trace", "convert", trace, self.folder / "out.jsonl", *options)
            self.assertEqual(done.returncode, 2, options)
        self.assertFalse((self.folder / "out.jsonl").exists())

    def test_convert_says_of_sharing_what_its_source_says(self):
        azure = self.write("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
                           "2023-11-16 18:15:50.9951690,396,109\n")
        out = self.folder / "ours.csv"
        self.assertEqual(blockyard("trace", "convert", azure, out).returncode, 0)
        header = out.read_text().splitlines()[0].split(",")
        self.assertFalse({"session", "prefix_id", "prefix_tokens", "reused_tokens"} & set(header), header)
        for trace in (azure, out):
            self.assertIn("does not say what its prompts share", blockyard("trace", "info", trace).stdout)
            done = blockyard("cache", trace)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("does not say what its prompts share", done.stderr)
        self.assertEqual(blockyard("trace", "convert", self.write("sessions.csv", "arrival_s,prompt_tokens,output_tokens,session"
                                   "\n0,10,1,3\n"), out).returncode, 0)
        self.assertIn("session", out.read_text().splitlines()[0].split(","))

    def test_a_window_can_be_found_and_its_limit_counts_within(self):
        rows = "".join(f"2023-11-16 18:{minute:02}:00.0000000,10,5\n" for minute in range(60))
        azure = self.write("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows)
        self.assertIn("2023-11-16T18:00:00 to 2023-11-16T18:59:00", blockyard("trace", "info", azure).stdout)
        out = self.folder / "out.csv"
        done = blockyard("trace", "convert", azure, out, "--limit", "4", "--window", "1200..2400")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(out.read_text().splitlines()), 5)
        done = blockyard("trace", "convert", azure, out, "--window", "2:00..3:00")
        self.assertIn("goes from 0 to 3540 s, by its clock 2023-11-16T18:00:00 to 2023-11-16T18:59:00", done.stderr)

    def test_nothing_that_is_read_is_written_over(self):
        trace = self.write("requests.csv", self.TRACE)
        text = self.scenario.read_text()
        replay = self.write("replay.yaml", text[:text.index("workload:")] + "workload: {trace: {file: requests.csv}}\n" +
                            text[text.index("engine:"):])
        measured = self.write("measured.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n0,100,10,0.1,0.5\n")
        for arguments in (["run", replay, "--out", self.folder], ["run", replay, "--export-trace", trace],
                          ["trace", "convert", trace, trace],
                          ["calibrate", self.scenario, "--measured", measured, "--out", measured],
                          ["calibrate", self.scenario, "--measured", measured, "--out", self.scenario],
                          ["conform", "--record", self.scenario, "--out", self.scenario],
                          ["trace", "generate", self.scenario, "-o", self.scenario, "--to", "blockyard"]):
            before = {file: file.read_bytes() for file in self.folder.iterdir()}
            done = blockyard(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("would be written over", done.stderr)
            self.assertEqual({file: file.read_bytes() for file in self.folder.iterdir()}, before)

    def test_compare_writes_over_nothing_that_a_variant_reads(self):
        text = SCENARIO.replace("model: llama-3-8b\n", "")
        own = "out/model=llama-3-8b/requests.csv"
        lacking = self.write("lacking.yaml", text[:text.index("workload:")] + f"workload: {{trace: {{file: {own}}}}}\n" +
                             text[text.index("engine:"):])
        (self.folder / own).parent.mkdir(parents=True)
        self.write(own, self.TRACE)
        for models in ("llama-3-8b,qwen2.5-7b", "qwen2.5-7b,llama-3-8b"):
            done = blockyard("compare", lacking, "--vary", f"model={models}", "--out", self.folder / "out")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("would be written over", done.stderr)
            self.assertEqual((self.folder / own).read_text(), self.TRACE)

    def test_contradictions_leave_no_folder_and_full_places_are_no_wrong_input(self):
        done = blockyard("run", self.scenario, "--set", "admission.watermark=1", "--out", self.folder / "new" / "er")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse((self.folder / "new").exists())
        done = blockyard("run", self.scenario, "--out", self.scenario)
        self.assertEqual(done.returncode, 1, done.stderr)
        done = blockyard("run", self.scenario, "--out", self.folder / ("x" * 300))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "^--out: ")

    def test_variants_with_like_names_have_a_folder_each(self):
        out = self.folder / "out"
        done = blockyard("compare", self.scenario, "--vary", "name=a/b,a_b", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir() if path.is_dir()), ["name=a_b", "name=a_b_2"])
        done = blockyard("compare", self.scenario, "--vary", "sed=1")
        self.assertTrue(done.stderr.startswith("--vary sed=1: "), done.stderr)

    def test_options_that_mean_nothing_are_refused(self):
        model = ("size", "--model", "llama-3-8b", "--budget", "60 GiB")
        for arguments in (["conform", "--record", self.scenario, "--shrink", self.scenario],
                          ["conform", self.scenario, "--out", "x"], ["conform", self.scenario, "--set", "seed=1"],
                          [*model, "--pp", "2", "--pipeline-parallel-size", "2"], [*model, "--format", "azure"],
                          [*model, "--weights", "-5GiB"], [*model, "--activation", "-5GiB"],
                          [*model, "--non-torch", "-5GiB"], ["size", "--model", "llama-3-8b", "--budget", "-5GiB"],
                          ["size", "--model", "llama-3-8b", "--budget", "-5 blocks"],
                          ["size", "--model", "llama-3-8b", "--gpu-memory", "-5GiB"]):
            done = blockyard(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        for fit in ("host_time,host_time", "efficiency,compute_efficiency"):
            done = blockyard("calibrate", self.scenario, "--measured", self.scenario, "--fit", fit)
            self.assertIn("is named twice", done.stderr)

    def test_a_reference_that_does_not_run_finds_nothing_alike(self):
        record = self.folder / "run.jsonl"
        self.assertEqual(blockyard("conform", "--record", self.scenario, "--out", record, "--set",
                                   "workload.generate.requests=5").returncode, 0)
        self.assertEqual(blockyard("conform", "--shrink", record).returncode, 0)
        done = blockyard("conform", "--shrink", record, "--against", "false")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("`false FILE` gave no run", done.stderr)

    def test_a_bound_on_what_is_measured_as_zero_does_not_hold(self):
        measured = self.write("m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n0,500,50,0.6,0.6\n1,500,50,0.6,0.6\n")
        done = blockyard("validate", self.scenario, "--measured", measured, "--fail-above", "tpot_per_request=5%,tpot_mean=5%")
        self.assertEqual(done.returncode, 1, done.stderr)
        for figure in ("tpot_per_request", "tpot_mean"):
            self.assertIn(f"{figure} cannot be told: its measured time is 0, which has no relative error", done.stderr)
        bench = self.write("r.json", json.dumps({"start_times": [0, 1], "input_lens": [9, 9], "output_lens": [30, 30],
                                                 "ttfts": [0.05, 0.05], "itls": [[], []]}))
        done = blockyard("validate", self.scenario, "--measured", bench, "--fail-above", "tpot_per_request=5%")
        self.assertEqual(done.returncode, 2)
        self.assertIn('no figure "tpot_per_request"', done.stderr)
        self.assertIn("2 of several tokens and without itls", blockyard("validate", self.scenario, "--measured", bench).stdout)

    def test_bounds_that_hold_are_told(self):
        measured = self.write("m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n0,500,50,0.05,0.6\n1,500,50,0.05,0.6\n")
        done = blockyard("validate", self.scenario, "--measured", measured, "--json", "--fail-above", "e2e_mean=900%,ttft_mean=900%")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"within bounds: e2e_mean [+-][0-9.]+ % \(at most 900 %\), ttft_mean")
        self.assertEqual(json.loads(done.stdout)["schema"], "blockyard.validation/1")

    def test_bounds_on_times_do_not_hold_where_requests_are_turned_away(self):
        rows = "".join(f"{i},{500 if i % 4 else 5000},50,0.05,0.6\n" for i in range(40))
        measured = self.write("m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n" + rows)
        short = ["validate", self.scenario, "--measured", measured, "--set", "engine.max_model_len=2000", "--fail-above"]
        done = blockyard(*short, "e2e_mean=900%")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("25.00 % of the requests are not served in the simulation, or not whole, more than 1 %: not_served", done.stderr)
        self.assertEqual(blockyard(*short, "e2e_mean=900%,not_served=30%").returncode, 0)

    def test_a_fault_that_an_assignment_may_have_caused_elsewhere_names_it(self):
        scenario = self.write("budget.yaml", SCENARIO.replace("REQUESTS", "20").replace("vllm-v1,", "vllm-v1, max_num_batched_tokens: 512,"))
        done = blockyard("run", scenario, "--set", "engine.max_num_seqs=1000")
        self.assertEqual(done.returncode, 2)
        self.assertIn("budget.yaml:11:", done.stderr)
        self.assertIn("with --set engine.max_num_seqs=1000: without it the file may be right", done.stderr)
        for arguments in (["--set", "engine.max_num_batched_tokens=10"], ["--set", "seed=1", "--no-such-flag"]):
            self.assertNotIn("without it the file", blockyard("run", scenario, *arguments).stderr)

    def test_stages_of_a_pipeline_that_are_unlike_share_the_blocks_of_the_one_that_binds(self):
        out = blockyard("size", "--model", "llama-3-70b", "--gpu", "l40s", "--pp", "4").stdout
        self.assertRegex(out, r"KV cache of all 4 GPUs: 24\.6\d GiB, of which 20\.6\d GiB are used")
        alike = blockyard("size", "--model", "llama-3-70b", "--gpu", "h100-80gb-sxm", "--tp", "4").stdout
        self.assertNotIn("are used", alike)

    def test_requests_without_a_time_of_their_own_have_no_rate(self):
        trace = self.write("sessions.csv", "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
                           "0,117,0,0,2318,200,300\n0,117,1,2518,348,131,154\n0,117,2,2997,812,104,0\n1,9000,0,0,10,5,0\n")
        done = blockyard("trace", "info", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rate          - (2 of 4 requests have no time of their own", done.stdout)
        self.assertNotIn("requests/s,", done.stdout)

    def test_measured_milliseconds_are_noticed(self):
        text = "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n"
        seconds = self.write("s.csv", text + "0,500,50,0.05,0.6\n1,500,50,0.05,0.6\n")
        milliseconds = self.write("ms.csv", text + "0,500,50,50,600\n1,500,50,50,600\n")
        self.assertNotIn("milliseconds", blockyard("validate", self.scenario, "--measured", seconds).stderr)
        self.assertIn("look like milliseconds", blockyard("validate", self.scenario, "--measured", milliseconds).stderr)

    def test_keys_of_another_distribution_are_told(self):
        done = blockyard("run", self.scenario, "--json", "--set", "workload.generate.output_tokens.mean=5")
        self.assertIn("workload.generate.output_tokens.mean is given and has no effect here", done.stdout)

    def test_a_reader_that_leaves_is_no_error(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([BLOCKYARD, "run", self.scenario], stdin=subprocess.DEVNULL, stdout=write,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        os.close(write)
        self.assertEqual(done.stderr, b"")

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("test skipped: no /dev/full here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([BLOCKYARD, "run", self.scenario], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)

    def test_ctrl_c_writes_what_is_done_and_says_so(self):
        # The progress line on the (pseudo) terminal tells that the run is under way; only then the signal is sent.
        endless = self.write("endless.yaml", SCENARIO.replace("REQUESTS", "100000000").replace("rate: 4", "rate: 10"))
        mine, theirs = pty.openpty()
        child = subprocess.Popen([BLOCKYARD, "run", endless, "--json", "--out", self.folder / "out"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown = b""
        while b"requests" not in shown:
            shown += os.read(mine, 1000)
        self.assertTrue(shown.startswith(b"\r\x1b[K"), shown)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=300)
        os.close(mine)
        self.assertEqual(child.returncode, 130)
        summary = json.loads(out)
        self.assertTrue(summary["interrupted"])
        self.assertGreater(summary["requests"]["finished"], 0)
        self.assertEqual(json.loads((self.folder / "out/summary.json").read_text()), summary)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: program_test.py PATH_OF_BLOCKYARD [UNITTEST_ARGUMENT]...")
    BLOCKYARD = sys.argv.pop(1)
    unittest.main()
