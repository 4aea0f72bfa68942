// The values that a session has in place of those of its model.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace dynquant::onnxruntime {

/// The initializers that AddInitializer gave to the session's options. ONNX Runtime uses them only when it runs nodes:
/// the graph that a provider sees has the model's values, and up to 1.32 no function tells of others. AddInitializer
/// refuses a name that it was given before, so that adding the name to a copy of the options tells.
/// AddExternalInitializers needs nothing of that kind: it changes the graph itself.
class session_initializers {
  public:
    session_initializers(const OrtApi &api, const OrtSessionOptions &session);

    /// Whether the session replaces an initializer of this name.
    bool replace(const std::string &name);

  private:
    const OrtApi &api_;
    std::byte element_ {};
    std::unique_ptr<OrtSessionOptions, decltype(OrtApi::ReleaseSessionOptions)> copy_;
    std::unique_ptr<OrtValue, decltype(OrtApi::ReleaseValue)>
            value_; // element_, as AddInitializer takes no value that owns its memory
    std::map<std::string, bool> known_;
};

} // namespace dynquant::onnxruntime
