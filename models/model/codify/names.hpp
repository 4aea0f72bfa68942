// Unique names for new nodes and values of a graph.
#pragma once

#include <set>
#include <string>

namespace dynquant::models {

class names {
  public:
    void reserve(const std::string &name) { taken_.insert(name); }

    /// Returns the wanted name, or one with a number appended where it is taken: "y_scale_2".
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
