#include "data/dataset.hpp"

#include "data/sample_order.hpp"

namespace pipetrain {

std::unique_ptr<MinibatchOrder> Dataset::order(const OrderOptions& options) const {
  return std::make_unique<SampleOrder>(size(), options);
}

}  // namespace pipetrain
