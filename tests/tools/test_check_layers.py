"""Each rule of tools/check_layers.py is broken by a tree that breaks nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

# Everything that is allowed and looks close to something that is not.
CLEAN = {
    "include/nearfield/a.hpp": "#include <vector>\n#include <nearfield/b.hpp>\n" + "\n" * 298,
    "src/core/a.hpp": '#include <nearfield/a.hpp>\n#include "core/b.hpp"\n#include <fmt/core.h>',
    "src/core/tasks_tbb.cpp": "#include <oneapi/tbb/info.h>\n#include <thread>\nstd::thread t;",
    "src/distance/metrics/l1.hpp": "struct L1 {};\n",
    "src/distance/cpu/a.cpp": '#include <hwy/highway.h>\n#include "distance/a.hpp"\n__m256i x;\n',
    "src/distance/gpu/a.cu": "#include <cuda_runtime.h>\n__global__ void f();\n",
    "src/select/gpu/a.cpp": '#include "distance/gpu/a.hpp"\n#include "device/gpu/a.hpp"\n',
    "src/distance/a.cpp": '#include "distance/cpu/a.hpp"\n#include "distance/gpu/a.hpp"\n',
    "src/filter/rounded/a.cpp": '#include "filter/rounded/cpu/a.hpp"\n#include "cpu/a.hpp"\n',
    "src/filter/rounded/cpu/a.cpp": '#include "filter/cpu/a.hpp"\n#include <immintrin.h>\n',
    "src/eval/a.cpp": '#include "index/a.hpp"\n#include "core/a.hpp"\n' + "\n" * 598,
    "cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "cli/a.hpp"\n#include <nearfield/a.hpp>\n'
                    'int main() { printf("x"); exit(1); }\n',
    "src/io/sqlite.cpp": "#include <sqlite3.h>\n",
    "plugins/hdf5/a.cpp": '#include <hdf5.h>\n#include "cli/file_plugin.hpp"\n#include "b.hpp"\n'
                          '#include <nearfield/a.hpp>\n',
    "python/src/a.cpp": '#include <nanobind/nanobind.h>\n#include <nearfield/a.hpp>\n'
                        '#include <fmt/format.h>\n#include "a.hpp"\n',
    "python/src/a.hpp": "#include <Python.h>\n#include <thread>\n",
    "tests/unit/a.cpp": '#include "distance/cpu/a.hpp"\n#include <immintrin.h>\n#include <thread>',
    "bench/a.cpp": '#include "scan/a.hpp"\nint main() { printf("x"); }\n',
    "src/scan/text.cpp": '''
        // std::cout, printf("x"), #include "eval/a.hpp"
        /* exit(1);
        #include "eval/a.hpp"
        */
        const char* a = "_mm_add_ps(x) \\" abort()", *b = R"(
        #include "eval/a.hpp"
        std::terminate() ")";
        int million = 1'000'000, quote = '"';  // exit("
        int n = snprintf(a, 1, "printf(") + progress.abort() + std::this_thread::get_id();
        ''',
}

# Rule, path of the file, its text, the line at fault.
BROKEN = (
    ("layer", "src/core/a.hpp", '#include "scan/a.hpp"', 1),
    ("layer", "src/select/a.cpp", '\n#include "core/../filter/a.hpp"', 2),
    ("layer", "src/distance/gpu/a.cpp", '#include "select/gpu/a.hpp"', 1),
    ("layer", "src/index/flat/a.cpp", "#  include <eval/a.hpp>", 1),
    ("layer", "src/eval/a.cpp", '#include "tests/unit/a.hpp"', 1),
    ("unknown-layer", "src/util/a.hpp", "", 1),
    ("unknown-layer", "src/a.hpp", "", 1),
    ("sibling-backend", "src/scan/a.cpp", '#include "distance/cpu/a.hpp"', 1),
    ("sibling-backend", "src/select/a.cpp", '#include "distance/gpu/a.hpp"', 1),
    ("sibling-backend", "src/filter/bits/a.cpp", '#include "filter/rounded/cpu/a.hpp"', 1),
    ("sibling-backend", "bench/a.cpp", '#include "distance/cpu/a.hpp"', 1),
    ("mixed-backends", "src/distance/gpu/a.cpp", '#include "distance/cpu/a.hpp"', 1),
    ("mixed-backends", "src/filter/rounded/cpu/a.cpp", '#include "filter/rounded/gpu/a.hpp"', 1),
    ("public-header", "include/nearfield/a.hpp", "#include <fmt/format.h>", 1),
    ("public-header", "include/nearfield/a.hpp", '#include "core/a.hpp"', 1),
    ("public-header", "include/nearfield/a.hpp", '#include "b.hpp"', 1),
    ("public-only", "cli/a.cpp", '#include "core/a.hpp"', 1),
    ("public-only", "python/a.cpp", "int a;\n\n#include <index/a.hpp>", 3),
    ("public-only", "python/src/a.cpp", '#include "core/a.hpp"', 1),
    ("public-only", "python/src/a.cpp", '#include "cli/a.hpp"', 1),
    ("public-only", "examples/a.cpp", '#include "src/io/a.hpp"', 1),
    ("public-only", "plugins/hdf5/a.cpp", '#include "cli/json.hpp"', 1),
    ("public-only", "plugins/hdf5/a.cpp", '#include "io/a.hpp"', 1),
    ("public-only", "cli/a.cpp", '#include "plugins/hdf5/a.hpp"', 1),
    ("hdf5", "cli/a.cpp", "#include <hdf5.h>", 1),
    ("hdf5", "src/io/a.cpp", "#include <hdf5/serial/H5public.h>", 1),
    ("sqlite", "src/io/a.cpp", "#include <sqlite3.h>", 1),
    ("sqlite", "cli/a.cpp", "#include <sqlite3.h>", 1),
    ("print", "plugins/hdf5/a.cpp", "std::cerr << 1;", 1),
    ("length", "include/nearfield/a.hpp", "\n" * 301, 301),
    ("length", "src/core/a.cpp", "\n" * 601, 601),
    ("length", "tests/unit/a.cpp", "\n" * 601, 601),
    ("freestanding", "src/distance/metrics/a.hpp", "#include <cmath>", 1),
    ("freestanding", "src/distance/metrics/a.hpp", "#include MACRO", 1),
    ("tbb", "src/core/tasks.cpp", "#include <tbb/tbb.h>", 1),
    ("tbb", "tests/unit/a.cpp", "#include <oneapi/tbb/task_arena.h>", 1),
    ("python", "src/core/a.cpp", "#include <Python.h>", 1),
    ("python", "cli/a.cpp", "#include <nanobind/nanobind.h>", 1),
    ("openmp", "bench/a.cpp", "#include <omp.h>", 1),
    ("openmp", "src/scan/a.cpp", "  #pragma omp parallel for", 1),
    *(("intrinsics", "src/distance/a.cpp", text, 1) for text in (
        "#include <immintrin.h>", "#include <xmmintrin.h>", "#include <arm_neon.h>",
        "#include <arm_sve.h>", '#include "hwy/highway.h"', "#include <cpuid.h>",
        "x = _mm256_add_ps(x, y);", "_tile_zero(0);", "__m512i x;", "__builtin_ia32_pause();")),
    ("device-code", "src/distance/a.cu", "", 1),
    ("device-code", "bench/a.cl", "", 1),
    *(("device-code", "src/distance/cpu/a.cpp", text, 1) for text in (
        "#include <cuda_runtime.h>", "#include <cublas_v2.h>", "#include <cub/cub.cuh>",
        "#include <CL/cl.h>", "__global__ void f();", "__device__ int x;", "__kernel void f();")),
    *(("threads", "src/scan/a.cpp", text, 1) for text in (
        "#include <thread>", "std::thread t;", "std::jthread t;", "pthread_create(&t, 0, f, 0);")),
    *(("print", "src/core/a.cpp", text, 1) for text in (
        'std::cout << 1;', 'std::cerr << 1;', 'printf("x");', 'std::fprintf(f, "x");',
        'fmt::print("x");')),
    *(("exit", "include/nearfield/a.hpp", text, 1) for text in (
        "abort();", "std::exit(1);", "std::terminate();")),
    ("exit", "src/core/a.cpp", "int digits = 1'000; exit(1); char letter = 'a';", 1),
)


def check(tree: dict[str, str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


class CheckLayers(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(check(CLEAN), (0, [f"layers: {len(CLEAN)} files, 0 violations"]))

    def test_each_rule_is_broken_alone(self):
        for rule, path, text, line in BROKEN:
            with self.subTest(rule=rule, path=path, text=text[:40]):
                code, output = check({path: text})
                self.assertEqual(code, 1)
                self.assertEqual(len(output), 1, output)
                self.assertRegex(output[0], rf"^{path}:{line}: {rule}: .+; .+")

    def test_relative_include_is_followed(self):
        tree = {"src/eval/b.hpp": "", "src/core/a.hpp": '#include "../eval/b.hpp"'}
        code, output = check(tree)
        self.assertEqual(code, 1)
        self.assertRegex("\n".join(output), r"^src/core/a\.hpp:1: layer: core may not include eval")

    def test_every_violation_is_listed(self):
        code, output = check({"src/core/a.cpp": '#include <omp.h>\n#include "io/a.hpp"\nexit(1);\n',
                              "cli/a.cpp": '#include "io/a.hpp"'})
        self.assertEqual(code, 1)
        self.assertEqual([":".join(line.split(":")[:3]) for line in output],
                         ["cli/a.cpp:1: public-only", "src/core/a.cpp:1: openmp",
                          "src/core/a.cpp:2: layer", "src/core/a.cpp:3: exit"])

    def test_nothing_to_check_is_a_failure(self):
        code, output = check({"docs/a.md": ""})
        self.assertEqual(code, 1)
        self.assertRegex(output[0], "^layers: no sources")


if __name__ == "__main__":
    unittest.main()
