// The processor time of control groups, read from folders like the kernel's.
#include "machine/cpu_quota.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

class Root {
 public:
  Root() {
    std::string name = fs::temp_directory_path() / "pipetrain-quota-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~Root() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the quota of version 2 is the least of all enclosing groups", "[threads]") {
  const Root root;
  write(root.path() / "proc/self/cgroup", "0::/lab/run\n");
  const fs::path groups = root.path() / "sys/fs/cgroup";
  CHECK(std::isinf(cpu_quota(root.path())));
  write(groups / "lab/run/cpu.max", "max 100000\n");
  CHECK(std::isinf(cpu_quota(root.path())));
  write(groups / "lab/cpu.max", "250000 100000\n");
  CHECK(cpu_quota(root.path()) == 2.5);
  write(groups / "lab/run/cpu.max", "50000 100000\n");
  CHECK(cpu_quota(root.path()) == 0.5);
}

TEST_CASE("in a container the group's own folder is the root", "[threads]") {
  const Root root;
  write(root.path() / "proc/self/cgroup", "0::/\n");
  write(root.path() / "sys/fs/cgroup/cpu.max", "400000 100000\n");
  CHECK(cpu_quota(root.path()) == 4);
}

TEST_CASE("the quota of version 1", "[threads]") {
  const Root root;
  write(root.path() / "proc/self/cgroup",
        "5:memory:/elsewhere\n4:cpu,cpuacct:/docker/1234\n1:name=systemd:/\n0::/\n");
  const fs::path group = root.path() / "sys/fs/cgroup/cpu/docker/1234";
  write(group / "cpu.cfs_period_us", "100000\n");
  write(group / "cpu.cfs_quota_us", "-1\n");
  CHECK(std::isinf(cpu_quota(root.path())));
  write(group / "cpu.cfs_quota_us", "150000\n");
  CHECK(cpu_quota(root.path()) == 1.5);
}

TEST_CASE("there is no quota if nothing can be read", "[threads]") {
  const Root root;
  CHECK(std::isinf(cpu_quota(root.path())));
  write(root.path() / "proc/self/cgroup", "nothing of use\n0::/../..\n");
  write(root.path() / "sys/fs/cgroup/cpu.max", "words\n");
  CHECK(std::isinf(cpu_quota(root.path())));
}
