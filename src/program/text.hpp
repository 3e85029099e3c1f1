// The text of instructions and programs. It round-trips: parse(to_text(x)) == x, doubles included.
//
//   instruction   STAGE OP MICROBATCH [WEIGHTS]      2F0  0L3  1SA2  3U7@1
//   OP            L F B I W R SA RA SG RG Y U BH BT BU TU WU   (program.hpp)
//   WEIGHTS       @4            version 4 as stored; nothing means @0
//                 @4-1.5d       version 4 less 1.5 times the mean update
//                 @4~2*0.25     three quarters of version 4, one quarter of version 2
//
//   program stages=2 microbatches=2 minibatches=1 [placement=0,1+2,..] [copies=in-turn]
//   [sync=0,-,..]
//           [gradients=together] [period=2]      (one line; program.hpp says what they mean)
//   0: 0L0 0F0 0SA0 ...
//   1: 1RA0 1F0 ...
// Blank lines and lines that begin with # are skipped.
#pragma once

#include <string>
#include <string_view>

#include "program/program.hpp"

namespace pipetrain {

std::string_view letters(Op op);
std::string_view op_name(Op op);  // "forward", "send activation": for sentences and legends

std::string to_text(const Instruction& instruction);
void append_text(std::string& text, const Instruction& instruction);
std::string short_text(const Instruction& instruction);  // without weights, for tables: 2F3
std::string to_text(const Program& program);

// Both throw a UsageError that names the token and, if there is one, the line.
Instruction parse_instruction(std::string_view text);
Program parse_program(std::string_view text);

}  // namespace pipetrain
