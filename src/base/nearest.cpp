#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include <heddle/base/nearest.hpp>

namespace heddle {
namespace {

/// Levenshtein's distance.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_names(std::string_view text, const std::vector<std::string_view>& names) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view name : names) {
    const bool contains = !text.empty() && name.find(text) != std::string_view::npos;
    const std::size_t distance = contains ? 0 : edit_distance(text, name);
    if (distance <= std::max<std::size_t>(3, name.size() / 2)) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::string list;
  for (std::size_t i = 0; i < ranked.size() && i < 3; ++i) {
    if (i > 0) list += ", ";
    list += ranked[i].second;
  }
  return list;
}

}  // namespace heddle
