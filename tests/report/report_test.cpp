// The page about runs: what is on it, and that nothing of a run's texts becomes markup.
#include "report/report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/scratch.hpp"
#include "report/comparison.hpp"
#include "report/line_chart.hpp"
#include "report/numbers.hpp"
#include "report/time_scale.hpp"
#include "report/timeline.hpp"
#include "report_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string page_of(const std::filesystem::path& folder) { return report_html({read_run(folder)}); }

// Tags that are opened and not closed, or closed and not open.
int unbalanced(const std::string& html) {
  int depth = 0;
  for (const std::string tag : {"div", "svg", "table", "tr", "td", "th", "g", "p", "pre", "figure",
                                "details", "title", "text", "body", "html", "style", "span", "i"}) {
    int open = 0;
    for (std::size_t at = 0; (at = html.find("<" + tag, at)) != std::string::npos; ++at) {
      const char next = html[at + tag.size() + 1];
      if (next == '>' || next == ' ') ++open;
    }
    for (std::size_t at = 0; (at = html.find("</" + tag + ">", at)) != std::string::npos; ++at)
      --open;
    depth += open < 0 ? -open : open;
  }
  return depth;
}

Series curve(std::vector<std::pair<double, double>> points) {
  return {.name = "", .colour = 0, .points = std::move(points)};
}

Chart chart_of(std::vector<std::pair<double, double>> points) {
  return {.title = "loss",
          .x_name = "step",
          .series = {curve(std::move(points))},
          .y_text = [](double y) { return std::to_string(y); },
          .x_text = [](double x) { return std::to_string(x); }};
}

const std::string traced = R"({"traceEvents":[
{"ph":"M","name":"process_name","pid":0},
{"ph":"X","name":"F0","cat":"forward","pid":0,"tid":0,"ts":5,"dur":900,"args":{"step":3,"version":2}},
{"ph":"X","name":"SA0","cat":"send activation","pid":0,"tid":1,"ts":905,"dur":90,"args":{"step":3}},
{"ph":"X","name":"waiting","cat":"waiting","pid":1,"tid":2,"ts":5,"dur":900,"args":{"step":3}},
{"ph":"X","name":"B0","cat":"backward","pid":1,"tid":0,"ts":1000,"dur":900,"args":{"step":3,"version":3}},
{"ph":"X","name":"B0","cat":"backward, after its send","pid":1,"tid":0,"ts":1900,"dur":9,"args":{"step":3}},
{"ph":"X","name":"U0","cat":"update","pid":1,"tid":3,"ts":1900,"dur":50,"args":{"step":4}}]})";

}  // namespace

TEST_CASE("a page of one run says what bounds the step, and where memory goes") {
  const Scratch scratch;
  write_run(scratch.path / "lenet");
  const std::string page = page_of(scratch.path / "lenet");
  CHECK(unbalanced(page) == 0);
  CHECK(has(page,
            "net, 61,706 parameters; 1f1b, 2 stages, 4 micro-batches per mini-batch; finished"));
  CHECK(has(page, "80.00%"));  // the best accuracy
  CHECK(has(page, "Stage 0 is the bottleneck: it computes 80.0% of the time"));
  CHECK(has(page, "480 ms predicted"));
  CHECK(has(page, "conv1 to &lt;i&gt;relu1"));
  CHECK_FALSE(has(page, "<i>relu1"));
  CHECK(has(page, "name = &quot;&lt;net&gt;&quot;"));
  CHECK(has(page, "metrics.trace_steps"));  // how to get a timeline
  CHECK_FALSE(has(page, "<script"));
  CHECK_FALSE(has(page, "http"));  // nothing is fetched
}

TEST_CASE("the largest stable rate is shown beside the rate, if it was measured") {
  RunRecord run{.folder = "r"};
  for (const int step : {1, 2, 3}) run.steps.push_back({.step = step, .loss = 1, .lr = 0.1});
  CHECK_FALSE(has(report_html({run}), "largest stable"));
  run.stability = {{0, NAN, NAN}, {2, 0.2, 2}, {3, 0.05, 0.5}};
  const std::string page = report_html({run});
  CHECK(has(page, "learning rate, and the largest stable one (up to 0.3)"));
  CHECK(has(page, "<b>0.5</b><span>smallest margin"));
  CHECK(unbalanced(page) == 0);
}

TEST_CASE("a page of several runs says which one was best, and which one first") {
  const Scratch scratch;
  write_run(scratch.path / "slow", {.accuracy_step = 0.16, .step_seconds = 2});
  write_run(scratch.path / "fast", {.accuracy_step = 0.1, .schedule = "pipedream", .epochs = 4});
  const auto runs = read_runs({scratch.path / "slow", scratch.path / "fast"});
  const std::string page = report_html(runs);
  CHECK(unbalanced(page) == 0);
  CHECK(has(page,
            "The best accuracy: slow with 98.00%. First to reach 90.00%: fast, after 4.00 s of "
            "training."));
  CHECK(has(report_html(runs, 0.95), "First to reach 95.00%: slow"));
  CHECK(has(report_html(runs, 0.99), "No run reached 99.00%"));
  const auto json = comparison_json(runs, comparison_of(runs, {}));
  CHECK(json["measure"] == "accuracy");
  CHECK(json["runs"][0]["seconds_to_target"] == 12);
  CHECK(json["runs"][1]["epochs_to_target"] == 4);
  CHECK(has(comparison_text(runs, comparison_of(runs, {})), "98.00% *"));
}

TEST_CASE("translations are compared by BLEU, though they have an accuracy too") {
  const Scratch scratch;
  const auto mt = scratch.path / "mt", mtb = scratch.path / "mtb";
  write_run(mt, {.accuracy_step = 0.16, .perplexity = 30, .bleu_step = 2});
  write_run(mtb, {.step_seconds = 1, .perplexity = 24, .bleu_step = 3});
  auto runs = read_runs({mt, mtb});
  const std::string page = report_html(runs);
  CHECK(unbalanced(page) == 0);
  CHECK(has(page,
            "The best BLEU: mtb with 9.00. First to reach 6.00: mt, after 3.00 s of training."));
  for (const std::string title :
       {"validation BLEU over seconds of training", "validation BLEU over epochs",
        "validation perplexity", "validation accuracy", "validation loss"})
    CHECK(has(page, "<figcaption>" + title + "</figcaption>"));
  const Comparison comparison = comparison_of(runs, 3);
  CHECK(comparison.target == 3);
  CHECK(comparison_json(runs, comparison)["measure"] == "BLEU");
  CHECK(comparison_json(runs, comparison)["runs"][0]["best"] == 6);
  const std::string text = comparison_text(runs, comparison);
  CHECK(has(text, "best BLEU"));
  CHECK(has(text, "time to 3.00"));
  CHECK(has(text, "9.00 *"));
  CHECK_THROWS_WITH(comparison_of(runs, 300), Contains("compared by BLEU, which is from 0 to 100"));
  const std::string one = page_of(mt);
  CHECK(has(one, "<b>6.00</b><span>best BLEU, after step 6"));
  CHECK(has(one, "<figcaption>validation BLEU</figcaption>"));
}

TEST_CASE("texts are compared by perplexity, and so is a translation beside them") {
  const Scratch scratch;
  const auto gpt = scratch.path / "gpt", mt = scratch.path / "mt";
  write_run(gpt, {.accuracy_step = 0.16, .perplexity = 30});
  write_run(mt, {.step_seconds = 1, .perplexity = 24, .bleu_step = 3});
  const auto runs = read_runs({gpt, mt});
  const std::string page = report_html(runs);
  CHECK(has(page,
            "The best perplexity: mt with 8. First to reach 10: gpt, after 3.00 s of training."));
  CHECK(has(page, "<figcaption>validation perplexity over epochs</figcaption>"));
  CHECK(has(page, "<figcaption>validation BLEU</figcaption>"));  // of the run that has it
  CHECK(comparison_json(runs, comparison_of(runs, {}))["measure"] == "perplexity");
  CHECK(has(comparison_text(runs, comparison_of(runs, {})), "8 *"));
  CHECK_THROWS_WITH(comparison_of(runs, 0.4),
                    Contains("compared by perplexity, which is at least 1"));
  CHECK(has(page_of(gpt), "<b>10</b><span>best perplexity, after step 6"));
}

TEST_CASE("of runs that tie, none is named alone") {
  const Scratch scratch;
  for (const std::string name : {"a", "b", "c"}) write_run(scratch.path / name);
  auto runs = read_runs({scratch.path / "a", scratch.path / "b"});
  const auto sentence = [&] { return comparison_sentence(runs, comparison_of(runs, {})); };
  CHECK(sentence() ==
        "The best accuracy: a and b with 80.00%. First to reach 80.00%: a and b, after 3.00 s of "
        "training.");
  CHECK_FALSE(has(comparison_text(runs, comparison_of(runs, {})), "*"));  // nothing to choose
  runs = read_runs({scratch.path / "a", scratch.path / "b", scratch.path / "c"});
  CHECK(has(sentence(), "The best accuracy: all with 80.00%. First to reach 80.00%: all, after"));
  write_run(scratch.path / "worse", {.accuracy_step = 0.02});
  runs.push_back(read_run(scratch.path / "worse"));
  CHECK(has(sentence(), "The best accuracy: a, b and c with 80.00%."));
  const TableRows rows = comparison_rows(runs, comparison_of(runs, {}));
  CHECK(rows[0][3].text == "best accuracy");
  for (const std::size_t row : {1, 2, 3}) CHECK(rows[row][3].best);
  CHECK_FALSE(rows[4][3].best);
  runs[3].learnt = false;
  CHECK(has(sentence(), "The best accuracy: all ranked runs with 80.00%."));
}

TEST_CASE("runs that are not ranked are named before the best one is") {
  const Scratch scratch;
  write_run(scratch.path / "a");
  write_run(scratch.path / "b");
  write_run(scratch.path / "high", {.accuracy_step = 0.16});
  auto runs = read_runs({scratch.path / "high", scratch.path / "a", scratch.path / "b"});
  runs[0].learnt = false;
  CHECK(has(comparison_text(runs, comparison_of(runs, {})),
            "\n\nNot ranked, failed or learnt nothing: high.\nThe best accuracy: a and b with "
            "80.00%."));
  CHECK(has(report_html(runs),
            "<p>Not ranked, failed or learnt nothing: high.</p>\n<p>The best accuracy: a and b"));
}

TEST_CASE("runs trained with different losses are not ranked by them") {
  const Scratch scratch;
  for (const std::string name : {"digits", "letters", "curve"}) write_run(scratch.path / name);
  auto runs =
      read_runs({scratch.path / "digits", scratch.path / "curve", scratch.path / "letters"});
  for (ValidationPoint& point : runs[1].validations) point.accuracy.reset();  // as mse leaves it
  const Comparison comparison = comparison_of(runs, {});
  const std::string why =
      "Not ranked by validation loss, which is of different kinds: cross_entropy (digits, "
      "letters), mse (curve).";
  const std::string text = comparison_text(runs, comparison);
  CHECK(has(text, "\n\n" + why + "\n"));
  CHECK_FALSE(has(text, "best"));
  CHECK(has(report_html(runs), "<p>" + why + "</p>"));
  CHECK_FALSE(comparison_json(runs, comparison).contains("measure"));
  CHECK(target_note(runs, 0.9) ==
        "--target has no effect: the runs' validations have no measure in common");
  runs.erase(runs.begin() + 2);
  runs[0].validations.clear();  // nothing is left to compare with
  CHECK(has(comparison_text(runs, comparison_of(runs, {})), "The best validation loss: curve"));
}

TEST_CASE("a run that learnt nothing wins nothing, and sets no target") {
  const Scratch scratch;
  write_run(scratch.path / "good", {.accuracy_step = 0.16, .step_seconds = 2});
  write_run(scratch.path / "bad", {.accuracy_step = 0.02});
  auto runs = read_runs({scratch.path / "good", scratch.path / "bad"});
  CHECK(has(report_html(runs), "First to reach 56.00%"));
  runs[1].learnt = false;
  runs[1].warnings = {"nothing was learnt"};
  const std::string page = report_html(runs);
  CHECK(has(page, "First to reach 98.00%: good"));
  CHECK(has(page, "Not ranked, failed or learnt nothing: bad."));
  CHECK(has(page, "bad: nothing was learnt"));
  for (const TableRows rows = comparison_rows(runs, comparison_of(runs, {}));
       const CellText& cell : rows[2])
    CHECK_FALSE(cell.best);
  runs[0].learnt = false;  // now the target is again what both reached
  CHECK(comparison_of(runs, {}).target == Approx(0.56));
  CHECK_THROWS_WITH(comparison_of(runs, 95),
                    "--target 95: an accuracy is a share from 0 to 1; write --target 0.95");
}

TEST_CASE("a target that nothing reads is noted") {
  const Scratch scratch;
  write_run(scratch.path / "run", {});
  auto runs = read_runs({scratch.path / "run"});
  CHECK(target_note(runs, 0.9).empty());
  runs[0].validations.clear();
  CHECK(target_note(runs, 0.9) == "--target has no effect: no run has a validation");
  CHECK(target_note(runs, {}).empty());
}

TEST_CASE("a long stretch without slices is left out of a timeline") {
  const std::vector<TraceSlice> slices = {{.begin = 100, .length = 40},
                                          {.begin = 130, .length = 20},
                                          {.begin = 160, .length = 50},
                                          {.begin = 1210, .length = 100}};
  const TimeScale time(slices);  // 200 traced, gaps of 10 and of 1000
  REQUIRE(time.breaks().size() == 1);
  CHECK(time.breaks()[0].at == 110);
  CHECK(time.breaks()[0].left_out == 1000);
  CHECK(time.break_length() == 2);
  CHECK(time.length() == 212);
  CHECK(time.shown(100) == 0);
  CHECK(time.shown(155) == 55);  // in a short gap
  CHECK(time.shown(1210) == 112);
  CHECK(time.shown(1310) == 212);
  TraceSlices trace;
  trace.slices = slices;
  CHECK(has(timeline(trace), "1 ms are left out"));
  trace.slices.pop_back();
  CHECK_FALSE(has(timeline(trace), "left out"));
}

TEST_CASE("runs with the same name are distinguished by their paths") {
  const Scratch scratch;
  write_run(scratch.path / "a" / "run");
  write_run(scratch.path / "b" / "run");
  const auto runs = read_runs({scratch.path / "a" / "run", scratch.path / "b" / "run"});
  CHECK(runs[0].name == (scratch.path / "a" / "run").string());
  CHECK(runs[0].name != runs[1].name);
}

TEST_CASE("a timeline shows the traced steps, each version in its colour") {
  const Scratch scratch;
  write_file(scratch.path / "trace.json", traced);
  const TraceSlices trace = read_trace(scratch.path / "trace.json");
  CHECK(trace.slices.size() == 6);
  CHECK(trace.first_step == 3);
  CHECK(trace.last_step == 4);
  const std::string picture = timeline(trace);
  CHECK(unbalanced(picture) == 0);
  CHECK(has(picture, "F0, step 3: 0.9 ms, version 2 of the weights"));
  CHECK(has(picture, "class=\"forward c0\""));
  CHECK(has(picture, "class=\"backward c1\""));
  CHECK(has(picture, "version 3</span>"));
  CHECK(has(picture, "<rect class=\"unversioned\""));  // the weight half of a backward
  const TraceSlices first = read_trace(scratch.path / "trace.json", 2);  // one step is always shown
  CHECK(first.last_step == 3);
}

TEST_CASE("slices of a stage that no model has are left out") {
  const Scratch scratch;
  write_file(
      scratch.path / "trace.json",
      "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"F0\",\"cat\":\"forward\",\"pid\":2147483647,"
      "\"ts\":5,\"dur\":9,\"args\":{\"step\":3}},{\"ph\":\"X\",\"name\":\"F0\",\"cat\":"
      "\"forward\",\"pid\":1,\"ts\":5,\"dur\":9,\"args\":{\"step\":3}}]}");
  const TraceSlices trace = read_trace(scratch.path / "trace.json");
  REQUIRE(trace.slices.size() == 1);
  CHECK(trace.slices[0].stage == 1);
}

TEST_CASE("a trace that cannot be shown says why") {
  const Scratch scratch;
  const auto problem = [&] { return read_trace(scratch.path / "trace.json").problem; };
  CHECK(has(problem(), "recorded no steps"));
  for (const std::string text :
       {"", "[]", "{\"traceEvents\":[{\"ph\":3}]}", "{\"traceEvents\":7}"}) {
    write_file(scratch.path / "trace.json", text);
    INFO(text);
    CHECK_FALSE(problem().empty());
    CHECK(timeline(read_trace(scratch.path / "trace.json")).empty());
  }
}

TEST_CASE("a curve breaks where a value is not finite, and is thinned to its picture") {
  CHECK(line_chart(chart_of({})).empty());
  CHECK(line_chart(chart_of({{1, std::nan("")}})).empty());
  const std::string broken = line_chart(chart_of({{1, 2}, {2, std::nan("")}, {3, 1}, {4, 1}}));
  const std::size_t path = broken.find("<path d=\"M");
  REQUIRE(path != std::string::npos);
  CHECK(broken.find('M', path + 10) != std::string::npos);
  std::vector<std::pair<double, double>> many;
  for (int i = 0; i < 100000; ++i) many.emplace_back(i, i % 7);
  CHECK(line_chart(chart_of(many)).size() < 12000);
}

TEST_CASE("a curve whose values differ in their last bits is drawn as a flat one") {
  for (const double value : {2.3005719390398087, 1e17, -1e-300}) {
    const double next = std::nextafter(value, 1e300);
    CHECK(line_chart(chart_of({{1, value}, {2, next}})).size() < 4000);
    CHECK(line_chart(chart_of({{std::abs(value), 1}, {std::abs(next), 2}})).size() < 4000);
  }
}

TEST_CASE("ticks are at round numbers") {
  CHECK(tick_step(10, 5) == Approx(2));
  CHECK(tick_step(0.7, 5) == Approx(0.2));
  CHECK(tick_step(450, 10) == Approx(50));
  CHECK(tick_step(1, 1) == Approx(1));
}

TEST_CASE("counts and times read well") {
  CHECK(count_text(7) == "7");
  CHECK(count_text(61706) == "61,706");
  CHECK(count_text(-1234567) == "-1,234,567");
  CHECK(seconds_text(0.523) == "0.52 s");
  CHECK(seconds_text(725) == "12 min 5 s");
  CHECK(seconds_text(12000) == "3 h 20 min");
}
