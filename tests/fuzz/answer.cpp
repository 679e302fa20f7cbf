// Answers of a process with an FMU in shared memory: whatever stands there, the client takes values within its memory
// and contents within the channel, or refuses them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "../../ssptool/fmu/processes/native/arguments.hpp"

using namespace ssptool::processes;

namespace
{

constexpr std::size_t count = 5, most = 1 << 15;

template <class Kind, class T>
bool taken(Channel &channel, const std::uint64_t *slots, std::uint64_t end, T *values, const std::size_t *lengths,
           Lent &lent)
{
    return Kind::take(values, Returned{channel, end}, slots, slots[1], lengths, lent);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size)
{
    static Channel channel(memfd_create("fuzz", MFD_ALLOW_SEALING), true);
    if (size < 32)
        return 0;
    // Slots are those of the client, whose places it has chosen itself; lengths are checked before (`holds`).
    const std::uint64_t place = 8 * (1 + data[0] % 16), end = place + 8 * count;
    const std::uint64_t slots[] = {count, place};
    const std::size_t used = std::min<std::size_t>(size - 16, most);
    const bool at_the_end = data[1] % 4 == 0;
    std::memset(channel.data(0), data[2], 2 * most);
    std::memcpy(channel.data(place), data + 16, used - used % 8);
    if (at_the_end)
        std::memset(channel.data(channel.capacity() - 64), 'x', 64);
    Lent lent;
    const char *texts[count];
    if (taken<OutTexts<0>>(channel, slots, end, texts, nullptr, lent))
        for (const char *text : texts)
            if (text != nullptr && (text < lent.data() || text + std::strlen(text) >= lent.data() + lent.size()))
                std::abort();
    std::size_t lengths[count];
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&lengths[i], data + 3 + 2 * i, 2);
    if (data[13] % 8 == 0)
        lengths[0] = ~std::size_t{0} - data[14];
    const std::uint8_t *bytes[count];
    if (taken<OutBytes<0, 0>>(channel, slots, end, bytes, lengths, lent))
        for (std::size_t i = 0; i < count; ++i)
            if (bytes[i] != nullptr &&
                reinterpret_cast<const char *>(bytes[i]) + lengths[i] > lent.data() + lent.size())
                std::abort();
    double numbers[count];
    taken<Out<double, 0>>(channel, slots, end, numbers, nullptr, lent);
    bool switches[count];
    taken<Out<bool, 0>>(channel, slots, end, switches, nullptr, lent);
    for (const bool &one : switches)
        if (reinterpret_cast<const unsigned char &>(one) > 1)
            std::abort();
    return 0;
}
