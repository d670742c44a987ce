#!/usr/bin/env python3
"""Figures of the PagedAttention paper (Kwon et al., SOSP 2023), ours beside the paper's.

Runs the scenarios of this folder, each with the settings of the bars it stands for, and prints one table a figure. Figures
of the paper: its text (T), or values printed on its bars (B). README.md says what each figure is and what the paper leaves open.

Usage: figures.py [--json] [--blockyard PROGRAM] [--seeds N] [--requests N] [FIGURE...]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

ORCA = ("engine.scheduler=orca", "kv_cache.strategy=contiguous")
PAGED = ("engine.scheduler=vllm-v0", "kv_cache.strategy=paged")
RESERVATIONS = {"orca_max": "max_model_len", "orca_pow2": "pow2", "orca_oracle": "oracle"}
HOST_TIMES_MS = (0, 2, 4, 8, 15, 25)
BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SWITCHES = (1, 0.3, 0.1, 0.03, 0.01)


class Program:
    """Runs scenarios; every figure is the mean over the seeds, so that none hangs on one draw."""

    def __init__(self, path, seeds, requests):
        self.path, self.seeds, self.requests = path, seeds, requests
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        self.started = {}  # figures share runs

    def summaries(self, scenario, *settings):
        """What is to come: the summary of each seed."""
        if self.requests:
            settings += (f"workload.generate.requests={self.requests}",)
        if (scenario, settings) not in self.started:
            self.started[scenario, settings] = [
                self.pool.submit(self.run, scenario, *settings, f"seed={seed}") for seed in range(1, self.seeds + 1)]
        return self.started[scenario, settings]

    def run(self, scenario, *settings):
        command = [self.path, "run", str(HERE / scenario), "--json"]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)


def mean(summaries, value):
    return statistics.fmean(value(future.result()) for future in summaries)


def running(summary):
    return summary["batch"]["mean_running"]


def memory_percent(*states):
    return lambda summary: 100 * sum(summary["memory"][state]["mean_share"] for state in states)


TOKEN_STATES = memory_percent("live")
RESERVED = memory_percent("reserved")
INTERNAL = memory_percent("over_reserved", "tail")
EXTERNAL = memory_percent("padding", "external", "free")


def orca_runs(program):
    return {name: program.summaries("fig2.yaml", f"kv_cache.reservation={reservation}")
            for name, reservation in RESERVATIONS.items()}


def fig2(program):
    """Share of the KV memory that holds token states, %, and the rest of it."""
    paper = {"orca_max": (20.4, 13.3, 57.3, 8.9), "orca_pow2": (26.8, 17.9, 13.6, 41.6),
             "orca_oracle": (38.2, 25.2, 0, 36.6), "vllm_backlog": (96.3, None, None, None)}
    runs = orca_runs(program)
    runs["vllm_backlog"] = program.summaries("fig12a.yaml", *PAGED)
    at_2 = by_host_time(program)
    figure = {}
    for name, summaries in runs.items():
        states = zip(("token_states", "reservation", "internal_fragmentation", "external_and_others"),
                     (TOKEN_STATES, RESERVED, INTERNAL, EXTERNAL), paper[name])
        parts = {state: {"ours": mean(summaries, share), "paper": published} for state, share, published in states}
        figure[name] = parts.pop("token_states") | parts
    figure["vllm_2_per_s"] = {"ours": {f"{ms}_ms_host": mean(runs, TOKEN_STATES) for ms, runs in at_2.items()},
                              "paper": 96.3}
    return figure


def fig13(program):
    """Requests running at once, a mean over time; ShareGPT at 2 req/s."""
    paper = {"orca_max": 7.00, "orca_pow2": 9.81, "orca_oracle": 13.62, "vllm_backlog": 30.42}
    runs = orca_runs(program)
    runs["vllm_backlog"] = program.summaries("fig12a.yaml", *PAGED)
    at_2 = by_host_time(program)
    figure = {name: {"ours": mean(summaries, running), "paper": paper[name]} for name, summaries in runs.items()}
    figure["vllm_2_per_s"] = {"ours": {f"{ms}_ms_host": mean(runs, running) for ms, runs in at_2.items()},
                              "paper": 30.42}
    return figure


def by_host_time(program):
    """The paged row at 2 req/s is not saturated: it depends on the duration of a step, of which the paper says nothing."""
    return {ms: program.summaries("fig2.yaml", *PAGED, f"cost.host_time={ms} ms") for ms in HOST_TIMES_MS}


def fig12a(program):
    """Completion rate under a backlog, vLLM's to those of Orca."""
    runs = {name: program.summaries("fig12a.yaml", *ORCA, f"kv_cache.reservation={reservation}")
            for name, reservation in RESERVATIONS.items()}
    runs["vllm"] = program.summaries("fig12a.yaml", *PAGED)
    rate = {name: mean(summaries, lambda s: s["throughput"]["requests_per_s"]) for name, summaries in runs.items()}
    return {"vllm_over_oracle": {"ours": rate["vllm"] / rate["orca_oracle"], "paper": [1.7, 2.7]},
            "vllm_over_pow2": {"ours": rate["vllm"] / rate["orca_pow2"], "paper": None},
            "vllm_over_max": {"ours": rate["vllm"] / rate["orca_max"], "paper": [2.7, 8]},
            "requests_per_s": {"ours": rate, "paper": None}}


def fig15(program):
    """Blocks saved by sharing, % of those held without."""
    def saved(summary):
        return 100 * summary["memory"]["shared_blocks_saved_share"]

    paper = {"parallel": {2: 16.2, 4: None, 6: 30.5}, "beam": {2: 44.3, 4: None, 6: 66.3}}
    runs = {}
    for n in (2, 4, 6):
        runs[f"parallel_{n}"] = program.summaries("fig15.yaml", f"workload.n={n}", "workload.decoding=sample")
    switched = {n: {share: program.summaries("fig15.yaml", f"workload.n={n}", "workload.decoding=beam_search",
                                             f"workload.beam_switch={share}") for share in SWITCHES} for n in (2, 4, 6)}
    figure = {}
    for name, summaries in runs.items():
        kind, n = name.split("_")
        figure[name] = {"ours": mean(summaries, saved), "paper": paper[kind][int(n)]}
    for n, by_share in switched.items():
        ours = {share: mean(summaries, saved) for share, summaries in by_share.items()}
        figure[f"beam_{n}"] = {"ours": ours[1], "paper": paper["beam"][n],
                               "by_beam_switch": {str(share): value for share, value in ours.items()}}
    return figure


def fig18b(program):
    """Normalised latency, s a token, by block size."""
    def latency(summary):
        return summary["latency"]["e2e_per_output_token_s"]["mean"]

    runs = {size: program.summaries("fig18b.yaml", f"kv_cache.block_size={size}") for size in BLOCK_SIZES}
    slow = {percent: program.summaries("fig18b.yaml", "kv_cache.block_size=8", f"cost.attention_slowdown={percent / 100}")
            for percent in (1, 2, 5, 10, 20)}
    ours = {size: mean(summaries, latency) for size, summaries in runs.items()}
    figure = {f"block_{size}": {"ours": value, "paper": None} for size, value in ours.items()}
    best = min(ours.values())
    # Within a tenth of the least.
    figure["best_block_sizes"] = {"ours": [size for size, value in ours.items() if value <= 1.1 * best],
                                  "paper": [16, 128]}
    figure["block_8_by_attention_slowdown"] = {
        "ours": {f"{percent}_percent": mean(summaries, latency) for percent, summaries in slow.items()}, "paper": None}
    return figure


def fig19(program):
    """Normalised latency with swap over that with recompute, by block size, and what either takes for a token lost."""
    def latency(summary):
        return summary["latency"]["e2e_per_output_token_s"]["mean"]

    def swap_us(summary):
        return 1e6 * summary["swap"]["link"]["engine_waited_s"] / summary["swap"]["out_blocks"]

    def recompute_us(summary):
        spent = summary["time_ledger"]["preempted_recompute_s"]["mean"] * summary["requests"]["finished"]
        return 1e6 * spent / summary["tokens"]["recomputed"]

    swapped, recomputed = ({size: program.summaries("fig19.yaml", f"preemption.mode={mode}", f"kv_cache.block_size={size}")
                            for size in BLOCK_SIZES} for mode in ("swap", "recompute"))
    ratio = {size: mean(swapped[size], latency) / mean(recomputed[size], latency) for size in BLOCK_SIZES}
    figure = {f"block_{size}": {"ours": value, "paper": None} for size, value in ratio.items()}
    # Within a fifth of each other.
    figure["comparable_block_sizes"] = {"ours": [size for size, value in ratio.items() if 1 / 1.2 <= value <= 1.2],
                                        "paper": [16, 64]}
    for name, of in (("swap_us_a_token", lambda size: mean(swapped[size], swap_us) / size),
                     ("recompute_us_a_token", lambda size: mean(recomputed[size], recompute_us))):
        figure[name] = {"ours": {f"block_{size}": of(size) for size in BLOCK_SIZES}, "paper": None}
    return figure


FIGURES = {figure.__name__: figure for figure in (fig2, fig13, fig12a, fig15, fig18b, fig19)}


def number(value, digits=4):
    if value is None:
        return "-"
    if isinstance(value, list):
        return " to ".join(number(v) for v in (value[0], value[-1]))
    return f"{value:.{digits}g}"


def difference(ours, paper):
    if isinstance(ours, list) or paper is None:
        return ""
    if isinstance(paper, list):
        within = paper[0] <= ours <= paper[1]
        return "within" if within else f"{ours - min(paper, key=lambda end: abs(end - ours)):+.3g}"
    return f"{ours - paper:+.3g}" + (f" ({100 * (ours / paper - 1):+.1f} %)" if paper else "")


def rows_of(name, entry):
    """The entry, its parts and its sensitivities, each as (label, ours, paper)."""
    ours, paper = entry["ours"], entry["paper"]
    if isinstance(ours, dict):
        yield name, None, paper
        for label, value in ours.items():
            yield f"  {label}", value, paper
    else:
        yield name, ours, paper
    for label, part in entry.items():
        if label in ("ours", "paper"):
            continue
        if "ours" in part:
            yield f"  {label}", part["ours"], part["paper"]
        else:
            yield f"  {label}", None, None
            for key, value in part.items():
                yield f"    {key}", value, paper


def print_figure(name, figure):
    print(f"\n{name}: {FIGURES[name].__doc__}")
    print(f"  {'':34}{'ours':>12}{'paper':>14}   difference")
    for key, entry in figure.items():
        for label, ours, paper in rows_of(key, entry):
            if ours is None:
                print(f"  {label}")
                continue
            print(f"  {label:34}{number(ours):>12}{number(paper):>14}   {difference(ours, paper)}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"default: {', '.join(FIGURES)}")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--blockyard", default="blockyard", help="the program (default: the one on the PATH)")
    parser.add_argument("--seeds", type=int, default=3, help="runs a bar, of which the mean is shown (default 3)")
    parser.add_argument("--requests", type=int, help="requests a run, in place of the scenario's; for a quick look")
    options = parser.parse_args()
    unknown = [name for name in options.figures if name not in FIGURES]
    if unknown or options.seeds < 1:
        parser.error(f"no figure {', '.join(unknown)}; there are {', '.join(FIGURES)}" if unknown else "--seeds: 1 or more")
    program = Program(options.blockyard, options.seeds, options.requests)
    figures = {name: FIGURES[name](program) for name in options.figures or FIGURES}
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print("PagedAttention paper (Kwon et al., SOSP 2023): OPT-13B, A100-40GB, 12 GiB of KV, ShareGPT. Ours beside the paper's.")
    for name, figure in figures.items():
        print_figure(name, figure)


if __name__ == "__main__":
    main()
