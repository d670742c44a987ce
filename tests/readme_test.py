#!/usr/bin/env python3
"""Runs the commands that the project's README files show. The convention is written down in tests/README.md.

Usage: readme_test.py [--path FOLDER_OF_BLOCKYARD] [--write] [README...]   (default: every README.md of the project)
--write puts today's figures into the shown output, where figures, widths and rules are all that differs.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"[-+]?\d[\d,.]*(?:e[-+]?\d+)?")
EXPECTED_STATUS = re.compile(r"\s+# exit status (\d+)$")


class Command:
    def __init__(self, line, text, exact):
        self.line, self.exact, self.output = line, exact, []  # output: (number of the line in the README, text)
        status = EXPECTED_STATUS.search(text)
        self.status = int(status.group(1)) if status else 0
        self.text = EXPECTED_STATUS.sub("", text)


def commands_of(text):
    """The commands of every ```sh block, with the output shown below each."""
    commands, in_block, exact, pending = [], False, True, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            words = line[3:].split()
            in_block = not in_block and words[:1] == ["sh"]
            exact = "about" not in words
            shown = False  # whether a command stands above in this block
            pending = None
        elif in_block and (pending is not None or line.startswith("$ ")):
            joined = line[2:] if pending is None else pending + line
            pending = joined[:-1] if joined.endswith("\\") else None
            if pending is None:
                commands.append(Command(number, joined, exact))
                shown = True
        elif in_block and shown:
            commands[-1].output.append((number, line.rstrip()))
    return commands


def shape(line):
    """A line without its digits, its rules and its column widths: what stays when figures change."""
    return " ".join(re.sub(r"[-─═━]{3,}", "", NUMBER.sub("#", line)).split())


def compare(command, output):
    """(None, or what of the shown output is missing; {line of the README: the real line that has its shape and other figures}).

    `...` alone on a line stands for any lines. A shown line is the next real one that is the same, or else the one of its shape that
    has most of its words."""
    real = [line.rstrip() for line in output.splitlines()]
    shapes = [shape(line) for line in real]
    at, others = 0, {}
    for number, line in command.output:
        if line == "..." or not line:
            continue
        if line in real[at:]:
            at = real.index(line, at) + 1
        elif shape(line) in shapes[at:]:
            alike = [i for i in range(at, len(real)) if shapes[i] == shape(line)]
            at = max(alike, key=lambda i: (sum(a == b for a, b in zip(real[i].split(), line.split())), -i)) + 1
            others[number] = real[at - 1]
        else:
            return f"its output has no such line (figures aside): {line}", others
    if command.exact and others:
        number, line = next(iter(others.items()))
        shown = dict(command.output)[number]
        return f"shown: {shown}\n  now:   {line}\n  (tests/readme_test.py --write puts in today's figures)", others
    return None, others


def run_readme(path, folder_of_blockyard, write):
    """(number of commands run, faults). The commands of one README share one temporary copy of the project's data."""
    text = path.read_text()
    commands, today = commands_of(text), {}
    faults = []
    if not commands:
        return 0, faults
    with tempfile.TemporaryDirectory(prefix="blockyard-readme-") as name:
        place = pathlib.Path(name) / "blockyard"
        for part in ("configs", "traces", "tests/golden"):
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, place / part)
        place.mkdir(exist_ok=True)
        environment = dict(os.environ, PATH=f"{folder_of_blockyard}{os.pathsep}{os.environ['PATH']}")
        for command in commands:
            done = subprocess.run(["bash", "-c", command.text], cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
            where = f"{path}:{command.line}: $ {command.text}"
            print(where, flush=True)
            if done.returncode != command.status:
                faults.append(f"{where}\n  exit status {done.returncode}, expected {command.status}\n{done.stderr}")
                continue
            fault, others = compare(command, done.stdout + done.stderr)
            if command.exact:
                today.update(others)
            if fault:
                faults.append(f"{where}\n  {fault}")
    if write and today:
        path.write_text("".join(today.get(number, line) + "\n" for number, line in enumerate(text.splitlines(), 1)))
    return len(commands), faults


def self_test():
    """The reader of the convention, on an example that has every part of it."""
    example = "```sh\nscripts/run\n```\n```sh\n$ echo 12 rows   # exit status 0\n34 rows\n$ echo one \\\n  two\n```\n" \
              "```yaml\n$ not: run\n```\n```sh about\n$ false  # exit status 1\n```\n"
    commands = commands_of(example)
    assert [c.text for c in commands] == ["echo 12 rows", "echo one   two", "false"], [c.text for c in commands]
    assert [c.status for c in commands] == [0, 0, 1]
    assert commands[0].output == [(6, "34 rows")] and commands[0].exact and not commands[2].exact
    assert compare(commands[0], "a\n34 rows\n") == (None, {})
    fault, others = compare(commands[0], "a\n12   rows\n")
    assert fault is not None and others == {6: "12   rows"}
    assert compare(commands[0], "12 columns\n")[0] is not None
    commands[0].exact = False
    assert compare(commands[0], "12   rows\n")[0] is None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the blockyard program")
    parser.add_argument("--write", action="store_true", help="put today's figures into the shown output")
    parser.add_argument("readme", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    self_test()
    readmes = arguments.readme or sorted(p for p in ROOT.rglob("README.md") if not {"build", "out"} & set(p.relative_to(ROOT).parts))
    count, faults = 0, []
    for readme in readmes:
        ran, found = run_readme(readme.resolve(), arguments.path.resolve(), arguments.write)
        count += ran
        faults += found
    print(f"{count} commands of {len(readmes)} README files ran, {len(faults)} at fault")
    for fault in faults:
        print(f"\nFAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
