#include "layers/command.hpp"

#include <cmath>
#include <cstdio>
#include <future>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>

#include "arena.hpp"
#include "command_line/run.hpp"
#include "environment.hpp"
#include "json_graph/read.hpp"
#include "json_graph/rewrite.hpp"
#include "layers/chain_program.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "timing.hpp"

namespace dqbench::layers {
namespace {

using command_line::usage_error;
using dynquant::concat;

constexpr const char *introduction =
        R"(Runs oneDNN Graphs in JSON that are a chain around one MatMul or Convolution: Dequantize or DynamicDequantize of
both sides, with or without Quantize before them, then the product, post-ops, and perhaps Quantize; or of MatMul's
weights alone, also of 4 bits and by groups. Each runs by dynquant::graph, whose
layers must give what exact integers and then f32 give, bit for bit. Where oneDNN keeps the chain, as dynquant::graph
leaves it what it fuses, the results must be within the bound that f32's roundings have in any order.)";

constexpr const char *closing =
        R"(A performance line has the least and the median milliseconds of rounds in which all take their turn:
dynquant::graph; onednn, the same graph on oneDNN; static, the same graph on oneDNN with Dequantize and Quantize in
place of the dynamic ops, their scales as attributes, which oneDNN fuses. Ratios are of the least times, to dynquant's.
oneDNN's cache of constant tensors is on. A static graph that oneDNN would compute with the first of several zps is not
measured.
States: PASSED; COMPARED, where oneDNN keeps the chain and is beyond the bound, which is no failure of dynquant's;
FAILED; MISTRUSTED, where most results are saturated or zero; SKIPPED, where the graph is not such a chain, with the
reason. Inputs are row-major, whatever strides the file has. Exit status: 0; 1 where a result is wrong or a graph is
refused; 2 for a wrong command line or file.)";

/// What --table measures. products: a linear layer's, square ones, and single rows. convolutions: those of ResNet-50,
/// one of each kind, in both data formats; auto_pad is SAME_UPPER. weights: products of floats by weights of s8, and of
/// u4 in groups of 128 rows and of 128 columns.
struct table {
    const char *name;
    std::vector<std::pair<const char *, const char *>> shapes; // of a graph
};
const table tables[] = {{"products",
                                {{"layers/dynamic_matmul.json",
                                        "0:128x768+4:768x768,0:128x768+4:768x3072,0:1024x1024+4:1024x1024,"
                                        "0:1x768+4:768x768,0:1x4096+4:4096x4096"}}},
        {"convolutions",
                {{"layers/dynamic_convolution_nxc.json",
                         "0:1x56x56x64+4:1x1x64x64,0:1x56x56x64+4:3x3x64x64,0:1x56x56x64+4:1x1x64x256,"
                         "0:1x56x56x256+4:1x1x256x128,0:1x28x28x128+4:3x3x128x128,0:1x28x28x512+4:1x1x512x256,"
                         "0:1x14x14x256+4:3x3x256x256,0:1x14x14x256+4:1x1x256x1024,0:1x7x7x512+4:3x3x512x512,"
                         "0:1x7x7x2048+4:1x1x2048x512"},
                        {"layers/dynamic_convolution_nxc_2.json",
                                "0:1x224x224x3+4:7x7x3x64,0:1x56x56x128+4:3x3x128x128,0:1x56x56x256+4:1x1x256x512"},
                        {"layers/dynamic_convolution_ncx.json",
                                "0:1x64x56x56+4:64x64x1x1,0:1x64x56x56+4:64x64x3x3,0:1x64x56x56+4:256x64x1x1,"
                                "0:1x256x56x56+4:128x256x1x1,0:1x128x28x28+4:128x128x3x3,0:1x512x28x28+4:256x512x1x1,"
                                "0:1x256x14x14+4:256x256x3x3,0:1x256x14x14+4:1024x256x1x1,0:1x512x7x7+4:512x512x3x3,"
                                "0:1x2048x7x7+4:512x2048x1x1"},
                        {"layers/dynamic_convolution_ncx_2.json",
                                "0:1x3x224x224+4:64x3x7x7,0:1x128x56x56+4:128x128x3x3,"
                                "0:1x256x56x56+4:512x256x1x1"}}},
        {"weights",
                {{"layers/narrow_weights.json",
                         "0:1x2048+1:2048x2048,0:1x4096+1:4096x14336,0:16x2048+1:2048x2048,0:128x2048+1:2048x2048"},
                        {"layers/narrow_weights_u4.json",
                                "0:1x2048+1:2048x2048,0:1x4096+1:4096x14336,0:128x2048+1:2048x2048"},
                        {"layers/narrow_weights_u4_columns.json",
                                "0:1x2048+1:2048x2048,0:1x4096+1:4096x14336,0:128x2048+1:2048x2048"}}}};

struct choices {
    std::vector<std::string> files, weights;
    std::vector<int> threads;
    std::string mode = "C", in_shapes, op_attrs;
    double milliseconds = 1000;
    int rotated_mib = 0;
    std::int64_t amplitude = 127; // of what is measured
    std::string table;            // a name; empty: none
};

const table *find_table(const std::string &name) {
    const auto *const found = std::ranges::find(tables, name, &table::name);
    return found == std::end(tables) ? nullptr : found;
}

choices parse(int argc, char **argv, std::string &help) {
    choices given;
    CLI::App app(introduction, "dqbench layers");
    app.footer(closing);
    app.add_option("--case", given.files, "A graph in JSON; may be given several times");
    app.add_flag("--table{products}", given.table,
               "Measures the graphs of a table: products, the default, by weights constant and variable, by 1 and by 2 "
               "threads; weights, of floats by narrow weights, and convolutions, those of ResNet-50, by one thread")
            ->excludes("--case");
    app.add_option("--mode", given.mode, "C checks, P measures, CP does both; default C");
    app.add_option("--in-shapes", given.in_shapes,
            "ID:SHAPE[+...][,...]: new dims of inputs; shapes of what follows are inferred, as are scales and zps");
    app.add_option(
            "--op-attrs", given.op_attrs, "ID:NAME:VALUE[*NAME:VALUE][+...][,...]: new attributes of the four ops");
    app.add_option("--weights", given.weights, "The property of the weights: constant, variable; default: the file's")
            ->delimiter(',');
    app.add_option("--threads", given.threads, "Numbers of threads; default 0, all of the machine")->delimiter(',');
    app.add_option("--max-ms-per-prb", given.milliseconds, "How long a graph is measured; default 1000");
    app.add_option("--rotate-mib", given.rotated_mib,
            "Measures as many copies of the graph in turn as have inputs of this size; default 0, one");
    app.add_option("--amplitude", given.amplitude,
            "Measures integers at most so far from their zero points; default 127. With 60 no two products saturate");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &) {
        help = app.help();
    } catch (const CLI::ParseError &e) {
        throw usage_error(concat("layers: ", e.what()));
    }
    if (!given.table.empty()) {
        if (!find_table(given.table))
            throw usage_error(
                    concat("layers: --table: expected products, weights or convolutions, given '", given.table, "'"));
        given.mode = "P";
        if (given.weights.empty() && given.table != "convolutions") given.weights = {"constant", "variable"};
        if (given.threads.empty()) given.threads = given.table == "products" ? std::vector {1, 2} : std::vector {1};
    }
    if (given.files.empty() && given.table.empty() && help.empty())
        throw usage_error("layers: expected --case=FILE or --table, given neither");
    if (given.mode != "C" && given.mode != "P" && given.mode != "CP")
        throw usage_error(concat("layers: --mode: expected C, P or CP, given '", given.mode, "'"));
    for (const auto &each : given.weights)
        if (each != "constant" && each != "variable")
            throw usage_error(concat("layers: --weights: expected constant or variable, given '", each, "'"));
    for (const auto each : given.threads)
        if (each < 0) throw usage_error(concat("layers: --threads: expected a number from 0 on, given ", each));
    if (!(given.milliseconds > 0))
        throw usage_error(concat("layers: --max-ms-per-prb: expected more than 0, given ", given.milliseconds));
    if (given.rotated_mib < 0 || given.rotated_mib > 1 << 16)
        throw usage_error(concat("layers: --rotate-mib: expected 0 to 65536, given ", given.rotated_mib));
    if (given.amplitude < 1 || given.amplitude > 255)
        throw usage_error(concat("layers: --amplitude: expected 1 to 255, given ", given.amplitude));
    if (given.weights.empty()) given.weights = {""};
    if (given.threads.empty()) given.threads = {0};
    return given;
}

/// How many results are not as expected, and the first one.
struct differences {
    std::size_t count = 0, of = 0, informative = 0;
    std::string first;

    bool tell_enough() const { return 10 * informative >= of; }

    void add(const json_graph::tensor &t, std::size_t i, bool is_right, const auto &expected, const auto &got) {
        if (is_right) return;
        if (count++ == 0) first = concat("tensor ", t.id, " [", i, "] expected:", expected, " got:", got);
    }
};

/// by: the results, of tensor t.
void compare(const json_graph::tensor &t, const chain_graph::value &expected, const guarded_buffer &by, bool is_exact,
        differences &found) {
    if (t.type == "f32") {
        const auto *const got = by.as<float>();
        for (std::size_t i = 0; i < expected.reals.values.size(); ++i) {
            const auto right = expected.reals.values[i];
            const auto error = std::abs(static_cast<double>(got[i]) - static_cast<double>(right));
            const bool is_equal = std::isnan(right) ? std::isnan(got[i])
                                                    : got[i] == right && std::signbit(got[i]) == std::signbit(right);
            found.add(t, i, is_equal || (!is_exact && error <= expected.reals.bounds[i]), right, got[i]);
            found.informative += right != 0;
        }
        found.of += expected.reals.values.size();
        return;
    }
    const bool is_signed = t.type == "s8";
    for (std::size_t i = 0; i < expected.codes.values.size(); ++i) {
        const std::int64_t got =
                is_signed ? std::int64_t {by.as<std::int8_t>()[i]} : std::int64_t {by.as<std::uint8_t>()[i]};
        const auto right = expected.codes.values[i];
        const bool is_near = !is_exact && got >= expected.codes.least[i] && got <= expected.codes.most[i];
        found.add(t, i, got == right || is_near, right, got);
        found.informative += right != 0 && right != (is_signed ? -128 : 255) && right != 127;
    }
    found.of += expected.codes.values.size();
}

template <typename Api>
differences compare_all(const chain_graph &c, const std::map<std::uint64_t, chain_graph::value> &expected,
        chain_program<Api> &program, bool is_exact) {
    program.execute();
    differences found;
    for (const auto &t : c.outputs) {
        const auto &by = program.result(t.id);
        compare(t, expected.at(t.id), by, is_exact, found);
        if (by.guards_intact()) continue;
        if (found.count++ == 0) found.first = concat("bytes around tensor ", t.id, " were written");
    }
    return found;
}

std::string message_of(const dnnl::error &e) {
    return concat("status ", static_cast<int>(e.status), ": ", e.message);
}

/// A chain as often as its inputs fill some MiB, each with weights of its own: caches do not hold what a run takes.
template <typename Api>
class rotated final : public contestant {
  public:
    rotated(const chain_graph &c, const buffers &data, int mib) {
        std::size_t bytes = 1;
        for (const auto &t : c.inputs)
            bytes += data.at(t.id).size();
        const auto count = std::max<std::size_t>(1, (static_cast<std::size_t>(mib) * 1024 * 1024 + bytes - 1) / bytes);
        for (std::size_t i = 0; i < count; ++i) {
            data_.push_back(std::make_unique<buffers>(data));
            programs_.push_back(std::make_unique<chain_program<Api>>(c, *data_.back()));
            if (count > 1) programs_.back()->execute(); // constants are packed before anything is measured
        }
    }

    void execute() override { programs_[next_++ % programs_.size()]->execute(); }
    const computed_by &by() const { return programs_.front()->by(); }

  private:
    std::vector<std::unique_ptr<buffers>> data_;
    std::vector<std::unique_ptr<chain_program<Api>>> programs_;
    std::size_t next_ = 0;
};

/// Prints a line for each graph and keeps what came of it.
class runner {
  public:
    explicit runner(const choices &given)
        : given_(given) {}

    void run(const json_graph::graph &g, const std::string &weights, int threads) {
        const auto prefix = concat(count_++, ':');
        const auto suffix =
                concat(" __REPRO: layers --mode=", given_.mode, weights.empty() ? "" : concat(" --weights=", weights),
                        threads == 0 ? "" : concat(" --threads=", threads), ' ', g.arguments);
        try {
            chain_graph c(g);
            if (!weights.empty()) c.set_weights(weights);
            if (given_.mode != "P") in_arena(threads, [&] { check(c, prefix, suffix); });
            if (given_.mode != "C") in_arena(threads, [&] { measure_all(c, weights, threads); });
        } catch (const not_supported &e) {
            std::cout << prefix << "SKIPPED (not supported: " << e.what() << ')' << suffix << std::endl;
            ++counts_["SKIPPED"];
        } catch (const usage_error &e) { // an attribute's value
            std::cout << prefix << "SKIPPED (not supported: " << e.what() << ')' << suffix << std::endl;
            ++counts_["SKIPPED"];
        } catch (const dnnl::error &e) {
            std::cout << prefix << "FAILED (refused, " << message_of(e) << ')' << suffix << std::endl;
            ++counts_["FAILED"];
        }
    }

    bool print_summary() const {
        std::cout << "tests:" << count_;
        for (const auto &[state, name] : {std::pair {"PASSED", "passed"}, {"COMPARED", "compared"},
                     {"SKIPPED", "skipped"}, {"MISTRUSTED", "mistrusted"}, {"FAILED", "failed"}})
            std::cout << ' ' << name << ':' << (counts_.count(state) ? counts_.at(state) : 0);
        std::cout << std::endl;
        return counts_.count("FAILED") == 0;
    }

  private:
    void check(const chain_graph &c, const std::string &prefix, const std::string &suffix) {
        // The largest integers of which enough results tell anything: scales that a file gives may saturate.
        buffers data;
        std::map<std::uint64_t, chain_graph::value> expected;
        for (const auto amplitude : {255, 60, 15, 4, 1}) {
            data = c.draw(amplitude);
            expected = c.expected(data);
            if (share_of_informative(c, expected) >= 0.25) break;
        }
        chain_program<with_dynquant> program(c, data);
        const auto &by = program.by();
        const bool is_exact = by.is_exact && !c.has_float_x;
        const auto found = compare_all(c, expected, program, is_exact);
        // What oneDNN fuses stays its own, as do its errors.
        const char *state = found.count > 0 ? (by.is_layer ? "FAILED" : "COMPARED")
                : found.tell_enough()       ? "PASSED"
                                            : "MISTRUSTED";
        ++counts_[state];
        std::cout << prefix << state << " ("
                  << (by.is_layer ? concat("a layer of ", by.ops, " ops, ", by.isa)
                                  : concat("oneDNN, ", by.ops, " ops"))
                  << (is_exact ? ", bit for bit" : ", within the bound of f32");
        if (found.count > 0)
            std::cout << ", but " << found.count << " of " << found.of << " results are not; " << found.first;
        else if (!found.tell_enough())
            std::cout << ", but only " << found.informative << " of " << found.of << " results tell anything";
        std::cout << ')' << suffix << std::endl;
        check_peer("onednn", c, expected, data);
        try {
            check_peer("static", c.with_static_ops(data), expected, data);
        } catch (const not_supported &) { // measure_all says why
        }
    }

    static void check_peer(const char *name, const chain_graph &c,
            const std::map<std::uint64_t, chain_graph::value> &expected, buffers &data) {
        try {
            chain_program<with_onednn> peer(c, data);
            const auto far = compare_all(c, expected, peer, false), other = compare_all(c, expected, peer, true);
            std::cout << "    " << name << ": " << far.count << " of " << far.of << " results beyond the bound of f32, "
                      << other.count << " not bit for bit" << std::endl;
        } catch (const dnnl::error &e) {
            std::cout << "    " << name << ": refused, " << message_of(e) << std::endl;
        } catch (const std::future_error &e) { // of oneDNN 3.7's cache on ARM, for what it refused before
            std::cout << "    " << name << ": refused, " << e.what() << std::endl;
        }
    }

    static double share_of_informative(
            const chain_graph &c, const std::map<std::uint64_t, chain_graph::value> &expected) {
        differences found;
        for (const auto &t : c.outputs) {
            const auto &e = expected.at(t.id);
            guarded_buffer same(static_cast<std::int64_t>(4 * e.reals.values.size() + e.codes.values.size()));
            compare(t, e, same, false, found);
        }
        return found.of == 0 ? 1 : static_cast<double>(found.informative) / static_cast<double>(found.of);
    }

    void measure_all(const chain_graph &c, const std::string &weights, int threads) {
        dynquant::graph::set_constant_tensor_cache(1);
        const auto data = c.draw(given_.amplitude);
        rotated<with_dynquant> own(c, data, given_.rotated_mib);
        std::vector<contestant *> all {&own};
        std::optional<rotated<with_onednn>> same, fused;
        std::string why_not_same, why_not_fused;
        const auto add = [&](std::optional<rotated<with_onednn>> &to, std::string &why, const auto &make) {
            try {
                to.emplace(make(), data, given_.rotated_mib);
                to->execute(); // some graphs compile and then fail
                all.push_back(&*to);
            } catch (const not_supported &e) {
                to.reset();
                why = e.what();
            } catch (const dnnl::error &e) {
                to.reset();
                why = message_of(e);
            }
        };
        add(same, why_not_same, [&] { return c; });
        add(fused, why_not_fused, [&] { return c.with_static_ops(data); });
        const auto timings = measure(all, {0, given_.milliseconds});
        if (!has_header_)
            std::cout << "perf,graph,extents,weights,rotated_mib,threads,by,min_ms,median_ms,onednn:min_ms,"
                         "onednn:median_ms,onednn:ratio,static:min_ms,static:median_ms,static:ratio"
                      << std::endl;
        has_header_ = true;
        const auto &mine = timings.front();
        auto line = concat("perf,", std::filesystem::path(c.g.file).filename().string(), ',', c.extents(), ',',
                weights.empty() ? "as given" : weights, ',', given_.rotated_mib, ',', threads, ',',
                own.by().is_layer ? "layer" : "onednn", ',', number(mine.least), ',', number(mine.median));
        std::size_t next = 1;
        for (const bool is_there : {same.has_value(), fused.has_value()}) {
            if (!is_there) {
                line += ",,,";
                continue;
            }
            const auto &t = timings[next++];
            line += concat(',', number(t.least), ',', number(t.median), ',', number(t.least / mine.least));
        }
        std::cout << line << std::endl;
        if (!same) std::cout << "    onednn: refused, " << why_not_same << std::endl;
        if (!fused) std::cout << "    static: not measured, " << why_not_fused << std::endl;
        if (given_.mode == "P") ++counts_["PASSED"];
    }

    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.4g", value);
        return text;
    }

    const choices &given_;
    int count_ = 0;
    std::map<std::string, int> counts_; // by state
    bool has_header_ = false;
};

std::string find_file(const std::string &name, const std::vector<std::filesystem::path> &inputs) {
    std::error_code failure;
    if (std::filesystem::is_regular_file(name, failure)) return name;
    std::string tried;
    for (const auto &folder : inputs) {
        if (std::filesystem::is_regular_file(folder / name, failure)) return (folder / name).string();
        tried += concat(", nor ", (folder / name).string());
    }
    throw usage_error(concat("layers: --case: there is no file '", name, "'", tried));
}

} // namespace

int run(int argc, char **argv, const std::vector<std::filesystem::path> &inputs) {
    std::string help;
    const auto given = parse(argc, argv, help);
    if (!help.empty()) {
        std::cout << help;
        return command_line::success;
    }
    const auto take = [](const char *option, const auto &f) {
        try {
            f();
        } catch (const usage_error &e) {
            throw usage_error(concat("layers: ", option, ": ", e.what()));
        }
    };
    std::vector<json_graph::graph> graphs; // read before anything runs
    const auto read = [&](const std::string &name, const std::string &in_shapes) {
        json_graph::rewrites rewrites;
        if (!in_shapes.empty()) take("--in-shapes", [&] { rewrites.set("in-shapes", in_shapes); });
        if (!given.op_attrs.empty()) take("--op-attrs", [&] { rewrites.set("op-attrs", given.op_attrs); });
        constexpr bool links = false; // chain_graph infers what follows
        for (auto &g : rewrites.apply(json_graph::read_graph(find_file(name, inputs)), links)) {
            if (!g.notes.empty()) throw usage_error(g.notes.front());
            graphs.push_back(std::move(g));
        }
    };
    for (const auto &name : given.files)
        read(name, given.in_shapes);
    if (const auto *const all = find_table(given.table))
        for (const auto &[name, shapes] : all->shapes)
            read(name, shapes);
    runner r(given);
    for (const auto &g : graphs)
        for (const auto &weights : given.weights)
            for (const auto threads : given.threads)
                r.run(g, weights, threads);
    return r.print_summary() ? command_line::success : command_line::failure;
}

} // namespace dqbench::layers
