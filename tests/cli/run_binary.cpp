#include "run_binary.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "places.hpp"

namespace {

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace

Ran run_binary(const std::string& arguments, const std::string& before) {
  const std::string binary = "'" + built_binary().string() + "'";
  REQUIRE(std::filesystem::exists(built_binary()));
  std::string folder = std::filesystem::temp_directory_path() / "pipetrain-cli-XXXXXX";
  REQUIRE(mkdtemp(folder.data()));
  const std::string out = folder + "/out", err = folder + "/err";
  const std::string line = "export PIPETRAIN_BINARY=" + binary + "; export XDG_CACHE_HOME='" +
                           folder + "'; { " + before + " " + binary + " " + arguments + "\n} >" +
                           out + " 2>" + err;
  const int status = std::system(line.c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
          read_file(err)};
  std::filesystem::remove_all(folder);
  return ran;
}
