// What follows from a config before anything is built: lengths, segments, the mini-batch to
// overfit.
#include "run/session.hpp"

#include "catch.hpp"
#include "run/run_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("epochs are counted in whole mini-batches", "[session]") {
  const auto length_of = [](const std::vector<std::string>& sets) {
    const RunRig rig(sets);
    return rig.length();
  };
  const TrainingLength steps = length_of({"training.steps=3"});
  CHECK(steps.steps_per_epoch == 4);
  CHECK(steps.steps == 3);
  const RunRig rig;
  Config epochs = rig.config();
  epochs.training.steps = 0;
  epochs.training.epochs = 3;
  CHECK(training_length(epochs, *rig.data().train).steps == 12);
  CHECK(length_of({"data.train_samples=33", "data.drop_last=true"}).steps_per_epoch == 4);
}

TEST_CASE("a segment ends at the next validation, checkpoint or the end", "[session]") {
  Config config;
  const TrainingLength length{.steps_per_epoch = 10, .steps = 25};
  CHECK(segment_end(config, length, 0) == 25);
  config.checkpoint.every_steps = 7;
  CHECK(segment_end(config, length, 0) == 7);
  CHECK(segment_end(config, length, 7) == 14);
  config.validation.every_epochs = 1;
  CHECK(segment_end(config, length, 7) == 10);
  CHECK(segment_end(config, length, 21) == 25);
}

TEST_CASE("a segment is closed before its micro-batches are too many to count", "[session]") {
  Config config;
  config.pipeline.microbatches = 64;
  const TrainingLength length{.steps_per_epoch = 10, .steps = 2147483647};
  const std::int64_t end = segment_end(config, length, 1000) - 1000;
  CHECK(end * 64 <= 1 << 30);
  CHECK(end * 64 > 1 << 29);
}

TEST_CASE("more epochs than updates can be counted are refused", "[session]") {
  const RunRig rig;  // 4 mini-batches an epoch
  Config config = rig.config();
  config.training.steps = 0;
  config.training.epochs = 2147483647;
  CHECK_THROWS_WITH(training_length(config, *rig.data().train),
                    "training.epochs: 2147483647 epochs of 4 mini-batches are more than 2147483647 "
                    "updates; write 536870911 or less");
}

TEST_CASE("one batch to overfit is the first one, for 500 steps, without validation", "[session]") {
  Config config;
  config.name = "net";
  config.data.kind = DataKind::Synthetic;
  config.data.batch_size = 8;
  config.data.train_samples = 100;
  config.training.epochs = 3;
  config.validation.every_steps = 2;
  const Config one = overfit_one_batch(config);
  CHECK(one.data.train_samples == 8);
  CHECK(one.training.steps == 500);
  CHECK(one.training.epochs == 0);
  CHECK_FALSE(asks_for_validation(one));
  CHECK(one.name == "net-overfit-one-batch");
  config.training.steps = 20;
  CHECK(overfit_one_batch(config).training.steps == 20);
}

TEST_CASE("one batch of files begins where the config's range does", "[session]") {
  Config config;
  config.data.kind = DataKind::Idx;
  config.data.batch_size = 8;
  CHECK(overfit_one_batch(config).data.train_range->last == 8);
  config.data.train_range = SampleRange{10, 100};
  CHECK(overfit_one_batch(config).data.train_range->first == 10);
  CHECK(overfit_one_batch(config).data.train_range->last == 18);
  config.data.train_range = SampleRange{10, 12};
  CHECK(overfit_one_batch(config).data.train_range->last == 12);
}

TEST_CASE("validation is over every sample, in their order", "[session]") {
  RunRig rig;
  const OrderOptions order = evaluation_order(rig.config());
  CHECK(order.batch_size == 8);
  CHECK_FALSE(order.shuffle);
  CHECK_FALSE(order.drop_last);
  RunRig wide({"validation.batch_size=5", "validation.every_steps=1"});
  CHECK(evaluation_order(wide.config()).batch_size == 5);
  const Evaluation e = evaluate(wide.pipeline(), *wide.data().validation, wide.config());
  CHECK(e.samples == 16);
  CHECK(e.loss > 0);
  CHECK_FALSE(e.top5);  // of three classes
  CHECK_FALSE(e.perplexity);
}
