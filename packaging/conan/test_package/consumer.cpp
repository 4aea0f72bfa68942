// Quantizes by the installed library, with values by hand.
#include <array>
#include <cstdint>

#include <dynquant/quantization.hpp>

int main() {
    dynquant::quantization q;
    q.dir = dynquant::direction::quantize;
    q.src = {dynquant::data_type::f32, {4}, {}};
    q.dst = {dynquant::data_type::u8, {4}, {}};
    q.scales = {dynquant::data_type::f32, {4}, {}}; // one for four elements
    const std::array<float, 4> values {-100.F, 1.F, 1.25F, 1000.F};
    const float scale = 0.5F;
    std::array<std::uint8_t, 4> codes {};
    dynquant::prepare(q).run({values.data(), &scale, nullptr, codes.data()});
    return codes == std::array<std::uint8_t, 4> {0, 2, 2, 255} ? 0 : 1; // ties go to even
}
