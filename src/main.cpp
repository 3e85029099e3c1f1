// The table of verbs; the only place that prints an error and picks the exit code.
#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string_view>
#include <vector>

#include "app/build_info.hpp"
#include "app/effective_config.hpp"
#include "app/logging.hpp"
#include "app/rank.hpp"
#include "app/register_options.hpp"
#include "app/verbs.hpp"
#include "app/version.hpp"
#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/line_output.hpp"
#include "base/suggest.hpp"
#include "run/interrupts.hpp"

namespace pipetrain {
namespace {

struct Verb {
  std::string_view name, summary;
  int (*run)(const Options&) = nullptr;
  void (*options)(CLI::App&, Options&) = nullptr;
  bool needs_argument = false;  // run without arguments, it prints its options and the keys
  bool takes_config = false;
  bool runs_on_ranks = false;  // which mpirun or srun started
};

constexpr Verb verbs[] = {
    {"train", "train a network as a pipeline", train, train_options, true, true, true},
    {"eval",
     "loss and metrics of trained weights on the validation data, else on the "
     "training data",
     eval, eval_options, true, true, true},
    {"benchmark", "throughput, step time, bubble and memory per stage", benchmark,
     benchmark_options, false, true, true},
    {"profile", "time, bytes and FLOPs of each layer on this machine", profile, profile_options,
     true, true},
    {"plan", "partition, predicted time and memory per stage", plan, plan_options, true, true},
    {"schedule", "the program of a schedule, without running it", schedule, schedule_options, true,
     false},
    {"checkpoint", "work with checkpoints: info, verify, reshard, export, prune", checkpoint,
     checkpoint_options, true, false},
    {"generate", "text from a language model, or translations of standard input", generate,
     generate_options, true, true},
    {"report", "a page about a run, or several side by side", report, report_options, true, false},
    {"compare", "several runs as a table", compare, compare_options, true, false},
    {"methods", "the schedules of this build", methods, list_options},
    {"layers", "the kinds of layer with their keys and defaults", layers, list_options},
    {"devices", "the devices of this machine that stages can run on", devices, list_options},
};

std::string help() {
  std::string text = "pipetrain trains neural networks by pipeline parallelism.\n\n";
  for (const Verb& verb : verbs)
    text += fmt::format("  pipetrain {:<11} {}\n", verb.name, verb.summary);
  return text +
         "\n`pipetrain VERB --help` prints the options of a verb with their defaults.\n"
         "--help, --version, --build-info\n";
}

// CLI11 ends the help with more or fewer empty lines, depending on its release.
std::string options_help(const CLI::App& app) {
  const std::string text = app.help();
  return text.substr(0, text.find_last_not_of('\n') + 1) + '\n';
}

std::string verb_help(const Verb& verb, const CLI::App& app) {
  if (!verb.takes_config) return options_help(app);
  return fmt::format("{}\nEvery key of a config with its default: pipetrain {} --help-keys\n",
                     options_help(app), verb.name);
}

const Verb& find_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) {
    if (verb.name == name) return verb;
    names.push_back(verb.name);
  }
  throw UsageError(
      fmt::format("pipetrain: there is no verb {}{} (pipetrain --help lists the verbs)", name,
                  suggest(name, names)));
}

// "; did you mean --output?" after an option that is unknown.
std::string suggest_option(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& given : app.remaining()) {
    const auto hint = suggest(given.substr(0, given.find('=')), names);
    if (!hint.empty()) return hint;
  }
  return "";
}

int run_verb(const Verb& verb, int argc, char** argv) {
  Options options;
  CLI::App app(std::string(verb.summary), fmt::format("pipetrain {}", verb.name));
  verb.options(app, options);
  if (argc == 1 && verb.needs_argument) {
    std::cout << options_help(app) << '\n';
    if (verb.takes_config) print_keys();
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << verb_help(verb, app);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("pipetrain {0}: {1}{2}; pipetrain {0} --help lists the options",
                                 verb.name, error.what(), suggest_option(app)));
  }
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0) options.given.push_back(option->get_name());
  set_up_logging(options);
  if (options.help_keys) {
    print_keys();
    return 0;
  }
  if (options.dump_config) {
    print_config(options);
    return 0;
  }
  return takes_part(verb.name, verb.runs_on_ranks) ? verb.run(options) : 0;
}

int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "--help";
  if (first == "--help" || first == "-h" || first == "help") {
    std::cout << help();
  } else if (first == "--version") {
    std::cout << "pipetrain " << PIPETRAIN_VERSION << '\n';
  } else if (first == "--build-info") {
    print_build_info(argc > 2 && std::string_view(argv[2]) == "--json");
  } else if (first.starts_with('-')) {
    throw UsageError(fmt::format(
        "pipetrain: the verb comes first, not {}; write pipetrain VERB [OPTIONS]", first));
  } else {
    return run_verb(find_verb(first), argc - 1, argv + 1);
  }
  return 0;
}

// Occupies descriptors 0 to 2, so that no file that we open becomes standard output by accident.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", O_RDWR);
  }
}

// A reader that has seen enough (`| head -1`) is not an error; a full disk is.
void finish_output() {
  std::cout.flush();
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout;
  if (!failed) return;
  const int why = errno;
  pollfd out{STDOUT_FILENO, 0, 0};
  if (poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0) return;
  throw DeviceError(fmt::format("standard output cannot be written: {}", std::strerror(why)));
}

int failed(std::string_view message, int code) {
  try {
    print_error(message);
  } catch (const std::exception&) {  // there is nowhere left to report it
  }
  return code;
}

int guarded_run(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    finish_output();
    return code;
  } catch (const std::exception& error) {
    const Failure failure = failure_of(error);
    return failed(failure.message, static_cast<int>(failure.code));
  }
}

// Waits here for the readers, since nothing else is left to do: with default signal handlers, so
// that a signal ends the wait. A user who has asked for an end waits half a second at most.
void finish_lines() {
  using std::chrono::milliseconds;
  const auto end = std::chrono::steady_clock::now() + milliseconds(500);
  for (LineOutput* const output : {&standard_output(), &standard_error()}) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    output->finish(stop_was_asked() ? std::max(left, milliseconds(0)) : LineOutput::without_end);
  }
}

}  // namespace
}  // namespace pipetrain

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  pipetrain::open_standard_streams();
  const int code = pipetrain::guarded_run(argc, argv);
  pipetrain::finish_lines();
  return code;
}
