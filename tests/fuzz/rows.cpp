// Rows of results as text: each cell fits into the room that was made, and each number reads back to the same bits.
#include "../../ssptool/engine/recording/_text.cpp"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size)
{
    if (size < 10)
        return 0;
    const std::size_t width = 1 + data[0] % 8, cells = (size - 1) / 8, count = cells / width;
    if (count == 0)
        return 0;
    std::vector<std::uint64_t> values(count * width);
    std::memcpy(values.data(), data + 1, values.size() * 8);
    std::vector<char> kinds(width);
    for (std::size_t column = 0; column < width; ++column)
        kinds[column] = "fiutb"[(data[0] / 8 + column) % 5];
    for (std::size_t i = 0; i < values.size(); ++i) // most numbers of texts exist
        if (kinds[i % width] == 't' || kinds[i % width] == 'b')
            values[i] %= 4;
    const Rows rows{
        values.data(), count, width, kinds.data(), {"", "\"a\"", "\"long,er\""}, {"", "\"00\"", "\"ff00\""}};
    if (const std::size_t most = room(rows)) {
        const std::unique_ptr<char[]> text(new char[most]);
        if (static_cast<std::size_t>(write(text.get(), rows) - text.get()) > most)
            std::abort();
    }
    for (const std::uint64_t cell : values) {
        const auto value = std::bit_cast<double>(cell);
        char digits[longest + 1];
        *write_number(digits, value) = '\0';
        const double again = std::strtod(digits, nullptr);
        if (!std::isnan(value) && std::bit_cast<std::uint64_t>(again) != cell)
            std::abort();
    }
    return 0;
}
