"""tools/check_isa finds leaks and foreign instructions in small objects made by g++."""

import platform
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_isa"


def kernel(namespace: str, target: str, name: str = "add") -> str:
    """A loop the compiler turns into vector instructions of the target."""
    return f'''
        #pragma GCC push_options
        #pragma GCC target("{target}")
        namespace nearfield::{namespace} {{
        void {name}(float* x) {{ for (int i = 0; i < 1024; ++i) x[i] += 1; }}
        }}
        #pragma GCC pop_options
        '''


SSSE3 = kernel("N_SSSE3", "ssse3")
AVX2 = kernel("N_AVX2", "avx2")
AVX3 = kernel("N_AVX3", "avx512f,avx512vl,prefer-vector-width=512")

# An inline function beside the namespace, compiled for its target: what a careless helper is.
LEAK = '''
    #pragma GCC target("avx2")
    namespace nearfield {
    __attribute__((noipa)) inline float first(const float* x) { return *x; }
    namespace N_AVX2 { float use(const float* x) { return first(x); } }
    }
    '''
# The same in the namespace, or with a type of it as template argument: distinct for each ISA.
SHARED = '''
    namespace nearfield {
    template <class T> __attribute__((noipa)) T twice(T x) { return {x.y + x.y}; }
    namespace N_AVX2 {
    struct Tag { int y; };
    __attribute__((noipa)) inline int inner(int x) { return twice(Tag{x}).y; }
    int use(int x) { return inner(x); }
    }}
    '''
MASK_ONLY = '''
    #pragma GCC target("avx512f")
    namespace nearfield::N_AVX2 { void mask() { asm volatile("kxorw %k1, %k1, %k1"); } }
    '''
# A segment prefix stands before the VEX bytes.
PREFIXED = '''
    namespace nearfield::N_SSE4 { void local() { asm volatile("vmovups %fs:0, %xmm0"); } }
    '''
# Brings the weak pointer DW.ref.__gxx_personality_v0, which every unit has.
EXCEPTION = "namespace nearfield { void f(); int g() { try { f(); } catch (...) { } return 0; } }"
BASELINE_AVX = kernel("plain", "avx2")
STATIC_INIT = '''
    namespace nearfield::N_AVX2 {
    float source();
    float before = 3 * source();
    }
    '''

# Name of the case, sources (an object each), flags, what the violations say (patterns, in order).
CASES = (
    ("clean", [SSSE3 + AVX2 + AVX3, SHARED], [], []),
    ("weak function beside the namespace", [LEAK + AVX2], [],
     [r"leaked weak symbol nearfield::first\(float const\*\): ",
      r"impure function nearfield::first\(.*\): AVX instruction 'vmov\w+ .*' in baseline code"]),
    ("the compiler's own weak symbol", [EXCEPTION], ["-fPIC"], []),
    ("AVX behind a prefix", [PREFIXED], [], [r"N_SSE4::local\(\): AVX instruction 'vmovups %fs"]),
    ("AVX in N_SSSE3", [kernel("N_SSSE3", "avx2")], [],
     [r"impure function nearfield::N_SSSE3::add\(float\*\): AVX instruction"]),
    *((f"AVX-512 in {isa}", [kernel(isa, "avx512f,prefer-vector-width=512")], [],
       [rf"impure function nearfield::{isa}::add\(float\*\): AVX-512 instruction"])
      for isa in ("N_SCALAR", "N_EMU128", "N_SSE4")),
    ("AVX in no namespace", [BASELINE_AVX], [], [r"plain::add\(float\*\): .* in baseline code"]),
    ("AVX in a static initialiser", [STATIC_INIT + AVX2], ["-mavx2"],
     [r"static initialiser _GLOBAL__sub_I_",
      r"impure function _GLOBAL__sub_I_\S+: AVX instruction '.*' in baseline code"]),
    ("AVX-512 in N_AVX2", [AVX2, kernel("N_AVX2", "avx512f,prefer-vector-width=512", "scale")], [],
     [r"N_AVX2::scale\(float\*\): AVX-512 instruction"]),
    ("mask register in N_AVX2", [AVX2, MASK_ONLY], [],
     [r"N_AVX2::mask\(\): AVX-512 instruction 'kxorw"]),
    *((f"{isa} without {register}", [kernel(isa, target)], [],
       [f"^{isa}: no {register} instruction"])
      for isa, target, register in (("N_AVX2", "ssse3", "ymm"), ("N_AVX3", "avx2", "zmm"),
                                    ("N_AVX3_DL", "avx2", "zmm"))),
    ("one object proves the ISA for all", [AVX2, kernel("N_AVX2", "ssse3", "scale")], [], []),
    ("no machine code", [AVX2], ["-flto"], [r"no machine code to check"]),
    ("other machine: no purity", [BASELINE_AVX], ["-m32"], []),
    ("other machine: leaks", [LEAK], ["-m32"], [r"leaked weak symbol nearfield::first"]),
)


def check(sources: list[str], flags: list[str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for number, source in enumerate(sources):
            objects.append(f"{folder}/{number}.o")
            subprocess.run(["g++", "-std=c++20", "-O3", "-c", "-x", "c++", "-", *flags,
                            "-o", objects[-1]], input=source, text=True, check=True)
        done = subprocess.run([sys.executable, TOOL, *objects], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()


@unittest.skipUnless(platform.machine() == "x86_64", "the fixtures are x86-64 code")
class CheckIsa(unittest.TestCase):
    def test_violations(self):
        for case, sources, flags, expected in CASES:
            with self.subTest(case):
                code, output = check(sources, flags)
                violations = [line for line in output if not line.startswith("isa: ")]
                self.assertEqual(code, 1 if expected else 0, output)
                self.assertEqual(len(violations), len(expected), output)
                for violation, pattern in zip(violations, expected):
                    self.assertRegex(violation, pattern)
                leaks = sum("leaked" in pattern for pattern in expected)
                self.assertEqual(output[-1], f"isa: {len(sources)} objects, {leaks} leaks, "
                                             f"{len(expected) - leaks} impurities")

    def test_counts_by_namespace(self):
        _, output = check([SSSE3 + AVX2 + AVX3, kernel("N_AVX2", "avx2", "scale")], [])
        counts = [re.sub(r"\b[1-9]\d* (.mm)", r"some \1", line) for line in output]
        self.assertEqual(counts, ["isa: N_SSSE3: 1 functions, some xmm instructions",
                                  "isa: N_AVX2: 2 functions, some ymm instructions",
                                  "isa: N_AVX3: 1 functions, some zmm instructions",
                                  "isa: 2 objects, 0 leaks, 0 impurities"])

    def test_unreadable_object_is_a_failure(self):
        done = subprocess.run([sys.executable, TOOL, "missing.o"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("check_isa: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
