// The one exception that dynquant throws.
#pragma once

#include <memory>
#include <string>

#include "oneapi/dnnl/dnnl_common.hpp"

namespace dynquant {

/// What went wrong: a oneDNN status and a sentence that names the op or the statement, the attribute
/// or argument, what was expected and what was given.
///
/// It is a dnnl::error, so that a program written for oneDNN catches it. dnnl::error only points at
/// its message; this class owns it, and copies share it.
class error : public dnnl::error {
  public:
    error(dnnl_status_t status, std::string text)
        : error(status, std::make_shared<const std::string>(std::move(text))) {}

  private:
    error(dnnl_status_t status, std::shared_ptr<const std::string> text)
        : dnnl::error(status, text->c_str())
        , text_(std::move(text)) {}

    std::shared_ptr<const std::string> text_;
};

} // namespace dynquant
