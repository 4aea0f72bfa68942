// Errors that name the op: "op 3 'conv1_quant' (DynamicQuantize): scales: expected ..., given ...".
#pragma once

#include <memory>
#include <utility>

#include "dynquant/error.hpp"
#include "graph/op_record.hpp"
#include "quantization/text.hpp"

namespace dynquant::graph::core {

/// op 3 'conv1_quant' (DynamicQuantize)
std::string label(const op_record &op);

/// The errors of this front-end: what programs for oneDNN catch, a dnnl::error, and no dynquant::error, as both are
/// std::exceptions and `catch (const std::exception &)` would be ambiguous. dnnl::error only points at its message;
/// this class owns it, and copies share it.
class refused : public dnnl::error {
  public:
    refused(dnnl_status_t status, std::string text)
        : refused(status, std::make_shared<const std::string>(std::move(text))) {}

  private:
    refused(dnnl_status_t status, std::shared_ptr<const std::string> text)
        : dnnl::error(status, text->c_str())
        , text_(std::move(text)) {}

    std::shared_ptr<const std::string> text_;
};

/// oneDNN's status of the same name.
constexpr dnnl_status_t onednn_status(dynquant::status status) {
    switch (status) {
        case dynquant::status::invalid_arguments: return dnnl_invalid_arguments;
        case dynquant::status::invalid_shape: return dnnl_invalid_shape;
        case dynquant::status::invalid_data_type: return dnnl_invalid_data_type;
        case dynquant::status::unimplemented: return dnnl_unimplemented;
        case dynquant::status::out_of_memory: return dnnl_out_of_memory;
        case dynquant::status::runtime_error: return dnnl_runtime_error;
    }
    return dnnl_runtime_error;
}

/// A layout that only oneDNN can read: callers may fall back to oneDNN.
struct opaque_layout : refused {
    using refused::refused;
};
/// A wrong number of scales or zps: no fallback, as oneDNN would read past their end.
struct wrong_count : refused {
    using refused::refused;
};

template <typename Error, typename... Parts>
[[noreturn]] void refuse_as(const op_record &op, dnnl_status_t status, const Parts &...parts) {
    throw Error(status, printable(concat(label(op), ": ", parts...)));
}

/// what: a label that was made before.
template <typename... Parts>
[[noreturn]] void refuse(const std::string &what, dnnl_status_t status, const Parts &...parts) {
    throw refused(status, printable(concat(what, ": ", parts...)));
}

template <typename... Parts>
[[noreturn]] void refuse(const op_record &op, dnnl_status_t status, const Parts &...parts) {
    refuse_as<refused>(op, status, parts...);
}

/// Calls f, turns an error of the core into one of this front-end, and puts the op's label in front of the message.
template <typename F>
decltype(auto) prefix_errors(const op_record &op, F &&f) {
    try {
        return std::forward<F>(f)();
    } catch (const dynquant::error &e) {
        refuse(op, onednn_status(e.status), e.what());
    } catch (const dnnl::error &e) {
        refuse(op, e.status, e.message);
    }
}

/// Throws unless the engine kind is cpu; the message begins with `what`.
void require_cpu(const std::string &what, dnnl_engine_kind_t kind);

} // namespace dynquant::graph::core
