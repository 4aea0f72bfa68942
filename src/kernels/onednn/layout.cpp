#include "kernels/onednn/layout.hpp"

namespace dynquant::kernels::onednn {

std::vector<axis> axes_of(const canonical_form &form) {
    std::vector<axis> axes(form.loops, form.loops + form.loop_count);
    axes.push_back(form.row);
    return axes;
}

int parameter_mask(const std::vector<axis> &axes) {
    int mask = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i].parameter_stride != 0) mask |= 1 << i;
    return mask;
}

} // namespace dynquant::kernels::onednn
