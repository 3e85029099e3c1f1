// The three warm-ups of order.hpp as numbers of forwards.
#include "order/order.hpp"

namespace pipetrain {

int warmup_forwards(Warmup warmup, int stages, StageId stage) {
  const int behind = stages - 1 - stage.value;
  switch (warmup) {
    case Warmup::OneFOneB:
      return behind;
    case Warmup::Double:
      return 2 * behind;
    case Warmup::Full:
      return 2 * behind + 1;
  }
  return behind;
}

}  // namespace pipetrain
