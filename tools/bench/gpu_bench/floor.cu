// Copies, which bound what kernels that wait for memory can do, and launches that
// do nothing.
#include <cstdio>
#include <cuda_runtime.h>
__global__ void Nothing() {}
__global__ void CopyKernel(const float4* from, float4* to, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x) to[i] = from[i];
}
template <class F> double Best(int turns, F f) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float best = 1e30f, ms = 0;
  for (int round = 0; round < 5; ++round) {
    cudaEventRecord(a);
    for (int i = 0; i < turns; ++i) f();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    cudaEventElapsedTime(&ms, a, b);
    if (ms / turns < best) best = ms / turns;
  }
  return 1e3 * best;
}
int main() {
  const size_t bytes = size_t(1) << 30;
  float4 *from, *to;
  cudaMalloc(&from, bytes);
  cudaMalloc(&to, bytes);
  cudaMemset(from, 1, bytes);
  cudaMemset(to, 2, bytes);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  const double memcpy_us = Best(10, [&] {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice); });
  const double kernel_us = Best(10, [&] {
    CopyKernel<<<p.multiProcessorCount * 8, 512>>>(from, to, bytes / 16); });
  const double one = Best(1, [&] { Nothing<<<1, 32>>>(); });
  const double row = Best(1000, [&] { Nothing<<<1, 32>>>(); });
  const double none = Best(1, [&] {});
  std::printf("{\"memcpy_bandwidth\": %g, \"kernel_bandwidth\": %g, "
              "\"launch_between_events_us\": %g, \"launch_in_row_us\": %g, "
              "\"events_us\": %g, \"error\": \"%s\", \"name\": \"%s\", "
              "\"multiprocessors\": %d, \"l2_bytes\": %d}\n",
              2e6 * bytes / memcpy_us, 2e6 * bytes / kernel_us, one, row, none,
              cudaGetErrorString(cudaDeviceSynchronize()), p.name,
              p.multiProcessorCount, p.l2CacheSize);
}
