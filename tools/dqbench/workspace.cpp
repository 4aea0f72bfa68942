#include "workspace.hpp"

#include <cstring>

#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "quantization/shape.hpp"

namespace dqbench {
namespace {

std::size_t in_bytes(data_type type, std::int64_t elements) {
    return static_cast<std::size_t>(dynquant::size_in_bytes(type, elements));
}

std::int64_t bytes_of(std::optional<data_type> type, std::size_t count) {
    return type ? dynquant::size_in_bytes(*type, static_cast<std::int64_t>(count)) : 0;
}

template <typename Value>
void store(data_type type, const std::vector<Value> &values, std::byte *to) {
    for (std::size_t i = 0; i < values.size(); ++i)
        dynquant::store(type, to, static_cast<std::int64_t>(i), values[i]);
}

} // namespace

workspace::workspace(const statement &s, const parameters &p, std::int64_t dst_bytes, filling kind,
        std::optional<std::int64_t> offset)
    : types_(s.types)
    , offset_(offset.value_or(kind == filling::measuring ? 0 : 1))
    , computes_parameters_(s.computed)
    , src_(span_in_bytes(s.types.src, s.extents, s.src_strides), in_bytes(s.types.src, offset_))
    , scales_(bytes_of(s.types.scales, p.scales.size()), in_bytes(s.types.scales, offset_))
    , zero_points_(bytes_of(s.types.zps, p.zero_points.size()), in_bytes(s.types.zps.value_or(data_type::s8), offset_))
    , dst_(dst_bytes, in_bytes(s.types.dst, offset_)) {
    fill_src(s, p, kind, src_.data());
    if (computes_parameters_) return;
    store(s.types.scales, p.scales, scales_.data());
    if (s.types.zps) store(*s.types.zps, p.zero_points, zero_points_.data());
}

buffers workspace::handles() {
    return {src_.data(), scales_.data(), zero_points_.data(), dst_.data()};
}

std::vector<workspace::output> workspace::outputs() {
    std::vector<output> result {{types_.dst, &dst_}};
    if (computes_parameters_) result.push_back({types_.scales, &scales_});
    if (computes_parameters_ && types_.zps) result.push_back({*types_.zps, &zero_points_});
    return result;
}

dynquant::arguments workspace::inputs() const {
    return {src_.data(), scales_.data(), zero_points_.data()};
}

std::int64_t workspace::input_bytes() const {
    return static_cast<std::int64_t>(src_.bytes().size()) + (computes_parameters_ ? 0 : parameter_bytes());
}

std::int64_t workspace::output_bytes() const {
    return static_cast<std::int64_t>(dst_.bytes().size()) + (computes_parameters_ ? parameter_bytes() : 0);
}

std::int64_t workspace::parameter_bytes() const {
    return static_cast<std::int64_t>(scales_.bytes().size() + zero_points_.bytes().size());
}

std::vector<std::span<const std::byte>> workspace::memory() const {
    return {src_.bytes(), scales_.bytes(), zero_points_.bytes(), dst_.bytes()};
}

std::vector<std::byte> workspace::all_inputs() const {
    std::vector<std::byte> all;
    for (const auto *buffer : {&src_, &scales_, &zero_points_})
        if (buffer == &src_ || !computes_parameters_)
            all.insert(all.end(), buffer->bytes().begin(), buffer->bytes().end());
    return all;
}

void workspace::remember_inputs() {
    before_ = all_inputs();
}

bool workspace::inputs_unchanged() const {
    return src_.guards_intact() && scales_.guards_intact() && zero_points_.guards_intact() && all_inputs() == before_;
}

} // namespace dqbench
