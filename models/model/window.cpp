#include "model/window.hpp"

namespace dynquant::models {
namespace {

layers::window_attributes window_attributes_of(const op_node &n) {
    layers::window_attributes given;
    given.auto_pad = n.text("auto_pad", "NOTSET");
    given.dilations = n.integers("dilations", {});
    given.kernel_shape = n.integers("kernel_shape", {});
    given.pads = n.integers("pads", {});
    given.strides = n.integers("strides", {});
    given.ceil = n.integer("ceil_mode", 0) != 0;
    return given;
}

} // namespace

layers::window window_of(const op_node &n, const dims &x, const dims &kernel) {
    try {
        return layers::make_window(window_attributes_of(n), {x.begin() + 2, x.end()}, kernel);
    } catch (const error &e) {
        n.refuse(e.status, e.what());
    }
}

} // namespace dynquant::models
