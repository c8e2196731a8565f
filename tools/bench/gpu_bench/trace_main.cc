// Writes a line for each kernel that a CUDA program runs: its mangled name,
// begin and end on the GPU in ns, the graph it is played from (0: none),
// blocks, threads of a block, registers of a thread, and bytes of local memory
// of a thread and of shared memory of a block. A library that the driver loads
// where CUDA_INJECTION64_PATH names it; TRACE_FILE is where the lines go.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* file = nullptr;

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* records) {
  *size = size_t{4} << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *records = 0;
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t,
                         size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    std::fprintf(file, "%s %llu %llu %u %lld %lld %u %u %d\n", k->name,
                 (unsigned long long)k->start, (unsigned long long)k->end,
                 k->graphId, (long long)k->gridX * k->gridY * k->gridZ,
                 (long long)k->blockX * k->blockY * k->blockZ,
                 k->registersPerThread, k->localMemoryPerThread,
                 k->staticSharedMemory + k->dynamicSharedMemory);
  }
  std::fflush(file);
  std::free(buffer);
}

void Finish() { cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

}  // namespace

extern "C" int InitializeInjection() {
  const char* path = std::getenv("TRACE_FILE");
  file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return 1;
  const bool ok =
      cuptiActivityRegisterCallbacks(GiveBuffer, TakeBuffer) == CUPTI_SUCCESS &&
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ==
          CUPTI_SUCCESS;
  if (!ok) std::fprintf(stderr, "kernels cannot be traced\n");
  std::atexit(Finish);
  return 1;
}
