// A convolution as cuDNN sees it: its sizes, its descriptors, and the algorithms that compute it.
// Algorithms come from short lists of those that are bitwise reproducible, the first that every
// device of the backend can do; failing that, from cuDNN's advice for the shape. Never from
// timings, which would choose one algorithm in one run and another in the next.
#pragma once

#include <array>
#include <initializer_list>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/handles.hpp"
#include "backend/cuda/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cuda {

// In the order of the arguments of cuDNN's descriptors.
struct ConvolutionPlan {
  std::array<int, 4> input{}, output{};  // samples, channels, height, width
  std::array<int, 4> filter{};           // out channels, in channels per group, height, width
  std::array<int, 2> padding{}, stride{};
  int groups = 1;
};

// DeviceError if a tensor has more elements than cuDNN's descriptors can count.
ConvolutionPlan plan_convolution(const Conv2d& spec, const Problem& problem);

struct ConvolutionDescriptors {
  TensorDescriptor input, output;
  FilterDescriptor filter;
  ConvolutionDescriptor product;
  ConvolutionDescriptors(const std::string& layer, const ConvolutionPlan& plan);
};

template <class Algorithm>
struct Chosen {
  Algorithm algorithm{};
  std::size_t workspace_bytes = 0;  // the most that any device of the backend wants
};

// Chooses algorithms for convolutions that run on all of a backend's devices.
class ConvolutionAlgorithms {
 public:
  explicit ConvolutionAlgorithms(std::span<const int> devices);

  using Forward = Chosen<cudnnConvolutionFwdAlgo_t>;
  using BackwardData = Chosen<cudnnConvolutionBwdDataAlgo_t>;
  using BackwardFilter = Chosen<cudnnConvolutionBwdFilterAlgo_t>;

  // DeviceError if no algorithm can compute it. Thread-safe.
  Forward forward(const std::string& layer, const ConvolutionDescriptors& d) const;
  BackwardData backward_data(const std::string& layer, const ConvolutionDescriptors& d) const;
  BackwardFilter backward_filter(const std::string& layer, const ConvolutionDescriptors& d) const;

 private:
  struct Library {
    int device;
    Cudnn cudnn;
    explicit Library(int of) : device(make_current(of)) {}
    ~Library() { forget(cudaSetDevice(device)); }  // before the handle goes
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
  };
  struct Purpose {  // for error messages
    const std::string& layer;
    const char* what;
  };

  // The first candidate for which ask(handle, candidate, &bytes) returns success on every device;
  // if there is none, how cuDNN refused the last is in `refusal`.
  template <class Algorithm, class Ask>
  std::optional<Chosen<Algorithm>> first_that_works(const Purpose& purpose,
                                                    std::span<const Algorithm> candidates, Ask ask,
                                                    cudnnStatus_t& refusal) const;
  // Those results of advise(handle, most, &count, results) that are bitwise reproducible in f32.
  template <class Performance, class Advise>
  auto advised(const Purpose& purpose, Advise advise) const;
  template <class Performance, class Algorithm, class Ask, class Advise>
  Chosen<Algorithm> choose(const Purpose& purpose, std::initializer_list<Algorithm> candidates,
                           Ask ask, Advise advise) const;

  const std::list<Library>& libraries() const;  // requires the mutex

  std::set<int> devices_;
  mutable std::mutex mutex_;  // a handle serves one thread at a time
  mutable std::list<Library> libraries_;
};

}  // namespace pipetrain::cuda
