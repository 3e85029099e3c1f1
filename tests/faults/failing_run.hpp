// The binary with its n-th operation of a kind failing (fail_call.cpp).
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>

#include "cli/run_folder.hpp"
#include "places.hpp"

struct Fault {
  std::string kind;                  // "write" | "read" | "kernel"
  int at = 1;                        // from 1
  int reason = EIO;                  // errno
  std::filesystem::path under = {};  // write, read: files here only
};

struct Failed {
  Ran ran;
  bool fired = false;
};

// A run that hangs is ended after 30 seconds, with code 124.
inline Failed run_failing(const std::string& arguments, const Fault& fault,
                          const TestFolder& folder) {
  const auto mark = folder.path / "fired";
  std::filesystem::remove(mark);
  const auto library = built_binary().parent_path() / "tests/faults";
  const std::string settings = "FAIL_KIND=" + fault.kind + " FAIL_AT=" + std::to_string(fault.at) +
                               " FAIL_ERRNO=" + std::to_string(fault.reason) + " FAIL_UNDER='" +
                               fault.under.string() + "' FAIL_MARK='" + mark.string() +
                               "' LD_PRELOAD='" + (library / "fail_call.so").string() +
                               "' ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 timeout 30";
  const Ran ran = run_binary(arguments, settings);
  return {ran, std::filesystem::exists(mark)};
}
