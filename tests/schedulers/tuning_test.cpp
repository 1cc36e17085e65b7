#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <heddle/schedulers/tuning.hpp>

namespace heddle {
namespace {

std::string refusal(const std::string& assignment) {
  tuning values;
  try {
    values.set(assignment);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST(tuning, is_set_by_name) {
  tuning values;
  values.set("poll_interval_fibers=17");
  EXPECT_EQ(values.poll_interval_fibers, 17u);
}

TEST(tuning, defaults_are_allowed_values) {
  const tuning defaults;
  for (const tuning_field& field : tuning_fields) {
    tuning values;
    EXPECT_NO_THROW(
        values.set(std::string(field.name) + "=" + std::to_string(defaults.*field.value)));
    EXPECT_NO_THROW(values.set(std::string(field.name) + "=" + std::to_string(field.least)));
    EXPECT_NO_THROW(values.set(std::string(field.name) + "=" + std::to_string(field.most)));
  }
}

TEST(tuning, refuses_a_value_out_of_range_with_the_range) {
  EXPECT_NE(refusal("steal_rounds=0").find("1 to 1000"), std::string::npos);
  EXPECT_NE(refusal("steal_rounds=1001").find("1 to 1000"), std::string::npos);
  for (const char* text : {"steal_rounds=", "steal_rounds=x", "steal_rounds=1x", "steal_rounds=-1"})
    EXPECT_NE(refusal(text).find("is not allowed"), std::string::npos) << text;
}

TEST(tuning, refuses_an_unknown_name_with_the_nearest) {
  EXPECT_NE(refusal("steal_round=1").find("steal_rounds"), std::string::npos);
  EXPECT_NE(refusal("steal_rounds").find("NAME=VALUE"), std::string::npos);
}

TEST(tuning, presets_are_named) {
  tuning values;
  values.set("steal_rounds=9");
  values.set("preset=heddle");
  EXPECT_EQ(values.steal_rounds, tuning().steal_rounds);
  EXPECT_NE(refusal("preset=none").find("heddle, go, tokio, libfev"), std::string::npos);
}

TEST(tuning, presets_hold_allowed_values) {
  for (const char* name : {"heddle", "go", "tokio", "libfev"}) {
    const tuning values = tuning::preset(name);
    for (const tuning_field& field : tuning_fields) {
      EXPECT_GE(values.*field.value, field.least) << name << " " << field.name;
      EXPECT_LE(values.*field.value, field.most) << name << " " << field.name;
    }
  }
}

}  // namespace
}  // namespace heddle
