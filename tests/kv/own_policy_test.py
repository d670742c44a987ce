#!/usr/bin/env python3
"""Adds the policy that sim/kv/eviction/README.md shows, as that page says, to a copy of the sources, compiles the table, and runs it.

Usage: own_policy_test.py COMPILER (from anywhere). Compiled is what the policy touches: policies.cc and what it needs.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = "sim/kv/eviction"

PROGRAM = """
#include <cstdio>
#include "sim/kv/eviction/policies.h"
using namespace blockyard;
int main() {
  const kv::EvictionRow* row = kv::find_eviction("second_oldest");
  if (row == nullptr) return 1;
  kv::ReferenceString references(Tokens(1), kv::Lookup::raw);
  for (const std::int64_t id : {1, 2, 3, 1, 2}) references.add({&id, 1}, Tokens(1), SimTime(), 0);
  kv::CacheRunOptions options;
  options.capacity = 2;
  // 3 takes the place of 2, the younger of the two: so 1 is found again, and 2 is not.
  std::printf("%lld\\n", static_cast<long long>(row->run(references, options).hit_blocks));
}
"""


def main():
    compiler = sys.argv[1]
    page = (ROOT / FOLDER / "README.md").read_text()
    policy, line = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    name = re.match(r"// (\w+\.h):", policy).group(1)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for room in ("sim/base", "sim/kv"):
            shutil.copytree(ROOT / room, copy / room)
        (copy / FOLDER / name).write_text(policy)
        table = copy / FOLDER / "policies.cc"
        text = table.read_text()
        text = text.replace('#include "sim/kv/eviction/random.h"', f'#include "{FOLDER}/{name}"\n#include "sim/kv/eviction/random.h"')
        text = text.replace('    row<Lru>("lru"', f'    {line}    row<Lru>("lru"')
        assert name in text and line in text
        table.write_text(text)
        (copy / "main.cc").write_text(PROGRAM)
        needed = ["main.cc", f"{FOLDER}/policies.cc", "sim/kv/cache/reference_string.cc", "sim/base/check.cc", "sim/base/random.cc"]
        subprocess.run([compiler, "-std=c++20", "-O0", "-I.", *needed, "-lfmt", "-o", "program"], cwd=copy, check=True)
        output = subprocess.run([copy / "program"], check=True, capture_output=True, text=True).stdout.split()
    if output != ["1"]:
        sys.exit(f"the policy of {FOLDER}/README.md found {output} blocks, expected 1")


if __name__ == "__main__":
    main()
