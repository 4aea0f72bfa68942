"""The suites of scripts/measure print their tables from fictitious figures, and say what they measure."""

import pathlib
import tempfile
import unittest

import numpy
from measure.arguments import FIGURES
from measure.models.texts import Tokenizer, items, sentences
from measure.results import MACHINE, Measured, Processor
from measure.run import named_tables, write_tables
from measure.sessions import PROVIDER, RUNTIME
from measure.suites import convolutions, core, costs, dynamic, embeddings, exactness, front, integer_costs, large, layers, nbits, networks, nodes, random_layers, shares, surroundings, transformers, weight_only_costs, weights


def rows(tables, start):
    """The cells of the rows below the header that begins with `start`."""
    lines = next(lines for lines in tables.values() if lines and lines[0].startswith(f"| {start}"))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:] if line]


class Core(unittest.TestCase):
    def processor(self, *some, name="Made Up", isa="AVX-512", date="2026-01-01"):
        """some: batch and name, dynquant's times, others' times by name, and what is not of the commonest."""
        p = Processor(name)
        p.add(Measured("core", MACHINE, 0, facts={"date": date, "Processor": "made up", "Instruction set": isa}))
        for case, own, others, *more in some:
            where = {"isa": "avx512", "api": "graph", "threads": 1, "elements": 1000} | (more[0] if more else {})
            key = f"{case} DynamicQuantize f32:f32:u8:u8 strict {where['isa']} {where['api']}"
            p.add(Measured("core", key, where["threads"], {"dynquant": own, **others}, facts={"elements": where["elements"]}))
        return p

    def value(self, p, section, start):
        (found,) = [line for line in core.lines(core.isa_of(p)) if line.section == section and line.what.startswith(start)]
        return core.median(core.passes(p), found.value)

    def test_figures_are_the_median_of_the_passes(self):
        p = self.processor(("perf_1_per_tensor 64Ki", [5, 5, 5], {"flat": [1, 4, 3.5]}))
        self.assertAlmostEqual(self.value(p, 1, "AVX-512, 64 Ki elements"), 0.7)

    def test_the_worst_case_is_named(self):
        p = self.processor(("perf_2_per_channel 1Mi:per_tensor", [100], {}), ("perf_2_per_channel 1Mi:middle_64", [105], {"flat": [84]}),
                           ("perf_2_per_channel 1Mi:first_1024", [100 / 0.92], {"flat": [70 / 0.92]}), ("perf_2_per_channel 1Mi:first_64", [101], {}))  # fmt: skip
        for what, figure in (("the slowest", 0.92), ("the least share", 0.7)):
            value = self.value(p, 2, f"1 Mi elements, runs of 64 and more: {what}")
            self.assertAlmostEqual(value, figure)
            self.assertEqual(value.name, "1Mi:first_1024")

    def test_all_threads_against_one(self):
        p = self.processor(*(("perf_6_threads 1Mi", [time], {}, {"threads": n}) for n, time in ((1, 2), (2, 3), (4, 2.2))))
        self.assertAlmostEqual(self.value(p, 6, "quantize: time"), 1.1)

    def test_libraries_for_python(self):
        p = self.processor(("perf_7_peers 1Mi", [2], {}))
        p.add(Measured("core", "python 1Mi DynamicQuantize", 1, {"pi-quant": [5]}))
        self.assertAlmostEqual(self.value(p, 7, "pi-quant, quantize 1 Mi"), 2.5)

    def test_a_column_for_each_processor_of_its_best_instruction_set(self):
        some = (self.processor(("perf_1_per_tensor 64Mi", [10], {"flat": [9]})),
                self.processor(("perf_1_per_tensor 64Mi", [10], {"flat": [8]}, {"isa": "avx2"}), name="Another", isa="AVX2"))  # fmt: skip
        tables = core.tables(list(some))
        self.assertIn("|  | Made Up, 2026-01-01 | Another, 2026-01-01 |", tables["core machine"])
        self.assertEqual(tables["core 1"], ["| what | unit | Made Up | Another |", "|---|---|---|---|",
                                            "| 64 Mi elements (memory), one thread | of flat | 0.90 | 0.80 |", ""])  # fmt: skip

    def test_what_is_worse_than_before_is_bold(self):
        def two(flat, small):
            return ("perf_1_per_tensor 64Mi", [10], {"flat": [flat]}), ("perf_5_small 256", [small * 1e-9], {"compile": [5e-6]})

        before = self.processor(*two(9, 50))
        for flat, small, cells in ((8.2, 54, ["0.82", "54"]), (8.1, 56, ["**0.81**", "**56**"])):
            tables = core.tables([before, self.processor(*two(flat, small), date="2026-02-02")])
            self.assertEqual([tables[f"core {section}"][2].split(" | ")[3].removesuffix(" |") for section in (1, 5)], cells)

    def test_keys_are_unique(self):
        keys = [(line.section, line.what) for line in core.lines("avx512")]
        self.assertEqual(len(keys), len(set(keys)))


class Front(unittest.TestCase):
    def test_models_in_their_order_on_one_thread(self):
        def timed(title, threads=1):
            return Measured("front", title, threads, {front.FLOAT_MODEL: [4e-3, 8e-3, 6e-3], RUNTIME: [3e-3, 3e-3, 6e-3], PROVIDER: [2e-3, 1e-3, 3e-3]})

        first, last = front.MODELS[0], front.MODELS[-1]
        found = rows(front.tables([timed(last.title), timed(first.title), timed(first.title, 2), timed("another")]), "one thread, ms")
        figures = ["6.00", "3.00", "2.00", "2.0 (1.5 to 3.0)", "2.0 (2.0 to 8.0)"]
        self.assertEqual(found, [[first.title, "int8", *figures], [last.title, "4 bits", *figures]])


class Exactness(unittest.TestCase):
    TEXT = ("onednn_verbose,v1,info,oneDNN v3.13.2 (commit c0ffee)\n0:COMPARED\n    dynquant: 0 of 1000 results differ\n"
            "    onednn_graph: 25 of 1000 results differ (2.5 %)\n      [3] expected:1 got:2\n    xnnpack refuses: no\n")  # fmt: skip

    def test_shares_of_what_dqbench_prints(self):
        self.assertEqual(exactness.version(self.TEXT), "3.13.2")
        with self.assertRaisesRegex(RuntimeError, "expected oneDNN's version, given 'none'"):
            exactness.version("none")
        self.assertEqual(exactness.shares(self.TEXT, "oneDNN 3.13.2"), {"dynquant": 0, "oneDNN 3.13.2": 0.025, "XNNPACK": None})

    def test_percentages(self):
        self.assertEqual([exactness.percent(share) for share in (None, 0, 1.43e-6, 0.0136, 0.0999, 0.98, 1)],
                         ["refused", "0", "0.00014 %", "1.4 %", "10 %", "98 %", "100 %"])  # fmt: skip

    def test_versions_of_onednn_stand_in_one_row(self):
        def measured(case, shares):
            return Measured("exactness", f"{case}, {list(shares)}", 0, facts={"title": case, "data": "drawn", "shares": shares, "command": f"--of={case}"})

        some = [measured("a", {"dynquant": 0, "XNNPACK": None, "oneDNN 3.2.0": 0.5}), measured("b", {"dynquant": 0, "XNNPACK": 1, "oneDNN 3.2.0": 0.25}),
                measured("a", {"dynquant": 0, "XNNPACK": None, "oneDNN 3.13.2": None})]  # fmt: skip
        processors = Processor("a"), Processor("b")
        for i, m in enumerate(some):
            processors[i // 2].add(m)
        lines = exactness.tables(list(processors))["exactness"]
        self.assertIn("| dynquant | oneDNN 3.2.0 | oneDNN 3.13.2 | XNNPACK |", lines[0])
        self.assertEqual(rows({"": lines}, "results that differ"), [["a", "drawn", "0", "50 %", "refused", "refused", "`--of=a`"],
                                                                    ["b", "drawn", "0", "25 %", "", "100 %", "`--of=b`"]])  # fmt: skip


class Nodes(unittest.TestCase):
    def measured(self, peer_times, own, case="QuantizeLinear: uint8", threads=1, peer=RUNTIME, goal=None, count=1):
        of = {"peer": peer, "elements": 1000, "bytes": 5000, "nodes": count, "goal": goal}
        return Measured("nodes", case, threads, {peer: peer_times, "dynquant": own} if peer_times else {"dynquant": own}, facts=of)

    def test_cells(self):
        # Rounds: 2, 8 and 3 times as fast; the median of their times is 3 us.
        some = self.measured([2e-6, 8e-6, 3e-6], [1e-6] * 3, goal=3.5), self.measured([], [1e-6], "other", goal=8)
        self.assertEqual([row[1:] for row in rows(nodes.tables(list(some)), "one thread, Gelem/s")],
                         [["0.33", "1.00", "5.00", "3.0 (2.0 to 8.0)"], ["-", "1.00", "5.00", "not offered"]])  # fmt: skip
        self.assertEqual(rows(nodes.tables(list(some)), "one thread | times"), [["QuantizeLinear: uint8", "3.0 (2.0 to 8.0)", "3.5, **missed**"]])

    def test_a_table_for_each_peer_and_number_of_threads_and_one_of_chains(self):
        tables = nodes.tables([self.measured([1e-6], [1e-6]), self.measured([1e-6], [1e-6], threads=4), self.measured([1e-6], [1e-6], peer="Quark"),
                               self.measured([5e-6], [4e-6], "a chain", count=200)])  # fmt: skip
        heads = [lines[0].split(" | ")[:2] for lines in tables.values() if lines]
        self.assertEqual(heads, [["| one thread, Gelem/s", RUNTIME], ["| one thread, ns a node of a chain", RUNTIME], ["| one thread, Gelem/s", "Quark"],
                                 ["| 4 threads, Gelem/s", RUNTIME]])  # fmt: skip
        self.assertEqual(rows(tables, "one thread, ns"), [["a chain", "25", "20"]])


class Layers(unittest.TestCase):
    def measured(self, runtime=(2e-6,), provider=(1e-6,), kind="stems", x="float", weights="int8", threads=1, claimed=True):
        of = {"kind": kind, "shape": "x by w", "x": x, "weights": weights, "claimed": claimed}
        return Measured("layers", f"{kind}{x}{weights}", threads, {RUNTIME: list(runtime), PROVIDER: list(provider)}, {RUNTIME: 0.5e-6, PROVIDER: 0.25e-6}, of)

    def test_cells(self):
        # 8, 2 and 3 times as fast.
        one = self.measured((8e-6, 2e-6, 6e-6), (1e-6, 1e-6, 2e-6))
        self.assertEqual(rows(layers.tables([one]), "stems, one thread"), [["x by w", "float", "int8", "6.00 (0.50)", "1.00 (0.25)", "3.00"]])
        for one, text in ((self.measured((0.966e-6,)), "0.97"), (self.measured((0.964e-6,)), "**0.96**"), (self.measured(claimed=False), "2.00, left")):
            self.assertEqual(rows(layers.tables([one]), "stems, one thread")[0][5], text)

    def test_the_summary_counts_and_averages(self):
        some = [self.measured((4e-6,)), self.measured((1e-6,)), self.measured((0.98e-6,), weights="uint8"),
                self.measured((0.5e-6,), kind="others", claimed=False), self.measured((3e-6,), kind="others", x="uint8")]  # fmt: skip
        expected = [["stems", "float", "3", "0", "1", "0", "1.00", "2.00", "0.98", "0.98"],
                    ["others", "float", "1", "1", "1", "1", "**0.50**", "**0.50**", "", ""],
                    ["others", "uint8", "1", "0", "0", "0", "3.00", "3.00", "", ""],
                    ["all", "float", "4", "1", "2", "1", "**0.50**", "1.26", "0.98", "0.98"],
                    ["all", "uint8", "1", "0", "0", "0", "3.00", "3.00", "", ""]]  # fmt: skip
        self.assertEqual(rows(layers.tables(some), "one thread"), expected)

    def test_shapes(self):
        one = layers.Shape.of("1x32x55x57 by 64x8x3x3, stride 2")
        self.assertEqual(one, layers.Shape((1, 32, 55, 57), (64, 8, 3, 3), 2))
        self.assertEqual((one.is_product, one.groups, one.channels), (False, 4, 64))
        self.assertEqual(one.window(), {"pads": [1, 1] * 2, "strides": [2, 2], "dilations": [1, 1], "group": 4})
        self.assertEqual((one.name, one.products()), ("1x32x55x57 by 64x8x3x3, stride 2, 4 groups", 64 * 8 * 9 * 28 * 29))
        one = layers.Shape.of("1x2x7x9x5 by 4x2x3x1x5, dilation 2")
        self.assertEqual((one.name, one.window()["pads"], one.window()["dilations"]), ("1x2x7x9x5 by 4x2x3x1x5, dilation 2", [2, 0, 4] * 2, [2] * 3))
        one = layers.Shape.of("5x64 by 64x10")
        self.assertEqual((one.is_product, one.groups, one.channels, one.name, one.products()), (True, 1, 10, "5x64 by 64x10", 5 * 64 * 10))
        shapes = [shape for some in layers.SHAPES.values() for shape in some]
        self.assertEqual(len(set(shapes)), len(shapes))
        for s in shapes:
            fits = (s.x[1] == s.w[0],) if s.is_product else (len(s.x) == len(s.w), s.x[1] % s.w[1] == 0, s.w[0] % s.groups == 0)
            self.assertTrue(all(fits), s.name)


class Costs(unittest.TestCase):
    def test_constants_that_made_the_times_are_found(self):
        random = numpy.random.default_rng(1)
        counts = random.uniform(1, 1000, (60, 4)) * [1, 100, 1, 0]  # the last one is never counted
        made = numpy.array([50, 0.25, 0, 7])
        numpy.testing.assert_allclose(costs.fitted(counts, counts @ made), [50, 0.25, 0, 0], rtol=1e-3, atol=1e-6)

    def test_the_tables(self):
        def one(algorithm, seconds, counts, cost):
            return Measured("costs", "", 1, {"run": [seconds]}, {}, {"x": [1], "algorithm": algorithm, "counts": counts, "cost": cost})

        some = [one("im2col", 2e-6, [1.0, 0.0], 1000), one("channels_first", 3e-6, [0.0, 1.0], 3000)]
        tables = costs.tables(some)
        self.assertEqual(rows(tables, "algorithm"), [["im2col", "1", "{2e+03, 0}", "1.00, 1.00, 1.00", "0.50, 0.50, 0.50"],
                                                     ["channels_first", "1", "{0, 3e+03}", "1.00, 1.00, 1.00", "1.00, 1.00, 1.00"]])
        self.assertEqual(rows(tables, "chosen"), [["1", "1.000", "0", "1.00"]])


class RandomLayers(unittest.TestCase):
    def test_they_are_the_same_each_time_and_differ(self):
        for make, count in ((random_layers.layers, 300), (random_layers.weight_only, 200)):
            some = make()
            self.assertEqual((some, len(some)), (make(), count))
            self.assertGreater(len({one.name for one in some}), 0.9 * count)

    def test_the_tables(self):
        some = [Measured("random_layers", f"layer {i}", 1, {RUNTIME: [ratio * 1e-6], PROVIDER: [1e-6]}, {RUNTIME: 1e-6, PROVIDER: 1e-6}, {"claimed": i != 3, "saturated": i == 4})
                for i, ratio in enumerate((2, 0.96, 0.99, 0.9, 0.5))]  # fmt: skip
        tables = random_layers.tables(some)
        self.assertEqual([(row[0], row[-1]) for row in rows(tables, "the slowest of random layers, us (least)")],
                         [("layer 3", "0.90, left"), ("layer 1", "0.96"), ("layer 2", "0.99"), ("layer 0", "2.00")])
        self.assertEqual(rows(tables, "random layers"), [["4", "1", "2", "3", "1"], ["1, whose sums saturate in ONNX Runtime", "1", "1", "1", "0"]])


class Surroundings(unittest.TestCase):
    def test_names_are_unique_and_say_what_is_measured(self):
        names = [case.name for case in surroundings.cases()]
        self.assertEqual(len(names), len(set(names)))
        for start in ("by row: 4096x16 by 16x24, int8", "shapes: 12 layers, 40 counts of rows", "creation: 1600 products", "DynamicQuantizeLinear: 2048"):
            self.assertTrue(any(name.startswith(start) for name in names), start)

    def test_units_and_whose_time_is_compared(self):
        def measured(case, times, **facts):
            return Measured("surroundings", case, 1, times, {name: some[0] for name, some in times.items()}, facts)

        tables = surroundings.tables([
            measured("by row: a", {RUNTIME: [8e-6], PROVIDER: [2e-6], surroundings.BY_ROW: [4e-6]}),
            measured("creation: b", {RUNTIME: [3e-3], PROVIDER: [6e-3]}, nodes=25),
            measured("DynamicQuantizeLinear: c", {RUNTIME: [3e-7], PROVIDER: [2e-7]})])  # fmt: skip
        self.assertEqual(rows(tables, "one thread"), [
            ["by row: a", "us", "8.00 (8.00)", "2.00 (2.00)", "4.00 (4.00)", "2.00", ""],
            ["creation: b", "ms", "3.00 (3.00)", "6.00 (6.00)", "", "0.50", "25"],
            ["DynamicQuantizeLinear: c", "ns a node", "300 (300)", "200 (200)", "", "1.50", ""]])  # fmt: skip


class IntegerCosts(unittest.TestCase):
    def test_they_are_the_same_each_time_and_differ(self):
        some = integer_costs.cases()
        self.assertEqual((some, len({one.name for one in some})), (integer_costs.cases(), 3 * integer_costs.COUNT))

    def test_the_extents(self):
        one = layers.Layer("uint8 convolutions", layers.Shape((1, 6, 9, 9), (4, 3, 5, 5), 2), "uint8", "uint8")
        self.assertEqual(integer_costs.extents(one), {"x": (1, 6, 9, 9), "w": (4, 3, 5, 5), "stride": 2, "dilation": 1, "groups": 2, "weights": "uint8"})

    def test_the_tables(self):
        """A run takes 6 ns, 2 units, and a unit of the cost 3 ns; in ONNX Runtime each takes twice as long."""
        some = [Measured("integer_costs", f"layer {n}", 1, {PROVIDER: [1e-9 * (6 + 3 * n)], RUNTIME: [2e-9 * (6 + 3 * n)]}, {},
                         {"kind": "uint8 products", "here": n, "in_ort": [1, n], "left": n == 1}) for n in (1, 10, 1000)]  # fmt: skip
        tables = integer_costs.tables(some)
        self.assertEqual(rows(tables, "without steps | constants"), [["uint8 products", "{2, {4, 2}}", "1.00, 1.00, 1.00"]])
        self.assertEqual(rows(tables, "without steps | left"), [["uint8 products", "by integer_cost.cpp", "3", "1", "1", "0", "1.333", "2.00"],
                                                                ["uint8 products", "by these constants", "3", "0", "0", "0", "1.000", "1.00"]])


class WeightOnlyCosts(unittest.TestCase):
    def test_they_are_the_same_each_time_and_differ(self):
        some = weight_only_costs.cases()
        self.assertEqual((some, len({one.name for one in some})), (weight_only_costs.cases(), 4 * weight_only_costs.COUNT))

    def test_the_extents_of_windows(self):
        one = weight_only_costs.WeightOnly(50, 3, 8, "int8", 1, True, False, (9, 9), (3, 5), 4, 2)
        self.assertEqual(weight_only_costs.extents(one), {"is_convolution": True, "rows": 50, "inner": 45, "columns": 8, "weights": "int8", "block": 0,
                                                          "scales_are_along_rows": False, "groups": 4, "taps": 15, "taps_of_line": 5})  # fmt: skip
        self.assertEqual(weight_only_costs.kind_of(one), "windows")
        self.assertIn("3x5 taps, 4 groups, stride 2", one.name)

    def test_the_tables(self):
        """Two layers: one product here takes 2 ns and in ONNX Runtime 1; the second is claimed, which takes twice the time."""
        some = [Measured("weight_only_costs", f"layer {n}", 1, {PROVIDER: [2e-9 * n], RUNTIME: [1e-9 * n]}, {},
                         {"kind": "products", "here": [0, n], "in_ort": [0, n], "left": n == 1}) for n in (1, 1000)]  # fmt: skip
        tables = weight_only_costs.tables(some)
        self.assertEqual(rows(tables, "weights alone | side"), [["products", "here", "{0, 2}", "1.00, 1.00, 1.00"],
                                                                ["products", "in_ort", "{0, 1}", "1.00, 1.00, 1.00"]])
        self.assertEqual(rows(tables, "weights alone | left"), [["products", "by weight_only_cost.cpp", "2", "1", "1", "1", "1.500", "2.00"],
                                                                ["products", "by these constants", "2", "2", "0", "0", "1.000", "1.00"]])


class Nbits(unittest.TestCase):
    def test_the_cases(self):
        some = nbits.cases()
        self.assertEqual(len({one.name for one in some}), len(some))
        self.assertEqual(nbits.Case(64, 32, 4, 16).bytes, 64 * 32 // 2 + 4 * 4 * 32)
        for one in some:
            self.assertTrue(one.layers == 1 or nbits.MEMORY <= one.layers * one.bytes < nbits.MEMORY + one.bytes, one.name)

    def test_the_tables(self):
        """3000 products by 500 bytes in 2 us are 1.5 G products/s and 0.25 GB/s."""
        one = Measured("nbits", "a, 1 rows", 1, {RUNTIME: [6e-6], PROVIDER: [3e-6]}, {RUNTIME: 5e-6, PROVIDER: 2e-6},
                       {"case": "a", "rows": 1, "products": 3000, "bytes": 500})  # fmt: skip
        self.assertEqual(rows(nbits.tables([one]), "one thread"), [["a", "1", "6.00 (5.00)", "3.00 (2.00)", "2.00", "1.5", "0.2"]])


class Weights(unittest.TestCase):
    def tables(self, weights_name="int8 per column", count=1, times=((3e-3, 8e-3, 4e-3), (6e-3,) * 3, (1e-3, 1e-3, 2e-3)), mib=(100, 142, 39), claimed=4):
        """By default the provider is 3, 8 and 2 times as fast as float, and 6, 6 and 3 times as fast as the nodes."""
        of, peers = {"layers": "Gemm, 8 x 8", "weights": weights_name}, dict(zip(weights.PEERS, map(list, times), strict=True))
        least = {name: min(some) for name, some in peers.items()}
        return weights.tables([Measured("weights", "one", 1, peers, least, {**of, "rows": count, "claimed": claimed}),
                               Measured("weights", "memory", 1, facts={**of, "mib": dict(zip(weights.PEERS, mib, strict=True))})])  # fmt: skip

    def test_cells(self):
        tables = self.tables()
        self.assertEqual(rows(tables, "one thread"), [["Gemm, 8 x 8", "int8 per column", "1", "4.00 (3.00)", "6.00 (6.00)", "1.00 (1.00)", "3.00", "3, met", "6.00"]])
        self.assertEqual(rows(tables, "resident"), [["Gemm, 8 x 8", "int8 per column", "100", "142", "39.0", "0.39", "0.4, met"]])
        for given, text in (({"times": ([1], [0.994], [1])}, "**0.99**"), ({"times": ([1], [0.996], [1])}, "1.00"), ({"claimed": 0}, "6.00, left")):
            self.assertEqual(rows(self.tables(**given), "one thread")[0][8], text)

    def test_goals(self):
        def times_float(ratio, name, count):
            return rows(self.tables(name, count, ([ratio * 1e-3], [1e-3], [1e-3])), "one thread")[0][7]

        for name in ("int8 per tensor", "uint8 per column, zero points"):
            for count, wanted in ((1, 3), (4, 1.5), (8, 1.1), (16, 0.5), (128, 0.5)):
                self.assertEqual([times_float(wanted * by, name, count) for by in (1.01, 0.99)], [f"{wanted:g}, met", f"{wanted:g}, **missed**"])
        int4, float8 = "int4 in blocks of 32", "float8e4m3fn per column"
        for name, count, said in ((int4, 1, "3, **missed**"), (int4, 4, ""), (int4, 16, "0.5, met"), (float8, 1, ""), (float8, 128, "0.5, met")):
            self.assertEqual(times_float(1, name, count), said)
        for name, mib, said in (("int8", 41, "0.4, **missed**"), (int4, 31, "0.3, **missed**"), (int4, 30, "0.3, met"), (float8, 39, "")):
            self.assertEqual(rows(self.tables(name, mib=(100, 100, mib)), "resident")[0][6], said)


    def test_convolutions(self):
        some = weights.all_convolutions()
        self.assertEqual(len({one.name for one in some}), len(some))
        self.assertEqual(weights.Convolution(96, 96, (3, 3), (56, 56), 2, group=96).name, "Conv of 3 x 3 taps, depthwise, 96 channels, 56 x 56, stride 2")
        self.assertEqual(weights.Convolution(8, 16, (3,), (9,), group=4).name, "Conv of 3 taps, 8 to 16 channels, 9, groups 4")
        times = dict(zip(weights.PEERS, (2e-3, 6e-3, 4e-3), strict=True))
        one = Measured("weights", "c", 1, {name: [value] for name, value in times.items()}, times, {"convolution": "c", "claimed": 0})
        self.assertEqual(rows(weights.tables([one]), "one thread"), [["c", "2.00", "6.00", "4.00", "0.50", "1.50, left"]])


class Large(unittest.TestCase):
    def test_cells(self):
        one = Measured("large", "a product", 1, {RUNTIME: [0.164], PROVIDER: [0.122]}, facts={"mib": {RUNTIME: [64, 128], PROVIDER: [65, 129]}})
        self.assertEqual(rows(large.tables([one]), "model"), [["a product", "164 / 122", "64 / 65", "128 / 129"]])


class ComputedScales(unittest.TestCase):
    def test_beside_libraries(self):
        times = {"dynquant": [2e-6, 1e-6, 1e-6], RUNTIME: [4e-6, 8e-6, 3e-6]}
        one = Measured("dynamic", "a case", 1, times, {"dynquant": 5e-7, RUNTIME: 3e-6}, {"elements": 65536})
        self.assertEqual(rows(dynamic.tables([one]), "one thread"), [["a case", "dynquant", "1.00", "0.50", "65.5", ""],
                                                                     ["", RUNTIME, "4.00", "3.00", "16.4", "3.0 (2.0 to 8.0)"]])  # fmt: skip

    def test_shares_of_the_flat_loop(self):
        some = [Measured("shares", isa, 1, {}, {"dynquant": own, "flat": 4e-7}, {"name": "a absmax f32:f32:undef:s8", "isa": isa, "elements": 4000})
                for isa, own in (("avx512", 1.6e-6), ("avx2", 4e-6))]  # fmt: skip
        lines = shares.tables(some)["shares 1"]
        self.assertEqual(lines[0], "| one thread | rule | types | avx512, us | Gelem/s | of flat | avx2, us | Gelem/s | of flat |")
        self.assertEqual(lines[2], "| a | absmax | f32:f32:undef:s8 | 1.60 | 2.50 | 25 % | 4.00 | 1.00 | 10 % |")


class Embeddings(unittest.TestCase):
    YAML = "categories:\n- conversations\nconversations:\n- - What is a quantized layer?\n  - 'It''s a layer\n    of \"bytes\".'\n- - \"How do you do it?\"\n  - One two three four\n"

    def measured(self, name=embeddings.PER_ROW, to_float=(0.5, 1.0), to_alone=(1.0, 1.0), differing=0, alone=(1e-3,), batched=(2e-3,)):
        of = {"to float": embeddings.summary(to_float), "kept": 0.9651, "to alone": embeddings.summary(to_alone), "texts": len(to_alone), "differing": differing}
        times = {embeddings.ALONE: list(alone), embeddings.BATCHED: list(batched)}
        return Measured("embeddings", name, 1, times, {key: min(some) for key, some in times.items()}, of)

    def test_sentences(self):
        expected = ["What is a quantized layer?", 'It\'s a layer of "bytes".', "How do you do it?"]
        self.assertEqual(items(self.YAML), [*expected, "One two three four"])
        found = sentences([self.YAML, "conversations:\n- - How do you do it?\n  - Où est-ce que tu vas\n"], 9)
        self.assertEqual((len(found), set(found)), (3, set(expected)))  # distinct ones of five words of ASCII

    def test_tokens_are_the_longest_pieces(self):
        tokens = Tokenizer("\n".join(["[UNK]", "[CLS]", "[SEP]", "qu", "quant", "##ize", "##i", "##z", "?", "the", "##x"]))
        self.assertEqual(tokens("The quantize?"), [1, 9, 4, 5, 8, 2])
        self.assertEqual(tokens("quiz thex qua the"), [1, 3, 6, 7, 9, 10, 0, 9, 2])

    def test_cosines_are_rounded_down_and_only_equal_ones_are_1(self):
        some = [self.measured(to_float=(0.999999, 1.0), to_alone=(0.5, 0.75), differing=2), self.measured(), self.measured(to_alone=(1.0, 1 - 2**-52))]
        found = [row[1:] for row in rows(embeddings.tables(some), "one thread")]
        self.assertEqual(found[0], ["0.99999", "0.99999", "96.5 %", "0.50000", "0.62500", "2 of 2", "1.00 (1.00)", "2.00 (2.00)"])
        self.assertEqual([found[1][3:6], found[2][3:5]], [["1", "1", "0 of 2"], ["0.99999", "0.99999"]])

    def test_what_rows_cost_is_the_median_of_neighbouring_turns(self):
        # By row 1, 2 and 4 times the time alone, and half of it in batches.
        some = [self.measured(embeddings.PER_TENSOR, alone=(4e-3, 2e-3, 1e-3)), self.measured(alone=(4e-3,) * 3, batched=(1e-3,))]
        self.assertIn("takes 2.00 of the time of per_tensor alone and 0.50 in batches.", embeddings.tables(some)["embeddings 1 ratio"][0])


class Networks(unittest.TestCase):
    def timed(self, variant="int8", threads=1, runtime=(4e-3,), provider=(1e-3,), network="net", kind="CNN", float_model=(2e-3,)):
        times = {} if variant == "float" else {networks.FLOAT_MODEL: list(float_model)}
        of = {"network": network, "variant": variant, "kind": kind, "differs": 0.00123}
        return Measured("networks", f"{network}, {variant}", threads, times | {RUNTIME: list(runtime), PROVIDER: list(provider)}, facts=of)

    def spent(self, network="net", variant="int8", claimed=3, eligible=4, operators=None, times=6.0):
        of = {"network": network, "variant": variant, "claimed": claimed, "eligible": eligible, "operators": operators or {PROVIDER: 1.0}}
        return Measured("networks", f"{network} time", 1, facts={**of, "times the nodes": times})

    def goal(self, text, *some):
        """What is asked for, what was measured, and the outcome."""
        return next(row for row in rows(networks.tables(list(some)), "one thread | goal") if row[0] == text)[1:]

    def test_latency(self):
        # 8, 2 and 3 times as fast as ONNX Runtime, and 2, 1 and 4 times as fast as the float model.
        one = self.timed(runtime=(8e-3, 2e-3, 6e-3), provider=(1e-3, 1e-3, 2e-3), float_model=(2e-3, 1e-3, 8e-3))
        expected = ["net", "int8", "2.00", "6.00", "1.00", "3.0 (2.0 to 8.0)", "2.0 (1.0 to 4.0)", "0.1 %"]
        self.assertEqual(rows(networks.tables([one]), "one thread, ms"), [expected])
        float_row = rows(networks.tables([self.timed("float")]), "one thread, ms")[0]
        self.assertEqual(float_row[2:7], ["", "4.00", "1.00", "4.0 (4.0 to 4.0)", ""])

    def test_goals(self):
        text, some = "dynamic CNNs, times ONNX Runtime", (self.timed(), self.timed(network="other"))
        self.assertEqual(self.goal(text, *some), ["3", "4.00 (4.00 to 4.00)", "met"])
        slow = self.timed("uint8", provider=(2e-3,)), self.timed(provider=(2.5e-3,), network="slow"), self.timed("uint8", provider=(4e-3,), network="slow")
        self.assertEqual(self.goal(text, *some, *slow), ["3", "2.00 (1.00 to 4.00)", "**missed** by net: uint8 2.00; slow: int8 1.60, uint8 1.00"])
        for text, least, variant, kind in (("dynamic transformers", "1.1", "int8", "transformer"), ("static models", "0.98", "static", "CNN"),
                                           ("float models", "0.98", "float", "transformer")):  # fmt: skip
            for provider, outcome in ((4e-3 / 1.11, "met"), (4e-3 / 0.97, f"**missed** by net: {variant} 0.97")):
                found = self.goal(text + ", times ONNX Runtime", self.timed(variant, kind=kind, provider=(provider,)))
                self.assertEqual((found[0], found[2]), (least, outcome))
        self.assertEqual(networks.tables([self.timed(threads=2)])["networks goals"], [])
        some = self.spent("a"), self.spent("b", "uint8", times=4.0)
        self.assertEqual(self.goal("claimed layers, times the nodes they replace", *some), ["5", "5.00 (4.00 to 6.00)", "**missed** by b: uint8 4.00"])

    def test_the_cost_of_a_node(self):
        text = "the smallest claimed layer over its nodes in ONNX Runtime, ns"
        for claimed, outcome in (([1.298e-6, 9e-6, 1e-6], ["at most 300", "298", "met"]), ([1.302e-6], ["at most 300", "302", "**missed**"])):
            one = Measured("networks", networks.NODE_COST, 1, {networks.CLAIMED: claimed, networks.FUSED: [1e-6], networks.PLAIN: [2e-7]})
            self.assertEqual(self.goal(text, one), outcome)
        self.assertEqual([row[1] for row in rows(networks.tables([one]), "one thread | ns")], ["1302 (1302 to 1302)", "1000 (1000 to 1000)", "200 (200 to 200)"])

    def test_what_time_is_left_and_memory(self):
        one = self.spent(claimed=61, eligible=62, operators={"Add": 0.02, PROVIDER: 0.5, "Mul": 0.3, "Relu": 0.01, "Resize": 0.17})
        expected = ["net", "int8", "61 of 62", "50 %", "Mul 30 %, Resize 17 %, Add 2 %", "6.0"]
        self.assertEqual(rows(networks.tables([one]), "one thread | weights"), [expected])
        nothing = self.spent(claimed=0, eligible=2, operators={"Add": 1.0}, times=0)
        self.assertEqual(rows(networks.tables([nothing]), "one thread | weights"), [["net", "int8", "0 of 2", "0 %", "Add 100 %", ""]])
        of = {"network": "net", "variant": "int8", "mib": {RUNTIME: 1, PROVIDER: 1.5}}
        one = Measured("networks", "net, creation", 1, {RUNTIME: [0.01], PROVIDER: [0.0234]}, facts=of)
        self.assertEqual(rows(networks.tables([one]), "a session"), [["net", "int8", "10.0", "23.4", "1.00", "1.50"]])

    def test_convolutions(self):
        some = [Measured("convolutions", "3 x 3", 1, {RUNTIME: [9e-3], PROVIDER: [3e-4], "oneDNN": [2e-4]}, facts={"products": 10**7}),
                Measured("convolutions", "product", 1, {"oneDNN": [1e-3]}, facts={"products": 10**8})]  # fmt: skip
        expected = [["3 x 3", "9000", "300", "200", "50.0", "50 %"], ["product", "", "", "1000", "100", "100 %"]]
        self.assertEqual(rows(convolutions.tables(some), "one processor"), expected)


class Page(unittest.TestCase):
    def test_tables_take_the_place_of_those_below_their_names(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("<!-- measure: a 1 -->\n| old |\n|---|\n\ntext | more\n\n<!-- measure: a 2 -->\n| stays |\n")
            write_tables(page, {"a 1": ["| new |", "|---|", "| 1 |", ""], "a 3": ["| nowhere |", ""]})
            self.assertEqual(page.read_text(), "<!-- measure: a 1 -->\n| new |\n|---|\n| 1 |\n\ntext | more\n\n<!-- measure: a 2 -->\n| stays |\n")

    def test_a_table_of_one_processor_is_named_after_it(self):
        one = Measured("networks", "net, float", 2, {RUNTIME: [1e-3], PROVIDER: [1e-3]}, facts={"network": "net", "variant": "float", "kind": "CNN", "differs": 0})
        processors = Processor("One"), Processor("Other")
        for p in processors:
            p.add(one)
        self.assertEqual(set(named_tables(networks, "networks", processors)), {f"{p.name}, networks {table}" for p in processors for table in ("goals", "2")})

    def test_the_pages_have_the_saved_figures(self):
        processors = [Processor.load(path) for path in sorted(FIGURES.glob("*.jsonl"))]
        with tempfile.TemporaryDirectory() as folder:
            for name, suite in (("core", core), ("exactness", exactness), ("networks", networks), ("transformers", transformers),
                                ("embeddings", embeddings), ("nodes", nodes)):  # fmt: skip
                text = (FIGURES.parent / suite.PAGE).read_text()
                page = pathlib.Path(folder, "page.md")
                page.write_text(text)
                write_tables(page, named_tables(suite, name, [p for p in processors if p.of(name)]))
                self.assertEqual(page.read_text(), text, name)


if __name__ == "__main__":
    unittest.main()
