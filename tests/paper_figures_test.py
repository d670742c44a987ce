#!/usr/bin/env python3
"""configs/paper/figures.py runs, and its JSON has the keys that readers of it rely on.

Usage: paper_figures_test.py BLOCKYARD
"""

import json
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "configs/paper/figures.py"
BLOCKYARD = sys.argv.pop(1) if len(sys.argv) > 1 else "blockyard"


def run(*arguments):
    command = [sys.executable, str(SCRIPT), "--blockyard", BLOCKYARD, "--seeds", "1", "--requests", "200", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Figures(unittest.TestCase):
    def test_json(self):
        done = run("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)
        columns = {"orca_max", "orca_pow2", "orca_oracle", "vllm_backlog", "vllm_2_per_s"}
        self.assertEqual(set(figures["fig2"]), columns)
        self.assertEqual(set(figures["fig13"]), columns)
        self.assertGreaterEqual(set(figures["fig12a"]), {"vllm_over_oracle", "vllm_over_max"})
        self.assertEqual(set(figures["fig15"]), {f"{kind}_{n}" for kind in ("parallel", "beam") for n in (2, 4, 6)})
        self.assertGreaterEqual(set(figures["fig18b"]), {"block_1", "block_16", "block_256", "best_block_sizes"})
        for figure in figures.values():
            for entry in figure.values():
                self.assertIn("ours", entry)
                self.assertIn("paper", entry)
        self.assertEqual(figures["fig13"]["orca_max"]["paper"], 7.0)
        parts = figures["fig2"]["orca_oracle"]
        shares = [parts["ours"]] + [parts[name]["ours"] for name in
                                    ("reservation", "internal_fragmentation", "external_and_others")]
        self.assertAlmostEqual(sum(shares), 100, places=6)

    def test_table(self):
        done = run("fig12a", "fig15")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fig12a: Completion rate", done.stdout)
        self.assertIn("vllm_over_oracle", done.stdout)
        self.assertNotIn("fig2:", done.stdout)

    def test_a_figure_that_is_not_there(self):
        done = run("fig99")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no figure fig99", done.stderr)


if __name__ == "__main__":
    unittest.main()
