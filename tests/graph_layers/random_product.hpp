// Random chains around a MatMul.
#pragma once

#include "random_chain.hpp"

namespace dynquant::test {

class random_product : public random_chain {
  public:
    random_product(const number_source &drawn, bool tells_ranks)
        : random_chain(drawn, tells_ranks) {
        draw_sides();
        add_sides();
        add_product();
        add_steps();
    }

  private:
    void draw_sides() {
        rows_ = n_.chance(5) ? 0 : n_.within(1, n_.chance(20) ? 40 : 7);
        inner_ = n_.chance(4) ? 0 : n_.within(1, n_.chance(20) ? 200 : 40);
        columns_ = n_.chance(4) ? 0 : n_.within(1, n_.chance(20) ? 150 : 20);
        transposes_x_ = n_.chance(25);
        transposes_w_ = n_.chance(40);
        const auto rank = n_.chance(60) ? 0 : n_.within(1, 2);
        dims batch;
        for (std::int64_t d = 0; d < rank; ++d)
            batch.push_back(n_.within(1, 3));
        auto of_x = batch, of_w = batch;
        for (auto *of : {&of_x, &of_w}) {
            for (auto &extent : *of)
                if (n_.chance(35)) extent = 1;
            if (n_.chance(30))
                of->erase(of->begin(), of->begin() + static_cast<std::ptrdiff_t>(n_.within(0, std::ssize(*of))));
        }
        draw(x_, of_x, rows_, inner_, transposes_x_, false);
        draw(w_, of_w, inner_, columns_, transposes_w_, true);
    }

    void draw(side &s, const dims &batch, std::int64_t rows, std::int64_t columns, bool is_transposed, bool is_w) {
        s.extents = batch;
        s.extents.push_back(is_transposed ? columns : rows);
        s.extents.push_back(is_transposed ? rows : columns);
        s.is_signed = n_.chance(is_w ? 75 : 35);
        s.is_dynamic = n_.chance(70);
        const auto rank = s.extents.size();
        s.varying.assign(rank, 0);
        // Scales may differ along the rows of x and the columns of w, and along batches.
        if (n_.chance(55)) s.varying[rank - (is_w == is_transposed ? 2 : 1)] = 1;
        for (std::size_t d = 0; d + 2 < rank; ++d)
            if (n_.chance(15)) s.varying[d] = 1;
        draw_codes(s);
        s.strides = row_major(s.extents);
        if (n_.chance(15)) { // a gap behind each row
            auto padded = s.extents;
            padded.back() += n_.within(1, 5);
            s.strides = row_major(padded);
        }
    }

    /// Position in a side of element (batch of y, row, column).
    static std::int64_t position(const side &s, const dims &y_batch, std::int64_t batch, std::int64_t row,
            std::int64_t column, bool is_transposed) {
        dims index(y_batch.size());
        for (std::size_t d = y_batch.size(); d-- > 0; batch /= y_batch[d])
            index[d] = batch % y_batch[d];
        std::int64_t at = 0;
        const auto rank = s.extents.size();
        for (std::size_t d = 0; d + 2 < rank; ++d) {
            const auto of_y = index[y_batch.size() - (rank - 2) + d];
            at = at * s.extents[d] + (s.extents[d] == 1 ? 0 : of_y);
        }
        at = at * s.extents[rank - 2] + (is_transposed ? column : row);
        return at * s.extents[rank - 1] + (is_transposed ? row : column);
    }

    void add_product() {
        dims batch;
        const dims of_x(x_.extents.begin(), x_.extents.end() - 2), of_w(w_.extents.begin(), w_.extents.end() - 2);
        for (std::size_t i = std::max(of_x.size(), of_w.size()); i > 0; --i) {
            const auto a = i <= of_x.size() ? of_x[of_x.size() - i] : 1,
                       b = i <= of_w.size() ? of_w[of_w.size() - i] : 1;
            batch.push_back(a == 1 ? b : a);
        }
        y_ = batch;
        y_.push_back(rows_);
        y_.push_back(columns_);
        channel_dim_ = y_.size() - 1;
        for (std::int64_t b = 0; b < volume(batch); ++b)
            for (std::int64_t m = 0; m < rows_; ++m)
                for (std::int64_t c = 0; c < columns_; ++c) {
                    wide sum = 0;
                    for (std::int64_t k = 0; k < inner_; ++k)
                        sum += static_cast<wide>(x_.difference(position(x_, batch, b, m, k, transposes_x_)))
                                * w_.difference(position(w_, batch, b, k, c, transposes_w_));
                    values_.push_back(
                            static_cast<float>(sum) * (scale_of(x_, batch, b, m) * scale_of(w_, batch, b, c)));
                }
        dg::op op(id(), kind::MatMul, "product");
        op.add_inputs({dequantized_[0], dequantized_[1]});
        if (transposes_x_) op.set_attr<bool>(attr::transpose_a, true);
        if (transposes_w_) op.set_attr<bool>(attr::transpose_b, true);
        if (n_.chance(20)) op.add_input(add_operand(true, [&](float v, float a) { return v + a; }));
        push(op);
    }

    /// Of a row of x or a column of w, even where inner is 0 and no element has it.
    static float scale_of(const side &s, const dims &y_batch, std::int64_t batch, std::int64_t of_matrix) {
        dims index(y_batch.size());
        for (std::size_t d = y_batch.size(); d-- > 0; batch /= y_batch[d])
            index[d] = batch % y_batch[d];
        const auto rank = s.extents.size();
        std::int64_t at = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            if (!s.varying[d]) continue;
            const auto of_batch = d + 2 < rank && s.extents[d] != 1 ? index[y_batch.size() - (rank - 2) + d] : 0;
            at = at * s.extents[d] + (d + 2 < rank ? of_batch : of_matrix);
        }
        return s.scales.at(static_cast<std::size_t>(at));
    }

    std::int64_t rows_ = 0, inner_ = 0, columns_ = 0;
    bool transposes_x_ = false, transposes_w_ = false;
};

} // namespace dynquant::test
