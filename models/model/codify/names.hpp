// Names for what is new in a graph.
#pragma once

#include <set>
#include <string>

namespace dynquant::models {

class names {
  public:
    void reserve(const std::string &name) { taken_.insert(name); }

    /// The wanted name, or where it is taken one with a number behind it: "y_scale_2".
    std::string unique(const std::string &wanted) {
        auto name = wanted;
        for (int i = 2; !taken_.insert(name).second; ++i)
            name = wanted + "_" + std::to_string(i);
        return name;
    }

  private:
    std::set<std::string> taken_;
};

} // namespace dynquant::models
