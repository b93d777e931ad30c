# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the records of lab/experiment into results.json, results.md and pictures."""
import json
import shutil
import subprocess
from collections import defaultdict
from statistics import mean, stdev

TARGET = 0.87  # test accuracy
# Okabe and Ito's colours, which most eyes tell apart.
HEAD = """set terminal pngcairo size {width},560 font "Sans,11"
set output "{name}.png"
set linetype 1 lc rgb "#000000" pt 7
set linetype 2 lc rgb "#0072b2" pt 5
set linetype 3 lc rgb "#d55e00" pt 9
set linetype 4 lc rgb "#009e73" pt 13
set linetype 5 lc rgb "#cc79a7" pt 11
set linetype 6 lc rgb "#e69f00" pt 4
set linetype 7 lc rgb "#56b4e9" pt 6
set linetype 8 lc rgb "#888888" pt 8
set linetype cycle 8
set style data linespoints
set grid lt 1 lc rgb "#cccccc" lw 0.5
set datafile separator tab
"""


def is_ours(row):
    return row.startswith("PacTrain")


def is_dense(row):
    return row.startswith("dense")


def setting(record):
    return record["network"], record["ranks"], record["rate"]


def communication(record):
    return record["stages_steady"]["collective"]


def computation(record):
    return record["seconds_per_step_steady"] - communication(record)


def on_the_wire(record):
    """Seconds in which the bytes of a step pass a port."""
    return record["bytes_per_step_steady"] * 8 / (record["rate"] * 1e6)


def counted(record):
    """What the switch counted of the bytes that ranks handed to MPI, as a ratio."""
    return sum(record["bytes_from_hosts"]) / (record["bytes_in_all"] * record["ranks"])


def seconds_to(target, record):
    return next((p["seconds"] for p in record["curve"] if p["accuracy"] >= target), None)


def pace(record):
    """Seconds a step, the median: others may use the machine too."""
    return record["quartiles_steady"][1]


def fastest_dense(records):
    """Of both orders of summation, without overlap, which is a row of its own."""
    plain = [r for r in records if is_dense(r["row"]) and "overlap" not in r["row"]]
    return min(plain, key=pace, default=None)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def spread(values, form):
    middle = form.format(mean(values))
    return f"{middle} ± {form.format(stdev(values))}" if len(values) > 1 else middle


def throughput_table(records, order):
    dense = fastest_dense(records)
    rows = []
    for record in sorted(records, key=lambda r: order.index(r["row"])):
        low, seconds, high = record["quartiles_steady"]
        times = pace(dense) / seconds if dense else float("nan")
        wire = on_the_wire(record)
        rows.append([
            record["row"], f"{1 / seconds:.2f}", f"{times:.2f}",
            f"{1e3 * seconds:.1f} ({1e3 * low:.1f}-{1e3 * high:.1f})",
            f"{1e3 * computation(record):.1f}", f"{1e3 * communication(record):.1f}",
            f"{1e3 * wire:.1f}", f"{communication(record) / wire:.2f}",
            f"{record['bytes_per_step_steady'] / 1e6:.3f}", f"{counted(record):.3f}",
            str(record["drops"]),
        ])  # fmt: skip
    head = [
        "row", "steps/s", "times dense", "ms a step", "computing", "communicating", "bytes/rate",
        "communicating to bytes/rate", "MB sent a step", "switch/Report", "drops",
    ]  # fmt: skip
    return table(head, rows)


def training_table(records, order):
    by_row = defaultdict(list)
    for record in records:
        by_row[record["row"]].append(record)
    dense_times = [seconds_to(TARGET, r) for r in by_row.get("dense", [])]
    rows = []
    for row in sorted(by_row, key=order.index):
        runs = by_row[row]
        times = [seconds_to(TARGET, run) for run in runs]
        reached = None not in times
        faster = "-"
        if reached and dense_times and None not in dense_times:
            faster = f"{mean(dense_times) / mean(times):.2f}"
        rows.append([
            row, str(len(runs)), spread([100 * run["accuracy"] for run in runs], "{:.2f}"),
            spread(times, "{:.1f}") if reached else "not reached", faster,
            spread([run["seconds_per_step"] * run["steps"] for run in runs], "{:.0f}"),
            f"{mean(run['bytes_in_all'] for run in runs) / 1e6:.1f}",
        ])  # fmt: skip
    head = [
        "row", "seeds", "test accuracy, %", f"seconds to {100 * TARGET:.0f} %",
        "times faster than dense", "seconds in all", "MB sent in all",
    ]  # fmt: skip
    return table(head, rows)


def margins(records):
    """One sentence a setting: the fastest of ours, over dense and over the fastest baseline."""
    dense = fastest_dense(records)
    paces = {r["row"]: pace(r) for r in records}
    ours = {row: s for row, s in paces.items() if is_ours(row)}
    others = {row: s for row, s in paces.items() if not is_ours(row) and not is_dense(row)}
    if not (dense and ours and others):
        return ""
    best, baseline = min(ours, key=ours.get), min(others, key=others.get)
    return (
        f"Fastest here: {best}, {pace(dense) / ours[best]:.2f} times {dense['row']} "
        f"and {others[baseline] / ours[best]:.2f} times {baseline}, in steps a second.\n"
    )


def markdown(groups, order):
    text = ["# Results\n", "Made by `lab/experiment`. [README](README.md) says what the columns are.\n"]
    for kind, title, make in (
        ("throughput", "Throughput", throughput_table),
        ("training", "Whole trainings", training_table),
    ):
        found = {key: records for (k, *key), records in groups.items() if k == kind for key in [tuple(key)]}
        if not found:
            continue
        text.append(f"## {title}\n")
        for (network, ranks, rate), records in found.items():
            loads = [record["load"] for record in records]
            text.append(
                f"### {network}, {ranks} ranks, {rate} Mbit/s\n\n{make(records, order)}\n"
                + (margins(records) if kind == "throughput" else "")
                + f"The machine's load when runs began: {min(loads):.1f} to {max(loads):.1f}.\n"
            )
    return "\n".join(text)


def draw(folder, name, settings, width, panels):
    """Panels of curves, a curve its title and a list of rows; gnuplot reads its data from the script."""
    script, plots = [HEAD.format(name=name, width=width)], []
    for number, (panel_settings, curves, style) in enumerate(panels):
        blocks = []
        for i, (title, points) in enumerate(curves):
            block = f"$panel{number}_{i}"
            script += [f"{block} << END", *("\t".join(map(str, p)) for p in points), "END"]
            blocks.append(f'{block} {style} lt {i + 1} dt {1 + i // 8} lw 2 title "{title}"')
        plots += [panel_settings, "plot " + ", ".join(blocks)]
    script += [settings, f"set multiplot layout 1,{len(panels)}", *plots, "unset multiplot", ""]
    source = folder / f"{name}.gp"
    source.write_text("\n".join(script), encoding="utf-8")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", source.name], cwd=folder, check=True)


def pictures(groups, order, folder):
    paces = defaultdict(lambda: defaultdict(list))
    for (kind, network, ranks, rate), records in groups.items():
        for record in records if kind == "throughput" else []:
            paces[network, ranks][record["row"]].append((rate, 1 / pace(record)))
    panels = [
        (f'set title "{network}, {ranks} ranks"',
         [(row, sorted(rows[row])) for row in order if row in rows], "using 1:2")
        for (network, ranks), rows in paces.items()
    ]  # fmt: skip
    if panels:
        axes = 'set logscale xy\nset xlabel "Mbit/s"\nset ylabel "steps a second"\nset xrange [80:1250]\n'
        axes += "set key outside right top"
        draw(folder, "throughput", axes, 900 * len(panels), panels)

    panels, pruned = [], {}
    for (kind, network, ranks, rate), records in groups.items():
        if kind != "training":
            continue
        first = [r for r in records if r["seed"] == min(x["seed"] for x in records)]
        curves = [
            (r["row"], [(p["seconds"], 100 * p["accuracy"]) for p in r["curve"]])
            for r in sorted(first, key=lambda r: order.index(r["row"]))
        ]
        panels.append((f'set title "{network}, {ranks} ranks, {rate} Mbit/s"', curves, "using 1:2"))
        for record in records:
            if record["row"] == "dense" or record["row"].endswith("%"):
                pruned.setdefault((network, rate), defaultdict(list))[record["sparsity"]].append(
                    100 * record["accuracy"]
                )
    if panels:
        axes = 'set logscale x\nset xlabel "seconds of training"\nset ylabel "test accuracy (%)"\n'
        axes += "set yrange [75:*]\nset key bottom right"
        draw(folder, "accuracy", axes, 700 * len(panels), panels)
    if pruned:
        key, ratios = max(pruned.items(), key=lambda item: len(item[1]))
        points = [(100 * s, mean(a), min(a), max(a)) for s, a in sorted(ratios.items())]
        axes = 'set xlabel "weights pruned (%)"\nset ylabel "test accuracy (%)"\n'
        axes += "set xrange [-2:100]\nunset key"
        title = f'set title "{key[0]}, pruned from the first step: mean, least and largest over seeds"'
        curve = [("PacTrain", points)]
        draw(folder, "pruning", axes, 700, [(title, curve, "using 1:2:3:4 with yerrorlines")])


def write(records, order, folder):
    """`records` as lab/experiment keeps them, `order` the rows' names; everything into `folder`."""
    groups = defaultdict(list)
    for record in sorted(records, key=lambda r: (r["kind"], *setting(r), r["seed"])):
        groups[record["kind"], *setting(record)].append(record)
    (folder / "results.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    (folder / "results.md").write_text(markdown(groups, order), encoding="utf-8")
    pictures(groups, order, folder)
