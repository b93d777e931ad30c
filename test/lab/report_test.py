# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lab/experiment makes of its records."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab" / "lib"))
import report  # noqa: E402

ORDER = ["dense", "dense, vendor's order", "dense, overlap", "fp16", "PacTrain 90 %"]


def record(row, seconds, kind="throughput", seed=1, sparsity=0.0, curve=()):
    return {
        "kind": kind, "network": "perceptron", "ranks": 2, "rate": 100, "row": row, "seed": seed,
        "order": "rank", "load": 1.0, "drops": 0, "sparsity": sparsity, "accuracy": 0.88,
        "bytes_from_hosts": [1010, 1030], "bytes_to_hosts": [1030, 1010], "bytes_in_all": 1000.0,
        "steps": 100, "seconds_per_step": seconds, "seconds_per_step_steady": seconds,
        "quartiles_steady": [0.9 * seconds, seconds, 1.1 * seconds],
        "bytes_per_step_steady": 1e6, "stages_steady": {"collective": 0.75 * seconds, "pack": 0.0},
        "curve": [{"step": s, "seconds": t, "accuracy": a} for s, t, a in curve],
    }  # fmt: skip


def cells(table, row):
    line = next(line for line in table.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


class Report(unittest.TestCase):
    def test_rows_are_compared_with_the_faster_dense_row_without_overlap(self):
        rows = [record("dense", 0.4), record("dense, vendor's order", 0.3)]
        rows += [record("dense, overlap", 0.2), record("PacTrain 90 %", 0.1)]
        table = report.throughput_table(rows, ORDER)
        self.assertEqual(cells(table, "dense")[2], "0.75")
        self.assertEqual(cells(table, "PacTrain 90 %")[2], "3.00")
        self.assertEqual(cells(table, "PacTrain 90 %")[4:8], ["25.0", "75.0", "80.0", "0.94"])
        self.assertEqual(cells(table, "PacTrain 90 %")[9], "1.020")

    def test_the_margin_is_over_dense_and_over_the_best_baseline(self):
        rows = [record("dense", 0.4), record("fp16", 0.2), record("PacTrain 90 %", 0.1)]
        sentence = report.margins(rows)
        self.assertIn("PacTrain 90 %, 4.00 times dense and 2.00 times fp16", sentence)
        self.assertEqual(report.margins(rows[:2]), "")

    def test_time_to_accuracy_is_the_first_time_that_it_was_seen(self):
        slow = record("dense", 1, "training", curve=[(25, 30.0, 0.8), (50, 60.0, 0.875), (75, 90.0, 0.86)])
        fast = record("PacTrain 90 %", 1, "training", curve=[(25, 3.0, 0.87), (50, 6.0, 0.88)])
        never = record("fp16", 1, "training", curve=[(25, 3.0, 0.5)])
        table = report.training_table([slow, fast, never], ORDER)
        self.assertEqual(cells(table, "dense")[3:5], ["60.0", "1.00"])
        self.assertEqual(cells(table, "PacTrain 90 %")[3:5], ["3.0", "20.00"])
        self.assertEqual(cells(table, "fp16")[3:5], ["not reached", "-"])

    def test_everything_is_written(self):
        rows = [record("dense", 0.4), record("PacTrain 90 %", 0.1, sparsity=0.9)]
        rows += [
            record("PacTrain 90 %", 0.1, "training", seed, 0.9, [(25, 3.0, 0.87)]) for seed in (1, 2)
        ]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            report.write(rows, ORDER, folder)
            self.assertEqual(len(json.loads((folder / "results.json").read_text())), 4)
            self.assertIn("### perceptron, 2 ranks, 100 Mbit/s", (folder / "results.md").read_text())
            for picture in ("throughput", "accuracy", "pruning"):
                self.assertTrue((folder / f"{picture}.gp").exists())


if __name__ == "__main__":
    unittest.main()
