#include "layers/float16_activation.hpp"

#include "elements/small_float.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {

float16_activation::float16_activation(
        const rescale_parameters &p, const layer_shape &shape, std::vector<std::uint8_t> table)
    : p_(p)
    , rows_(shape.batch * shape.spatial)
    , channels_(shape.channels)
    , table_(std::move(table)) {
    const auto for_each_channel = [&](auto &values) {
        if (values.size() == 1) values.resize(static_cast<std::size_t>(channels_), values.front());
    };
    if (p_.bias.empty()) p_.bias = {0};
    if (p_.second.empty()) p_.second = {1}; // multiplying by 1 is exact
    for_each_channel(p_.bias);
    for_each_channel(p_.first);
    for_each_channel(p_.second);
    if (!shape.y_is_channels_last) from_last_ = from_channels_last({shape.batch, shape.channels, shape.spatial}, 1);
}

void float16_activation::run_row(const std::int32_t *sums, std::uint8_t *y) const {
    for (std::size_t c = 0; c < p_.first.size(); ++c) {
        const auto sum = static_cast<std::uint32_t>(sums[c]) + static_cast<std::uint32_t>(p_.bias[c]);
        auto value = static_cast<float>(static_cast<std::int32_t>(sum)) * p_.first[c] * p_.second[c];
        if (p_.relu && value < 0) value = 0;
        y[c] = table_[float16::from(value).bits];
    }
}

void float16_activation::run(const std::int32_t *sums, std::uint8_t *y, std::byte *scratch) const {
    auto *to = from_last_ ? reinterpret_cast<std::uint8_t *>(scratch) : y;
    parallel::for_each_part(rows_, parallel::parts_for_items(rows_, rows_ * channels_), [&](parallel::range part) {
        for (auto row = part.begin; row < part.end; ++row)
            run_row(sums + row * channels_, to + row * channels_);
    });
    if (from_last_) from_last_->run(to, y);
}

} // namespace dynquant::layers
