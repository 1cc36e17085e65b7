#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include <heddle/base/processors.hpp>

namespace heddle {
namespace {

/// A folder that looks like the root of a machine with control groups.
class machine : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) /
            ("machine" + std::to_string(::getpid()) + "-" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  double processors() const { return cgroup_processors(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST_F(machine, without_control_groups_has_no_quota) { EXPECT_EQ(processors(), 0); }

TEST_F(machine, of_version_2_has_the_quota_of_its_group) {
  file("proc/self/cgroup", "0::/app\n");
  file("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(processors(), 1.5);
}

TEST_F(machine, of_version_2_without_a_limit_has_no_quota) {
  file("proc/self/cgroup", "0::/app\n");
  file("sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(processors(), 0);
}

TEST_F(machine, has_the_smallest_quota_up_to_the_root) {
  file("proc/self/cgroup", "0::/outer/inner\n");
  file("sys/fs/cgroup/outer/cpu.max", "50000 100000\n");
  file("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(processors(), 0.5);
}

TEST_F(machine, in_a_container_reads_the_root_of_the_mount) {
  file("proc/self/cgroup", "0::/not/mounted/here\n");
  file("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(processors(), 3);
}

TEST_F(machine, of_version_1_has_the_quota_of_its_cpu_group) {
  file("proc/self/cgroup", "7:memory:/other\n2:cpu,cpuacct:/app\n");
  file("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "250000\n");
  file("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(processors(), 2.5);
}

TEST_F(machine, of_version_1_without_a_limit_has_no_quota) {
  file("proc/self/cgroup", "2:cpu:/app\n");
  file("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "-1\n");
  file("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), 0);
}

TEST(default_workers, respects_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &before)) continue;
    CPU_SET(i, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(default_workers(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(default_workers(), 1u);
}

}  // namespace
}  // namespace heddle
