// Bytes of good and spoiled files, made on the spot.
#pragma once

#include <cstdint>
#include <string>

std::string good_images();
std::string good_labels();

// A safetensors file of this header, whatever it says, and `data` after it.
std::string safetensors(const std::string& header, const std::string& data);
std::string good_weights();  // fc.weight [3, 2] and fc.bias [3], F32

std::string little_endian(std::uint64_t value);          // 8 bytes
std::string less(std::string bytes, std::size_t count);  // without the last `count`
std::string with_byte(std::string bytes, std::size_t at, int value);
std::string repeated(const std::string& text, int times);
