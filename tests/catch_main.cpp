// The main of every test program. It counts test cases for scripts/test. A case that warns
// "skipped: ..." has not shown what its name says, so it counts as skipped, not as passed. Each
// program ends by printing a line for each of those and one with the counts. Catch2's own summary
// counts them as passed, in version 2 and in version 3.
#define CATCH_CONFIG_RUNNER
#include <iostream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

#ifdef CATCH_V3
using Listener = Catch::EventListenerBase;
using Handled = void;
const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo->name; }
Handled handled() {}
#else
using Listener = Catch::TestEventListenerBase;
using Handled = bool;
const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo.name; }
Handled handled() { return false; }
#endif

class SkippedCases : public Listener {
 public:
  using Listener::Listener;

  Handled assertionEnded(const Catch::AssertionStats& stats) override {
    const auto& result = stats.assertionResult;
    const std::string message(result.getMessage());
    if (result.getResultType() == Catch::ResultWas::Warning && message.rfind("skipped: ", 0) == 0)
      reason_ = message;
    return handled();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.testCases.failed > 0)
      ++failed_;
    else if (reason_.empty())
      ++passed_;
    else
      skipped_.push_back(name_of(stats) + ": " + reason_);
    reason_.clear();
    Listener::testCaseEnded(stats);
  }

  void testRunEnded(const Catch::TestRunStats& stats) override {
    for (const std::string& line : skipped_) std::cout << "case skipped: " << line << '\n';
    std::cout << "cases: " << passed_ << " passed, " << failed_ << " failed, " << skipped_.size()
              << " skipped" << std::endl;
    Listener::testRunEnded(stats);
  }

 private:
  std::string reason_;
  std::vector<std::string> skipped_;
  int passed_ = 0, failed_ = 0;
};

}  // namespace

CATCH_REGISTER_LISTENER(SkippedCases)

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
