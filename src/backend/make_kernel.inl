// Declares, in the namespace that includes this file and for its own Problem, how a backend makes
// the kernels of each kind of layer. Elementwise kinds share one kernel.
#define PIPETRAIN_MAKE_KERNEL(Kind) \
  std::unique_ptr<Kernel> make_kernel(const Kind& spec, Problem problem);
#define PIPETRAIN_SHARES_ITS_KERNEL(Kind)
PIPETRAIN_LAYER_KINDS(PIPETRAIN_MAKE_KERNEL, PIPETRAIN_SHARES_ITS_KERNEL)
#undef PIPETRAIN_SHARES_ITS_KERNEL
#undef PIPETRAIN_MAKE_KERNEL
std::unique_ptr<Kernel> make_kernel(const ElementwiseSpec& spec, Problem problem);
