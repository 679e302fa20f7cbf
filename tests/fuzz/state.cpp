// Saved states of exported systems: any bytes are a state, which is written as the same bytes again, or a refusal.
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "../../ssptool/engine/system/state.hpp"

using namespace ssptool::runtime;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size)
{
    static const std::string token = "token", whole = to_bytes({}, {}, token);
    static const std::string head = whole.substr(0, whole.find(token) + token.size());
    const std::string bytes = head + std::string(reinterpret_cast<const char *>(data), size);
    std::vector<std::string> parts;
    try {
        const SystemState state = from_bytes(bytes, parts, token);
        if (to_bytes(state, parts, token) != bytes)
            std::abort();
    } catch (const std::exception &) {
    }
    return 0;
}
