// Runs one inner loop of dynquant, or one call, for `check` to count its instructions.
// usage: run_loop              prints the compiler of dynquant, the instruction sets and the loops
//        run_loop LOOP ISA     runs the loop, and prints the number and kind of its units
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <dynquant/graph.hpp>

#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "quantization/environment.hpp"

// callgrind counts everything below this function, which `check` names to it.
extern "C" [[gnu::noinline]] void counted(const std::function<void()> &body, int times) {
    for (int i = 0; i < times; ++i)
        body();
}

namespace {

using namespace dynquant;

// ---- Statements ------------------------------------------------------------------------------------

// Long enough for arithmetic to dominate, and short enough for one thread and cached stores.
constexpr std::int64_t elements = 64 * 1024;

const dims one_row = {elements};
const dims channels_last = {64, 1024}; // a parameter for each column
const dims rows_of_8 = {64, 128, 8};   // channels in the middle
const dims rows_of_49 = {1337, 49};    // the channels of 7x7 images
const dims tokens = {16, 4096};

std::int64_t volume(const dims &shape) {
    std::int64_t result = 1;
    for (const auto extent : shape)
        result *= extent;
    return result;
}

/// The number of parameters. Blocks divide the dims.
std::int64_t parameter_count(const quantization &q) {
    return volume(q.src.dims) / volume(q.scales.block);
}

quantization statement(direction dir, data_type integers, const dims &shape, const dims &block) {
    const bool quantizing = dir == direction::quantize;
    quantization q;
    q.dir = dir;
    q.src = {quantizing ? data_type::f32 : integers, shape, {}};
    q.dst = {quantizing ? integers : data_type::f32, shape, {}};
    q.scales = {data_type::f32, block};
    q.zero_points = {integers, block};
    return q;
}

quantization quantize(data_type integers, const dims &shape, const dims &block) {
    return statement(direction::quantize, integers, shape, block);
}

quantization quantize_any(data_type integers, const dims &shape, const dims &block) {
    auto q = quantize(integers, shape, block);
    q.rule = numerics::any;
    return q;
}

quantization dequantize(data_type integers, const dims &shape, const dims &block) {
    return statement(direction::dequantize, integers, shape, block);
}

/// Computes a scale for each block.
quantization computed(data_type reals, const dims &shape, const dims &block) {
    quantization q;
    q.src = {reals, shape, {}};
    q.dst = {data_type::s8, shape, {}};
    q.scales = {data_type::f32, block};
    q.rule = numerics::onnx;
    q.computed = scale_rule {};
    return q;
}

/// Groups of 128 with zero points.
quantization computed_u4(data_type reals, const dims &shape) {
    auto q = computed(reals, shape, {1, 128});
    q.dst.type = data_type::u4;
    q.zero_points = {data_type::u4, q.scales.block};
    q.computed->range = scale_range::minmax;
    return q;
}

/// OCP MX in blocks of 32.
quantization computed_mx(data_type reals, const dims &shape) {
    auto q = computed(reals, shape, {1, 32});
    q.dst.type = data_type::f8_e4m3;
    q.scales.type = data_type::f8_e8m0;
    q.computed = presets::mx();
    q.saturate = true;
    return q;
}

/// The tensors of a statement. Integers of narrow types are bytes. Reals exceed both ends of dst's range.
struct buffers {
    explicit buffers(const quantization &q) {
        const auto count = static_cast<std::size_t>(volume(q.src.dims));
        for (std::size_t i = 0; i < count; ++i) {
            reals.push_back(0.006F * static_cast<float>(i % 1009) - 3);
            bfloats.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(reals.back()) >> 16));
            integers.push_back(static_cast<std::uint8_t>(i));
        }
        for (std::int64_t i = 0; i < parameter_count(q); ++i) {
            scales.push_back(0.017F + 0.001F * static_cast<float>(i % 7));
            zero_points.push_back(static_cast<std::uint8_t>(1 + i % 100));
        }
    }

    arguments of(const quantization &q) {
        if (q.dir == direction::quantize) {
            const void *const src = q.src.type == data_type::bf16 ? static_cast<void *>(bfloats.data()) : reals.data();
            return {src, scales.data(), zero_points.data(), integers.data(), nullptr, scales.data(),
                    zero_points.data()};
        }
        return {integers.data(), scales.data(), zero_points.data(), reals.data()};
    }

    std::vector<float> reals, scales;
    std::vector<std::uint8_t> integers, zero_points;
    std::vector<std::uint16_t> bfloats;
};

// ---- Through the direct API ------------------------------------------------------------------------

std::function<void()> direct(const quantization &q) {
    return [b = buffers(q), op = prepare(q, {.threads = 1}), q]() mutable { op.run(b.of(q)); };
}

// ---- Through the graph API -------------------------------------------------------------------------

namespace dg = dynquant::graph;

/// One DynamicQuantize, per tensor, with its tensors.
class graph_call {
  public:
    explicit graph_call(const quantization &q)
        : buffers_(q) {
        using dg::logical_tensor, dg::op;
        using type = logical_tensor::data_type;
        const auto dense = logical_tensor::layout_type::strided;
        const logical_tensor src(0, type::f32, q.src.dims, dense), scales(1, type::f32, dims {1}, dense);
        const logical_tensor zps(2, type::u8, dims {1}, dense), dst(3, type::u8, q.dst.dims, dense);
        dg::graph graph(dg::engine::kind::cpu);
        graph.add_op(op(0, op::kind::DynamicQuantize, {src, scales, zps}, {dst}, "quantize"));
        graph.finalize();
        compiled_ = graph.get_partitions().front().compile({src, scales, zps}, {dst}, cpu_);
        inputs_ = {{src, cpu_, buffers_.reals.data()}, {scales, cpu_, buffers_.scales.data()},
                {zps, cpu_, buffers_.zero_points.data()}};
        outputs_ = {{dst, cpu_, buffers_.integers.data()}};
    }
    graph_call(const graph_call &) = delete;
    graph_call &operator=(const graph_call &) = delete;

    void execute() { compiled_.execute(stream_, inputs_, outputs_); }

  private:
    buffers buffers_;
    dg::engine cpu_ {dg::engine::kind::cpu, 0};
    dg::stream stream_ {cpu_};
    dg::compiled_partition compiled_;
    std::vector<dg::tensor> inputs_, outputs_;
};

std::function<void()> through_graph(const quantization &q) {
    return [call = std::make_shared<graph_call>(q)] { call->execute(); };
}

// ---- Products whose x is quantized in blocks -------------------------------------------------------

constexpr std::int64_t inner = 512, columns = 128; // of whole panels

/// Blocks of 32 rows of weights, with a zero point each.
class block_call {
  public:
    block_call(data_type weights, std::int64_t rows)
        : x_(static_cast<std::size_t>(rows * inner))
        , y_(static_cast<std::size_t>(rows * columns))
        , rows_(rows) {
        std::vector<std::byte> data(inner * columns);
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = static_cast<std::byte>(i * 37);
        for (std::size_t i = 0; i < x_.size(); ++i)
            x_[i] = 0.006F * static_cast<float>(i % 1009) - 3;
        layers::weight_only_weights w {weights, inner, columns, data.data(), true, 32, {}, {}, columns};
        for (int i = 0; i < inner / 32 * columns; ++i) {
            w.scales.push_back(0.017F + 0.001F * static_cast<float>(i % 7));
            w.zero_points.push_back(1 + i % 15);
        }
        w.quantizes_x = true;
        product_ = std::make_unique<layers::weight_only_product>(w, environment::usable_features());
    }
    void run() { product_->run({x_.data(), rows_, inner}, y_.data(), columns, memory_); }

  private:
    std::vector<float> x_, y_;
    std::int64_t rows_;
    std::unique_ptr<layers::weight_only_product> product_;
    layers::weight_only_workspace memory_;
};

// ---- The loops -------------------------------------------------------------------------------------

struct loop {
    std::string name;
    std::function<std::function<void()>()> prepare;
    int times;
    std::int64_t units; // in all runs together
    std::string unit;
};

loop elements_of(const std::string &name, const quantization &q) {
    return {name, [q] { return direct(q); }, 1, volume(q.src.dims), "element"};
}

/// A call of 256 elements costs more than their arithmetic.
loop calls_of(const std::string &name, std::function<void()> (*prepare)(const quantization &)) {
    const dims few = {256};
    constexpr int times = 100;
    return {name, [=] { return prepare(quantize(data_type::u8, few, per_tensor(few))); }, times, times, "call"};
}

loop products_of(const std::string &name, data_type weights, std::int64_t rows) {
    const auto prepare = [=] { return [call = std::make_shared<block_call>(weights, rows)] { call->run(); }; };
    return {name, prepare, 1, rows * inner * columns, "product"};
}

std::vector<loop> all_loops() {
    using enum data_type;
    const dims whole = per_tensor(one_row), columns = per_channel(channels_last, 1), rows = per_channel(rows_of_8, 1);
    return {
            elements_of("quantize_s8", quantize(s8, one_row, whole)),
            elements_of("quantize_u8", quantize(u8, one_row, whole)),
            elements_of("quantize_any_u8", quantize_any(u8, one_row, whole)),
            elements_of("quantize_u8_channels_last", quantize(u8, channels_last, columns)),
            elements_of("quantize_u8_rows_of_8", quantize(u8, rows_of_8, rows)),
            elements_of("quantize_u8_rows_of_49", quantize(u8, rows_of_49, per_channel(rows_of_49, 0))),
            elements_of("dequantize_s8", dequantize(s8, one_row, whole)),
            elements_of("dequantize_s8_channels_last", dequantize(s8, channels_last, columns)),
            elements_of("dequantize_s8_rows_of_8", dequantize(s8, rows_of_8, rows)),
            elements_of("computed_s8_tokens", computed(f32, tokens, {1, 4096})),
            elements_of("computed_s8_tokens_bf16", computed(bf16, tokens, {1, 4096})),
            elements_of("computed_s8_groups_of_32", computed(f32, tokens, {1, 32})),
            elements_of("computed_s8_groups_of_32_bf16", computed(bf16, tokens, {1, 32})),
            elements_of("computed_u4_groups_of_128_bf16", computed_u4(bf16, tokens)),
            elements_of("computed_s8_columns", computed(f32, channels_last, columns)),
            elements_of("computed_f8_e4m3_mx", computed_mx(f32, tokens)),
            elements_of("computed_f8_e4m3_mx_bf16", computed_mx(bf16, tokens)),
            products_of("blocks_u4_row", u4, 1),
            products_of("blocks_u4_12_rows", u4, 12),
            products_of("blocks_u8_row", u8, 1),
            products_of("blocks_u8_12_rows", u8, 12),
            calls_of("direct_call_of_256", direct),
            calls_of("graph_call_of_256", through_graph),
    };
}

// ---- The program -----------------------------------------------------------------------------------

std::string isa_names() {
    std::string names;
    for (const auto value : {isa::scalar, isa::avx2, isa::avx512}) { // those that a cap leaves as they are
        setenv("DYNQUANT_MAX_ISA", to_string(value), 1);
        if (best_isa() == value) names += std::string(" ") + to_string(value);
    }
    return names;
}

std::string loop_names() {
    std::string names;
    for (const auto &l : all_loops())
        names += " " + l.name;
    return names;
}

void run(const std::string &name, const std::string &isa_name) {
    const auto available = isa_names();
    setenv("DYNQUANT_MAX_ISA", isa_name.c_str(), 1);
    if (to_string(best_isa()) != isa_name)
        throw std::runtime_error("ISA: expected one of" + available + ", given " + isa_name);
    const auto loops = all_loops();
    const auto found = std::find_if(loops.begin(), loops.end(), [&](const loop &l) { return l.name == name; });
    if (found == loops.end()) throw std::runtime_error("LOOP: expected one of" + loop_names() + ", given " + name);
    const auto body = found->prepare();
    body(); // warm-up, such as binding symbols
    counted(body, found->times);
    std::cout << found->units << ' ' << found->unit << '\n';
}

} // namespace

int main(int count, char **arguments) {
    try {
        if (count == 3)
            run(arguments[1], arguments[2]);
        else if (count == 1)
            std::cout << "compiler: " COMPILER "\nisas:" << isa_names() << "\nloops:" << loop_names() << '\n';
        else
            throw std::runtime_error("expected nothing or LOOP ISA, given " + std::to_string(count - 1) + " arguments");
    } catch (const std::exception &e) {
        std::cerr << "run_loop: " << e.what() << '\n';
        return 1;
    }
}
