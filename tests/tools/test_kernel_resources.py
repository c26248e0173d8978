"""tools/kernel_resources and tools/check_tensor_cores read what the tools of CUDA print."""

import contextlib
import io
import unittest

from load_tool import load

resources = load("kernel_resources")
tensor_cores = load("check_tensor_cores")

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sort' for 'sm_86'
ptxas info    : Function properties for sort
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'keys' for 'sm_86'
ptxas info    : Function properties for keys
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 110 registers, used 1 barriers, 16400 bytes smem, 392 bytes cmem[0]
"""
PTX = """.visible .entry sort(
	.param .u64 .ptr .align 1 sort_param_0
)
.maxntid 128, 1, 1
{
.visible .entry keys(
	.param .u64 .ptr .align 1 keys_param_0,
	.param .u32 keys_param_1
)
.maxntid 256
{
"""
SM_86, SM_90 = resources.ARCHITECTURES


def kernel(threads: int, registers: int, shared: int = 0, stack: int = 0):
    return resources.Kernel("keys", threads, registers, shared, stack, spills=0)


class KernelResources(unittest.TestCase):
    def test_reads_the_report(self):
        self.assertEqual(resources.parse(REPORT, PTX),
                         [resources.Kernel("keys", 256, 110, 16400, stack=16, spills=20),
                          resources.Kernel("sort", 128, 12, 0, stack=0, spills=0)])

    def test_occupancy_is_that_of_cuda_occupancy_h(self):
        """Blocks at a time, as cudaOccMaxActiveBlocksPerMultiprocessor() counts them."""
        for architecture, one, blocks in (
                (SM_86, kernel(32, 33, 272), 16), (SM_90, kernel(32, 38, 272), 32),      # blocks
                (SM_86, kernel(256, 20), 6), (SM_90, kernel(256, 20), 8),                # threads
                (SM_86, kernel(256, 110), 2), (SM_90, kernel(128, 48), 10),              # registers
                (SM_86, kernel(128, 32, 32768), 3), (SM_90, kernel(128, 32, 49152), 4),  # shared
        ):
            with self.subTest(architecture=architecture.name, kernel=one):
                self.assertEqual(resources.occupancy(one, architecture),
                                 blocks * one.threads / architecture.threads)

    def checked(self, page: str, text: str, rows: list) -> tuple[int, str]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = resources.check(page, text, rows)
        return code, printed.getvalue()

    def test_check_finds_a_change(self):
        before = resources.describe("13.0", [("keys_lp", SM_86, kernel(256, 64))])
        page = f"text\n{resources.BEGIN}{before}{resources.END}more text\n"
        rows = [("keys_lp", SM_86, kernel(256, 72))]
        self.assertEqual(self.checked(page, before, rows)[0], 0)
        code, printed = self.checked(page, resources.describe("13.0", rows), rows)
        self.assertEqual(code, 1)
        self.assertIn("-| `keys_lp` | `keys` | sm_86 | 256 | 64 |", printed)
        self.assertIn("+| `keys_lp` | `keys` | sm_86 | 256 | 72 |", printed)

    def test_check_wants_reasons(self):
        rows = [("keys_lp", SM_90, kernel(256, 64, stack=16))]
        text = resources.describe("13.0", rows)
        page = resources.BEGIN + text + resources.END
        for reason, expected in (("", 1), ("- `keys_l1` `keys`: another\n", 1),
                                 ("- `keys_lp` `keys`: \n", 1), ("- `keys_lp` `keys`: why\n", 0)):
            with self.subTest(reason=reason):
                code, printed = self.checked(page + reason, text, rows)
                self.assertEqual(code, expected)
                self.assertEqual("has 16 bytes of stack" in printed, expected == 1)


class TensorCores(unittest.TestCase):
    def test_counts_instructions_of_each_kernel(self):
        listing = """
.text.product:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   HMMA.16816.F32 R8, R4, R2, RZ ;
        /*0020*/              @!P0 HMMA.16816.F32 R8, R4, R2, R8 ;
        /*0030*/                   IMMA.16816.S8.S8 R8, R4.ROW, R2.COL, RZ ;
.text.grouped:
        /*0040*/                   HGMMA.64x8x16.F32 R24, gdesc[UR4], R24 ;
.text.scalar:
        /*0000*/                   HFMA2.MMA R8, -RZ, RZ, 0, 0 ;
        /*0010*/                   FFMA R8, R4, R2, RZ ;
"""
        self.assertEqual(tensor_cores.tensor_instructions(listing),
                         {"product": {"HMMA.16816.F32": 2, "IMMA.16816.S8.S8": 1},
                          "grouped": {"HGMMA.64x8x16.F32": 1}, "scalar": {}})


if __name__ == "__main__":
    unittest.main()
