#!/usr/bin/env python3
"""Runs the commands that the project's README files show. The convention is written down in tests/README.md.

Usage: readme_test.py [--path FOLDER_OF_BLOCKYARD] [README...]   (default: every README.md of the project)
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
        self.line, self.exact, self.output = line, exact, []
        status = EXPECTED_STATUS.search(text)
        self.status = int(status.group(1)) if status else 0
        self.text = EXPECTED_STATUS.sub("", text)


def commands_of(text):
    """The commands of every ```sh block, with the output shown below each."""
    commands, in_block, exact, pending = [], False, False, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            words = line[3:].split()
            in_block = not in_block and words[:1] == ["sh"]
            exact = "exact" in words
            shown = False  # whether a command stands above in this block
            pending = None
        elif in_block and (pending is not None or line.startswith("$ ")):
            joined = line[2:] if pending is None else pending + line
            pending = joined[:-1] if joined.endswith("\\") else None
            if pending is None:
                commands.append(Command(number, joined, exact))
                shown = True
        elif in_block and shown:
            commands[-1].output.append(line.rstrip())
    return commands


def shape(line):
    """A line without its digits, its rules and its column widths: what stays when figures change."""
    return " ".join(re.sub(r"[-─═━]{3,}", "", NUMBER.sub("#", line)).split())


def output_fault(command, output):
    """None, or what of the shown output is missing. `...` alone on a line stands for any lines."""
    shown = command.output
    while shown and not shown[-1]:
        shown = shown[:-1]
    if not shown:
        return None
    real = [line.rstrip() for line in output.splitlines()]
    if not command.exact:
        shown, real = [shape(line) for line in shown], [shape(line) for line in real]
    at = 0
    for line in shown:
        if line == "..." or not line:
            continue
        if line not in real[at:]:
            return f"its output has no such line (figures aside): {line}" if not command.exact else f"its output has no line: {line}"
        at = real.index(line, at) + 1
    return None


def run_readme(path, folder_of_blockyard):
    """(number of commands run, faults). The commands of one README share one temporary copy of the project's data."""
    commands = commands_of(path.read_text())
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
            fault = output_fault(command, done.stdout + done.stderr)
            if fault:
                faults.append(f"{where}\n  {fault}")
    return len(commands), faults


def self_test():
    """The reader of the convention, on an example that has every part of it."""
    example = "```sh\nscripts/run\n```\n```sh\n$ echo 12 rows   # exit status 0\n34 rows\n$ echo one \\\n  two\n```\n" \
              "```yaml\n$ not: run\n```\n```sh exact\n$ false  # exit status 1\n```\n"
    commands = commands_of(example)
    assert [c.text for c in commands] == ["echo 12 rows", "echo one   two", "false"], [c.text for c in commands]
    assert [c.status for c in commands] == [0, 0, 1]
    assert commands[0].output == ["34 rows"] and commands[2].exact
    assert output_fault(commands[0], "a\n12   rows\n") is None
    assert output_fault(commands[0], "12 columns\n") is not None
    commands[0].exact = True
    assert output_fault(commands[0], "12 rows\n") is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the blockyard program")
    parser.add_argument("readme", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    self_test()
    readmes = arguments.readme or sorted(p for p in ROOT.rglob("README.md") if not {"build", "out"} & set(p.relative_to(ROOT).parts))
    count, faults = 0, []
    for readme in readmes:
        ran, found = run_readme(readme.resolve(), arguments.path.resolve())
        count += ran
        faults += found
    print(f"{count} commands of {len(readmes)} README files ran, {len(faults)} at fault")
    for fault in faults:
        print(f"\nFAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
