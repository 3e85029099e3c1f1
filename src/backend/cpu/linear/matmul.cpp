#include "backend/cpu/linear/matmul.hpp"

namespace pipetrain::cpu {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

Desc Matrix::layout() const {
  const Type type = element == Element::Bf16 ? Type::bf16 : Type::f32;
  return {{rows, columns},
          type,
          transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1}};
}

Desc in_blocks(std::int64_t rows, std::int64_t columns) {
  const Tag tag = columns > 48   ? Tag::BA16a64b2a
                  : columns > 32 ? Tag::BA16a48b2a
                  : columns > 16 ? Tag::BA16a32b2a
                                 : Tag::BA16a16b2a;
  return {{rows, columns}, Type::bf16, tag};
}

PreparedCall matmul(const std::string& layer, const Desc& left, const Desc& right,
                    const std::optional<Desc>& bias, const Desc& result,
                    const MatmulOptions& options) {
  return with_onednn(layer, "matrix product", [&] {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops operations;
    if (options.with_relu) operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    if (options.accumulates) operations.append_sum(1);
    attributes.set_post_ops(operations);
    std::vector<PreparedCall::Argument> arguments{{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}};
    if (bias) arguments.push_back({DNNL_ARG_BIAS, *bias});
    arguments.push_back({DNNL_ARG_DST, result});
    const auto description =
        bias ? dnnl::matmul::primitive_desc(engine(), left, right, *bias, result, attributes)
             : dnnl::matmul::primitive_desc(engine(), left, right, result, attributes);
    return PreparedCall(dnnl::matmul(description), arguments, description.scratchpad_desc());
  });
}

}  // namespace pipetrain::cpu
