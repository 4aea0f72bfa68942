// Statements with given and with computed scales: every kernel and instruction set, for several numbers of threads, in
// buffers that end and begin at inaccessible pages, gives the bits of the oracle.
#include "support/random.hpp"
#include "target.hpp"

namespace {

using namespace dynquant;
using namespace dynquant::test;

void expect(const testing::AssertionResult &result) {
    fuzz::expect(result, result.message());
}

sample draw(random_source &random) {
    using enum data_type;
    const auto dst = random.one_of(std::vector {s8, u8, s4, u4, f8_e4m3, f8_e5m2, f6_e2m3, f6_e3m2, f4_e2m1});
    switch (random.within(0, 3)) {
        case 0: return random_statement(random);
        case 1: return random_computed_statement(random, dst);
        case 2: return random_computed_groups(random, dst);
        default: {
            const auto quantized = std::vector(std::begin(quantized_types), std::end(quantized_types));
            return random_onnx_statement(random, random.one_of(onnx_types_with(random.one_of(quantized))));
        }
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    random_source random(std::span(data, size));
    const auto s = draw(random);
    const auto variants = variants_for(s);
    expect(computed_right(s, variants));
    guarded_sample guarded(s);
    for (const auto &v : variants) {
        auto options = v.forced();
        options.threads = static_cast<int>(random.within(1, 5));
        expect(guarded.computed_right_by(prepare(s.q, options)));
    }
    return 0;
}
