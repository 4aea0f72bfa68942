// Random chains around a Convolution, in both data formats and both of weights.
#pragma once

#include "random_chain.hpp"

namespace dynquant::test {

class random_convolution : public random_chain {
  public:
    random_convolution(const number_source &drawn, bool tells_ranks)
        : random_chain(drawn, tells_ranks) {
        draw_window();
        draw_sides();
        add_sides();
        add_product();
        add_steps();
    }

  private:
    /// Along one spatial dim.
    struct axis {
        std::int64_t x, taps, stride, dilation, begin, end, y;
    };

    /// Where space begins among the dims of data and of weights, and where the other dims are.
    std::size_t space_of_data() const { return is_ncx_ ? 2 : 1; }
    std::size_t space_of_weights() const { return is_oix_ ? 2 : 0; }
    std::size_t channel_of_data() const { return is_ncx_ ? 1 : axes_.size() + 1; }
    std::size_t filter_of_weights() const { return is_oix_ ? 0 : axes_.size() + 1; }
    std::size_t channel_of_weights() const { return is_oix_ ? 1 : axes_.size(); }

    void draw_window() {
        is_ncx_ = n_.chance(50);
        is_oix_ = n_.chance(50);
        images_ = n_.chance(4) ? 0 : n_.within(1, 3);
        groups_ = n_.chance(60) ? 1 : n_.within(1, 4);
        of_group_ = n_.chance(30) ? 1 : n_.within(1, n_.chance(20) ? 24 : 6);
        if (n_.chance(3)) of_group_ = 0;
        filters_ = groups_ * (n_.chance(40) ? 1 : n_.within(1, n_.chance(20) ? 40 : 6));
        if (n_.chance(3)) filters_ = 0;
        static constexpr const char *modes[] = {"", "None", "SAME_UPPER", "SAME_LOWER", "VALID"};
        auto_pad_ = n_.chance(60) ? "" : modes[n_.within(0, 4)];
        const auto rank = n_.chance(60) ? 2 : n_.chance(60) ? 1 : 3;
        for (int d = 0; d < rank; ++d)
            axes_.push_back(draw_axis(rank));
    }

    axis draw_axis(int rank) {
        axis a {};
        a.taps = n_.chance(30) ? 1 : n_.within(1, rank == 3 ? 3 : 5);
        a.stride = n_.chance(60) ? 1 : n_.within(1, 3);
        a.dilation = n_.chance(75) ? 1 : n_.within(1, 3);
        a.begin = n_.chance(50) ? 0 : n_.within(0, 4);
        a.end = n_.chance(50) ? 0 : n_.within(0, 4);
        const auto covered = (a.taps - 1) * a.dilation + 1;
        const bool is_same = auto_pad_.starts_with("SAME"), is_stated = auto_pad_.empty() || auto_pad_ == "None";
        const auto least = is_same ? 1 : is_stated ? std::max<std::int64_t>(covered - a.begin - a.end, 1) : covered;
        a.x = least + n_.within(0, rank == 1 ? 40 : rank == 2 ? 9 : 3);
        auto begin = a.begin, end = a.end;
        if (is_same) { // as oneDNN's specification of auto_pad says
            const auto y = (a.x + a.stride - 1) / a.stride;
            const auto total = std::max<std::int64_t>((y - 1) * a.stride + covered - a.x, 0);
            begin = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
            end = total - begin;
        } else if (!is_stated) {
            begin = end = 0;
        }
        a.y = (begin + a.x + end - covered) / a.stride + 1;
        first_.push_back(-begin);
        return a;
    }

    void draw_sides() {
        x_.extents = {images_};
        if (is_ncx_) x_.extents.push_back(of_group_ * groups_);
        for (const auto &a : axes_)
            x_.extents.push_back(a.x);
        if (!is_ncx_) x_.extents.push_back(of_group_ * groups_);
        w_.extents.assign(axes_.size() + 2, 0);
        w_.extents[filter_of_weights()] = filters_;
        w_.extents[channel_of_weights()] = of_group_;
        for (std::size_t d = 0; d < axes_.size(); ++d)
            w_.extents[space_of_weights() + d] = axes_[d].taps;
        for (auto *s : {&x_, &w_}) {
            s->is_signed = n_.chance(s == &w_ ? 75 : 35);
            s->is_dynamic = n_.chance(70);
            s->varying.assign(s->extents.size(), 0);
            draw_codes(*s);
            s->strides = n_.chance(40) ? draw_strides(s->extents, 60) : row_major(s->extents);
        }
        if (n_.chance(25)) x_.varying[0] = 1;
        if (n_.chance(60)) w_.varying[filter_of_weights()] = 1;
    }

    static std::int64_t row_major_index(const dims &index, const dims &extents) {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < extents.size(); ++d)
            at = at * extents[d] + index[d];
        return at;
    }

    /// The exact sum of one element of y.
    wide sum_at(const dims &of_y) const {
        const auto filter = of_y[channel_dim_];
        wide sum = 0;
        dims taps;
        for (const auto &a : axes_)
            taps.push_back(a.taps);
        dims of_x = of_y, of_w(w_.extents.size());
        of_w[filter_of_weights()] = filter;
        for (std::int64_t tap = 0; tap < volume(taps); ++tap) {
            auto rest = tap;
            bool is_inside = true;
            for (auto d = axes_.size(); d-- > 0; rest /= axes_[d].taps) {
                const auto &a = axes_[d];
                const auto k = rest % a.taps, at = of_y[space_of_data() + d] * a.stride + first_[d] + k * a.dilation;
                is_inside &= at >= 0 && at < a.x;
                of_x[space_of_data() + d] = at;
                of_w[space_of_weights() + d] = k;
            }
            for (std::int64_t c = 0; is_inside && c < of_group_; ++c) {
                of_x[channel_of_data()] = filter / (filters_ / groups_) * of_group_ + c;
                of_w[channel_of_weights()] = c;
                sum += static_cast<wide>(x_.difference(row_major_index(of_x, x_.extents)))
                        * w_.difference(row_major_index(of_w, w_.extents));
            }
        }
        return sum;
    }

    void add_product() {
        y_ = x_.extents;
        channel_dim_ = channel_of_data();
        y_[channel_dim_] = filters_;
        for (std::size_t d = 0; d < axes_.size(); ++d)
            y_[space_of_data() + d] = axes_[d].y;
        for (std::int64_t i = 0; i < volume(y_); ++i) {
            dims index(y_.size());
            auto rest = i;
            for (std::size_t d = y_.size(); d-- > 0; rest /= y_[d])
                index[d] = rest % y_[d];
            const auto scale = x_.scales[x_.varying[0] ? static_cast<std::size_t>(index[0]) : 0]
                    * w_.scales[w_.scales.size() > 1 ? static_cast<std::size_t>(index[channel_dim_]) : 0];
            values_.push_back(static_cast<float>(sum_at(index)) * scale);
        }
        dg::op op(id(), kind::Convolution, "product");
        op.add_inputs({dequantized_[0], dequantized_[1]});
        set_attributes(op);
        if (n_.chance(30)) op.add_input(add_operand(true, [](float v, float a) { return v + a; }));
        push(op);
    }

    void set_attributes(dg::op &op) {
        dims strides, dilations, begin, end;
        for (const auto &a : axes_) {
            strides.push_back(a.stride);
            dilations.push_back(a.dilation);
            begin.push_back(a.begin);
            end.push_back(a.end);
        }
        op.set_attr(attr::strides, strides).set_attr(attr::dilations, dilations);
        op.set_attr(attr::pads_begin, begin).set_attr(attr::pads_end, end);
        if (!auto_pad_.empty()) op.set_attr<std::string>(attr::auto_pad, auto_pad_);
        if (groups_ > 1 || n_.chance(50)) op.set_attr<std::int64_t>(attr::groups, groups_);
        if (is_ncx_ || n_.chance(50)) op.set_attr<std::string>(attr::data_format, is_ncx_ ? "NCX" : "NXC");
        if (is_oix_ || n_.chance(50)) op.set_attr<std::string>(attr::weights_format, is_oix_ ? "OIX" : "XIO");
    }

    bool is_ncx_ = false, is_oix_ = false;
    std::int64_t images_ = 0, groups_ = 1, of_group_ = 0, filters_ = 0;
    std::string auto_pad_;
    std::vector<axis> axes_;
    dims first_; // the position in x of the first tap of y's first element
};

} // namespace dynquant::test
