// Quantizes .npy files: a float32 tensor becomes 8-bit integers, scales and zero points, by the ops DynamicQuantize and
// DynamicDequantize of a oneDNN Graph program.
//
// Start at quantize_file(): parameters.hpp derives scales and zero points, round_trip.hpp is the graph, measure.hpp
// times it, report.hpp prints the results.
#include <bit>
#include <cmath>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <set>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "command_line/new_files.hpp"
#include "command_line/run.hpp"
#include "report.hpp"

namespace example {
namespace {

namespace fs = std::filesystem;

struct arguments {
    std::vector<fs::path> files;
    std::optional<std::int64_t> axis;
    bool per_tensor = false;
    std::string dtype = "u8";
    fs::path output = ".";
};

statement statement_of(const npy::tensor<float> &tensor, const arguments &given) {
    const auto rank = std::ssize(tensor.dims);
    statement s {tensor.dims, tensor.strides, given.dtype == "u8" ? data_type::u8 : data_type::s8, {}};
    if (!given.per_tensor && (rank > 0 || given.axis)) s.axis = given.axis.value_or(-1);
    if (s.axis && (*s.axis < -rank || *s.axis >= rank))
        throw std::runtime_error("--axis=" + std::to_string(*s.axis)
                + (rank == 0 ? ": expected --per-tensor for a tensor of no dims"
                             : ": expected " + std::to_string(-rank) + " to " + std::to_string(rank - 1)
                                        + " for a tensor of " + std::to_string(rank) + " dims"));
    return s;
}

/// The tensors that the graph writes.
struct results {
    explicit results(std::int64_t volume)
        : integers(static_cast<std::size_t>(volume))
        , restored(integers.size()) {}

    buffers with(const npy::tensor<float> &tensor, const parameters &p) {
        return {tensor.data.get(), p.scales.data(), p.zps.data(), integers.data(), restored.data()};
    }

    std::vector<std::uint8_t> integers; // u8, or s8 as bytes
    std::vector<float> restored;
};

measurement measure_dynquant(const statement &s, const buffers &memory, op_id op) {
    auto result = measure<dynquant_graph>(s, memory, op);
    if (!result.refusal.empty()) throw std::runtime_error(result.refusal);
    return result;
}

std::int64_t count_differing(const std::vector<std::uint8_t> &a, const std::vector<std::uint8_t> &b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        count += a[i] != b[i];
    return count;
}

/// Elements are equal if their bits are, or if both are NaN.
std::int64_t count_differing(const std::vector<float> &a, const std::vector<float> &b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])
                && !(std::isnan(a[i]) && std::isnan(b[i]));
    return count;
}

/// Runs the two ops on plain oneDNN Graph, with the inputs of dynquant's.
std::array<peer_result, 2> measure_onednn(const report &r, const results &own) {
    results peer(r.tensor.volume);
    const auto memory = peer.with(r.tensor, r.derived);
    peer_result quantize {measure<onednn_graph>(r.requested, memory, op_id::quantize)};
    quantize.differing = count_differing(peer.integers, own.integers);
    peer.integers = own.integers;
    peer_result dequantize {measure<onednn_graph>(r.requested, memory, op_id::dequantize)};
    dequantize.differing = count_differing(peer.restored, own.restored);
    return {quantize, dequantize};
}

/// The quality with one scale and one zero point for all channels.
quality per_tensor_quality(statement s, const npy::tensor<float> &tensor) {
    s.axis.reset();
    const auto derived = derive(s, tensor.data.get());
    results result(tensor.volume);
    const auto memory = result.with(tensor, derived);
    for (const auto op : {op_id::quantize, op_id::dequantize}) {
        round_trip<dynquant_graph> graph(s, memory);
        graph.compile(op);
        graph.execute(op);
    }
    return compare(s, tensor.data.get(), result.restored.data(), derived.scales);
}

std::array<std::string, 3> write(const report &r, const results &result, const arguments &given) {
    const auto &s = r.requested;
    const auto name = (given.output / fs::path(r.file).stem()).string() + "." + given.dtype;
    std::array names {name + ".npy", name + ".scales.npy", name + ".zps.npy"};
    command_line::new_files files;
    const auto *integers = result.integers.data();
    const bool columns_first = r.tensor.fortran_order;
    files.write(names[0],
            s.integers == data_type::u8
                    ? npy::bytes_of(integers, s.dims, columns_first)
                    : npy::bytes_of(reinterpret_cast<const std::int8_t *>(integers), s.dims, columns_first));
    files.write(names[1], npy::bytes_of(r.derived.scales.data(), {s.channels()}, false));
    files.write(names[2], npy::bytes_of(r.derived.zps.data(), {s.channels()}, false));
    files.commit();
    return names;
}

void quantize_file(const fs::path &file, const arguments &given) {
    report r;
    r.file = file.string();
    r.tensor = npy::read<float>(file);
    r.requested = statement_of(r.tensor, given);
    r.derived = derive(r.requested, r.tensor.data.get());
    results result(r.tensor.volume);
    const auto memory = result.with(r.tensor, r.derived);
    r.ops[0] = measure_dynquant(r.requested, memory, op_id::quantize);
    r.ops[1] = measure_dynquant(r.requested, memory, op_id::dequantize);
    r.written = write(r, result, given);
    r.reached = compare(r.requested, r.tensor.data.get(), result.restored.data(), r.derived.scales);
    if (r.requested.axis) r.per_tensor = per_tensor_quality(r.requested, r.tensor);
    r.peer = measure_onednn(r, result);
    print(r);
}

int quantize_files(const arguments &given) {
    std::set<fs::path> stems;
    for (const auto &file : given.files)
        if (!stems.insert(file.stem()).second)
            throw command_line::usage_error(
                    "two files are called " + file.stem().string() + "; their results would have the same names");
    int status = command_line::success;
    const auto fail = [&](const fs::path &file, const char *what) { // and go on with the next
        command_line::print_error("quantize_npy", (file.string() + ": " + what).c_str());
        status = command_line::failure;
    };
    for (const auto &file : given.files) {
        try {
            quantize_file(file, given);
        } catch (const std::bad_alloc &) {
            fail(file, "not enough memory");
        } catch (const std::exception &e) {
            fail(file, e.what());
        }
    }
    return status;
}

int main(int argc, char **argv) {
    arguments given;
    CLI::App app("Quantizes float32 .npy files to 8-bit integers with scales and zero points (zps).\n"
                 "Writes NAME.u8.npy, NAME.u8.scales.npy and NAME.u8.zps.npy; with --dtype=s8, s8 in each name.");
    app.add_option("FILE", given.files, ".npy files of float32, in C or Fortran order")->required();
    auto *axis = app.add_option("--axis", given.axis, "Per channel along this axis, -1 being the last. Default: -1");
    app.add_flag("--per-tensor", given.per_tensor, "One scale and one zp for all")->excludes(axis);
    app.add_option("--dtype", given.dtype, "Integer type. Default: u8")->check(CLI::IsMember({"u8", "s8"}));
    app.add_option("--output", given.output, "Folder for the results. Default: the current one");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        std::cout << app.help();
        return command_line::success;
    } catch (const CLI::ParseError &e) {
        throw command_line::usage_error(std::string(e.what()) + " (--help tells the usage)");
    }
    return quantize_files(given);
}

} // namespace
} // namespace example

int main(int argc, char **argv) {
    return command_line::run("quantize_npy", example::main, argc, argv);
}
