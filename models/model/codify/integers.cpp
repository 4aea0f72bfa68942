#include "model/codify/integers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/refusal.hpp"

namespace dynquant::models {
namespace {

using std::int64_t;

constexpr double largest_weight = 127;

class quantizer {
  public:
    quantizer(const float_layer &l, const integer_input &x, bool per_channel)
        : l_(l)
        , x_(x)
        , scales_(per_channel ? static_cast<std::size_t>(l.channels) : 1) {
        find_scales();
        limit_sums_to_int32();
    }

    layer_integers result() && {
        layer_integers r {scales_, {}, {}, std::move(notes_)};
        r.weights.reserve(l_.weights.size());
        for (std::size_t i = 0; i < l_.weights.size(); ++i)
            r.weights.push_back(static_cast<std::int8_t>(weight(i)));
        r.bias.reserve(l_.bias.size());
        for (std::size_t c = 0; c < l_.bias.size(); ++c)
            r.bias.push_back(static_cast<std::int32_t>(bias(c)));
        return r;
    }

  private:
    std::size_t channel_of(std::size_t i) const {
        return static_cast<std::size_t>(l_.channel_of(static_cast<int64_t>(i)));
    }
    /// The index of a channel's scale.
    std::size_t scale_at(std::size_t channel) const { return scales_.size() == 1 ? 0 : channel; }

    double weight(std::size_t i) const {
        const double exact = l_.weights[i] / scales_[scale_at(channel_of(i))];
        return std::clamp(std::nearbyint(exact), -largest_weight, largest_weight);
    }
    double bias(std::size_t channel) const {
        return std::nearbyint(l_.bias[channel] / (scales_[scale_at(channel)] * x_.scale));
    }

    void find_scales() {
        for (std::size_t i = 0; i < l_.weights.size(); ++i) {
            auto &most = scales_[scale_at(channel_of(i))];
            most = std::fmax(most, std::fabs(l_.weights[i]));
        }
        int zeros = 0;
        for (auto &s : scales_) {
            zeros += s == 0;
            s = s > 0 ? s / largest_weight : 1;
        }
        if (zeros > 0) note("all weights", scales_.size() > 1 ? " of a channel" : "", " are 0; their scale is 1");
    }

    /// Enlarges scales, and so shrinks weights and bias, until all sums fit int32. Terminates, as all become 0 at last.
    void limit_sums_to_int32() {
        constexpr double beyond = std::numeric_limits<std::int32_t>::max(), more = 1.01;
        const auto first = scales_;
        for (auto excess = excesses(beyond); std::ranges::any_of(excess, [](double e) { return e > 1; });
                excess = excesses(beyond))
            for (std::size_t s = 0; s < scales_.size(); ++s)
                if (excess[s] > 1) scales_[s] *= excess[s] * more;
        double most = 1;
        for (std::size_t s = 0; s < scales_.size(); ++s)
            most = std::fmax(most, scales_[s] / first[s]);
        if (most > 1)
            note("sums with their biases would go beyond int32: scales of the weights are up to ", most,
                    " times as large as the weights' magnitudes need");
    }

    /// For each scale, the largest sum of its channels divided by `limit`.
    std::vector<double> excesses(double limit) const {
        std::vector<double> sums(static_cast<std::size_t>(l_.channels)), result(scales_.size());
        for (std::size_t i = 0; i < l_.weights.size(); ++i)
            sums[channel_of(i)] += std::fabs(weight(i)) * x_.largest;
        for (std::size_t c = 0; c < sums.size(); ++c) {
            const double bound = sums[c] + (l_.bias.empty() ? 0 : std::fabs(bias(c)));
            result[scale_at(c)] = std::fmax(result[scale_at(c)], bound / limit);
        }
        return result;
    }

    template <typename... Parts>
    void note(const Parts &...parts) {
        notes_.push_back(concat(label(*l_.product), ": ", parts...));
    }

    const float_layer &l_;
    const integer_input x_;
    std::vector<double> scales_;
    std::vector<std::string> notes_;
};

} // namespace

layer_integers integers_of(const float_layer &l, const integer_input &x, bool per_channel) {
    return quantizer(l, x, per_channel).result();
}

} // namespace dynquant::models
