// Frozen plans (resources/plan.json): any text is a plan or a refusal.
#include <exception>
#include <string>

#include "../../ssptool/engine/system/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size)
{
    try {
        ssptool::runtime::plan_from(std::string(reinterpret_cast<const char *>(data), size));
    } catch (const std::exception &) {
    }
    return 0;
}
