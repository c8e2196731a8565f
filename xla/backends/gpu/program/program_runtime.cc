#include "xla/backends/gpu/program/program_runtime.h"

namespace xla::gpu {

const char kProgramRuntime[] = R"cuda(
#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>

// ---- errors ----

[[noreturn]] static void Fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}
static void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    Fail(std::string(what) + ": " + cudaGetErrorString(error));
  }
}

// ---- the one allocation ----

static char* memory = nullptr;
static cudaStream_t stream;

struct Address {
  char* p;
  template <class T> operator T*() const { return reinterpret_cast<T*>(p); }
};
static Address At(Index offset) { return {memory + offset}; }
static void Copy(Index to, Index from, Index bytes) {
  if (to == from || bytes == 0) return;
  Check(cudaMemcpyAsync(memory + to, memory + from, bytes,
                        cudaMemcpyDeviceToDevice, stream), "copy");
}
static const unsigned char kZero[8] = {};
static void Write(Index to, const void* from, Index bytes) {
  Check(cudaMemcpyAsync(memory + to, from, bytes, cudaMemcpyHostToDevice,
                        stream), "write");
}
template <class T> static T Read(Index from) {
  T value;
  Check(cudaMemcpyAsync(&value, memory + from, sizeof(T),
                        cudaMemcpyDeviceToHost, stream), "read");
  Check(cudaStreamSynchronize(stream), "read");
  return value;
}
// The start of a dynamic slice, clamped to 0 and `most`.
template <class T> static Index Start(Index from, Index most) {
  const Index start = Index(Read<T>(from));
  return start < 0 ? 0 : start > most ? most : start;
}

// ---- graphs ----

static bool use_graphs = true;
static bool use_tf32 = false;  // --tf32: f32 by 19 of its bits

// Runs steps in which the host waits for nothing. The second time they become a
// graph, since the first one loads what they need; graphs inside of others are
// part of them.
static void Play(void (*steps)()) {
#ifndef KIR_SHIM
  static bool is_capturing = false;
  static std::map<void (*)(), cudaGraphExec_t> graphs;
  const auto [place, is_first] = graphs.insert({steps, nullptr});
  if (use_graphs && !is_capturing && !is_first) {
    if (place->second == nullptr) {
      cudaGraph_t graph;
      is_capturing = true;
      Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed),
            "graph");
      steps();
      Check(cudaStreamEndCapture(stream, &graph), "graph");
      is_capturing = false;
      Check(cudaGraphInstantiate(&place->second, graph, 0), "graph");
      Check(cudaGraphDestroy(graph), "graph");
    }
    Check(cudaGraphLaunch(place->second, stream), "graph");
    return;
  }
#endif
  steps();
}

// ---- times ----

static double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Microseconds of launches by name; null: not taken.
static std::map<std::string, std::vector<double>>* times = nullptr;
static cudaEvent_t time_begin, time_end;

static void Begin() { Check(cudaEventRecord(time_begin, stream), "event"); }
// Microseconds since Begin().
static double End(const char* what) {
  float milliseconds = 0;
  Check(cudaEventRecord(time_end, stream), what);
  Check(cudaEventSynchronize(time_end), what);
  Check(cudaEventElapsedTime(&milliseconds, time_begin, time_end), what);
  return 1e3 * milliseconds;
}

#define RUN(name, launch)                                 \
  do {                                                    \
    if (times != nullptr) Begin();                        \
    Check(launch, name);                                  \
    if (times != nullptr) (*times)[name].push_back(End(name)); \
  } while (0)

// What events add to the time of one launch: that of an empty kernel, less what
// it takes where many follow one another.
__global__ void kir_nothing(int) {}
static double Overhead() {
#ifdef KIR_SHIM
  return 0;
#else
  std::vector<double> one, many;
  for (int run = 0; run < 20; ++run) {
    Begin();
    KIR_LAUNCH(kir_nothing, 1, 32, 0, stream, 0);
    one.push_back(End("nothing"));
    Begin();
    for (int k = 0; k < 100; ++k) KIR_LAUNCH(kir_nothing, 1, 32, 0, stream, 0);
    many.push_back(End("nothing") / 100);
  }
  return std::max(0.0, Median(one) - Median(many));
#endif
}

// ---- arrays in .npz files ----

// Not by a stream: it opens a folder, and throws when it reads.
static std::string ReadFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  std::string bytes;
  char part[1 << 16];
  while (file != nullptr) {
    const size_t read = std::fread(part, 1, sizeof(part), file);
    bytes.append(part, read);
    if (read < sizeof(part)) break;
  }
  if (file == nullptr || std::ferror(file)) {
    Fail("cannot read " + path + ": " + std::strerror(errno));
  }
  std::fclose(file);
  return bytes;
}

// An input or a result: the names it may have, NumPy's type, the bits of an
// element in memory if several share a byte and whether these are signed, the
// extents, the order in memory (the fastest dimension first) and the place.
struct Array {
  std::vector<std::string> names;
  std::string type;
  Index element_bytes;
  int packed_bits;
  bool is_signed;
  std::vector<Index> extents;
  std::vector<int> minor_to_major;
  Index offset;

  Index Count() const {
    Index count = 1;
    for (Index extent : extents) count *= extent;
    return count;
  }
  Index Bytes() const { return Count() * element_bytes; }
  Index MemoryBytes() const {
    return packed_bits == 0 ? Bytes() : (Count() * packed_bits + 7) / 8;
  }
};

// Elements that share bytes, the first one in the lowest bits, and elements
// with a byte each, whose sign goes along.
static std::vector<char> Packed(const Array& array, std::vector<char> bytes) {
  const int bits = array.packed_bits;
  if (bits == 0) return bytes;
  std::vector<char> packed(array.MemoryBytes());
  for (Index i = 0; i < Index(bytes.size()); ++i) {
    packed[i * bits / 8] |= (bytes[i] & ((1 << bits) - 1)) << i * bits % 8;
  }
  return packed;
}
static std::vector<char> Unpacked(const Array& array, std::vector<char> packed) {
  const int bits = array.packed_bits, above = 8 - bits;
  if (bits == 0) return packed;
  std::vector<char> bytes(array.Count());
  for (Index i = 0; i < Index(bytes.size()); ++i) {
    const unsigned char high = (unsigned char)packed[i * bits / 8]
                               << (above - i * bits % 8);
    bytes[i] = array.is_signed ? char((signed char)high >> above)
                               : char(high >> above);
  }
  return bytes;
}

struct Npy {
  std::string type;
  bool fortran = false;
  std::vector<Index> extents;
  const char* data = nullptr;
  Index bytes = 0;
};

static Index Little(const char* p, int bytes) {
  Index value = 0;
  for (int b = bytes; b-- > 0;) value = value << 8 | (unsigned char)p[b];
  return value;
}

static std::string After(const std::string& header, const char* key) {
  const size_t at = header.find(key);
  if (at == std::string::npos) Fail(std::string("a header without ") + key);
  return header.substr(header.find(':', at) + 1);
}

static Npy ParseNpy(const std::string& name, const char* data, Index bytes) {
  if (bytes < 10 || std::memcmp(data, "\x93NUMPY", 6) != 0) {
    Fail(name + " is not an .npy array");
  }
  const int length_bytes = data[6] == 1 ? 2 : 4;
  const Index begin = 8 + length_bytes + Little(data + 8, length_bytes);
  if (begin > bytes) Fail(name + " is cut off");
  const std::string header(data + 8 + length_bytes, data + begin);
  Npy npy;
  const std::string type = After(header, "'descr'");
  const size_t quote = type.find('\'');
  npy.type = type.substr(quote + 1, type.find('\'', quote + 1) - quote - 1);
  npy.fortran = After(header, "'fortran_order'").compare(0, 5, " True") == 0;
  std::string shape = After(header, "'shape'");
  shape = shape.substr(shape.find('(') + 1);
  for (const char* p = shape.c_str(); *p != ')' && *p != 0;) {
    char* end = nullptr;
    const Index extent = std::strtoll(p, &end, 10);
    if (end == p) {
      ++p;
    } else {
      npy.extents.push_back(extent);
      p = end;
    }
  }
  npy.data = data + begin;
  npy.bytes = bytes - begin;
  return npy;
}

// Members that are stored, as numpy.savez writes them.
static std::map<std::string, Npy> ParseNpz(const std::string& path,
                                           const std::string& zip) {
  std::map<std::string, Npy> arrays;
  Index end = Index(zip.size()) - 22;
  while (end >= 0 && zip.compare(end, 4, "PK\5\6") != 0) --end;
  if (end < 0) Fail(path + " is not an .npz file");
  Index count = Little(&zip[end + 10], 2), at = Little(&zip[end + 16], 4);
  if (at == 0xffffffff && end >= 20) {
    const Index wide = Little(&zip[end - 20 + 8], 8);
    count = Little(&zip[wide + 32], 8);
    at = Little(&zip[wide + 48], 8);
  }
  for (; count > 0; --count) {
    if (at + 46 > Index(zip.size())) Fail(path + " is cut off");
    Index bytes = Little(&zip[at + 24], 4), local = Little(&zip[at + 42], 4);
    const Index name_bytes = Little(&zip[at + 28], 2);
    const Index extra_bytes = Little(&zip[at + 30], 2);
    std::string name = zip.substr(at + 46, name_bytes);
    if (Little(&zip[at + 10], 2) != 0) {
      Fail(path + ": " + name + " is compressed; write it with numpy.savez");
    }
    Index extra = at + 46 + name_bytes + 4;
    if (bytes == 0xffffffff) {
      bytes = Little(&zip[extra], 8);
      extra += Little(&zip[at + 20], 4) == 0xffffffff ? 16 : 8;
    }
    if (local == 0xffffffff) local = Little(&zip[extra], 8);
    const Index begin = local + 30 + Little(&zip[local + 26], 2) +
                        Little(&zip[local + 28], 2);
    if (begin + bytes > Index(zip.size())) Fail(path + " is cut off");
    const size_t suffix = name.rfind(".npy");
    if (suffix != std::string::npos) name = name.substr(0, suffix);
    arrays[name] = ParseNpy(name, &zip[begin], bytes);
    at += 46 + name_bytes + extra_bytes + Little(&zip[at + 32], 2);
  }
  return arrays;
}

// Between the order of a file and that of memory, element by element.
static void Reorder(const Array& array, bool fortran, const char* file,
                    char* in_memory, bool to_memory) {
  const int rank = int(array.extents.size());
  std::vector<Index> file_stride(rank), memory_stride(rank), index(rank);
  Index stride = 1;
  for (int d : array.minor_to_major) {
    memory_stride[d] = stride;
    stride *= array.extents[d];
  }
  stride = 1;
  for (int k = 0; k < rank; ++k) {
    const int d = fortran ? k : rank - 1 - k;
    file_stride[d] = stride;
    stride *= array.extents[d];
  }
  const Index size = array.element_bytes;
  if (file_stride == memory_stride) {
    if (to_memory) std::memcpy(in_memory, file, array.Bytes());
    else std::memcpy(const_cast<char*>(file), in_memory, array.Bytes());
    return;
  }
  for (Index n = array.Count(); n > 0; --n) {
    Index f = 0, m = 0;
    for (int d = 0; d < rank; ++d) {
      f += index[d] * file_stride[d];
      m += index[d] * memory_stride[d];
    }
    if (to_memory) std::memcpy(in_memory + m * size, file + f * size, size);
    else std::memcpy(const_cast<char*>(file) + f * size, in_memory + m * size, size);
    for (int d = rank; d-- > 0;) {
      if (++index[d] < array.extents[d]) break;
      index[d] = 0;
    }
  }
}

static std::string ShapeText(const std::vector<Index>& extents) {
  std::string text = "(";
  for (size_t d = 0; d < extents.size(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(extents[d]);
  }
  return text + (extents.size() == 1 ? ",)" : ")");
}

static std::vector<char> InMemory(const Array& array,
                                  const std::map<std::string, Npy>& file) {
  for (const std::string& name : array.names) {
    const auto found = file.find(name);
    if (found == file.end()) continue;
    const Npy& npy = found->second;
    // Raw bytes have no order of bytes.
    const bool same_type = npy.type.size() == array.type.size() &&
                           npy.type.compare(1, std::string::npos, array.type,
                                            1, std::string::npos) == 0 &&
                           npy.type[0] != '>';
    if (!same_type || npy.extents != array.extents ||
        npy.bytes < array.Bytes()) {
      Fail(name + " is " + npy.type + ShapeText(npy.extents) + ", not " +
           array.type + ShapeText(array.extents));
    }
    std::vector<char> bytes(array.Bytes());
    Reorder(array, npy.fortran, npy.data, bytes.data(), true);
    return Packed(array, std::move(bytes));
  }
  Fail("the inputs have no array " + array.names[0]);
}

static void Append(std::string& text, Index value, int bytes) {
  for (int b = 0; b < bytes; ++b) text += char(value >> (8 * b) & 255);
}

static Index Crc(const std::string& bytes) {
  unsigned table[256];
  for (unsigned n = 0; n < 256; ++n) {
    table[n] = n;
    for (int k = 0; k < 8; ++k) {
      table[n] = table[n] >> 1 ^ (table[n] & 1 ? 0xedb88320u : 0);
    }
  }
  unsigned crc = ~0u;
  for (unsigned char c : bytes) crc = table[(crc ^ c) & 255] ^ crc >> 8;
  return ~crc;
}

static std::string NpyOf(const Array& array, const char* in_memory) {
  std::string header = "{'descr': '" + array.type +
                       "', 'fortran_order': False, 'shape': " +
                       ShapeText(array.extents) + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string npy = std::string("\x93NUMPY\1", 7) + '\0';
  Append(npy, Index(header.size()), 2);
  npy += header;
  std::string data(array.Bytes(), 0);
  Reorder(array, false, &data[0], const_cast<char*>(in_memory), false);
  return npy + data;
}

static void WriteNpz(const std::string& path,
                     const std::vector<std::pair<std::string, std::string>>& npys) {
  std::string zip, directory;
  for (const auto& [name, npy] : npys) {
    if (zip.size() + npy.size() > 0xfffffff0) {
      Fail("results of more than 4 GiB do not fit into a .npz file");
    }
    const std::string file = name + ".npy";
    std::string common;  // version, flags, method, time, date, crc, sizes
    Append(common, 20, 2);
    Append(common, 0, 2);
    Append(common, 0, 2);
    Append(common, 0, 2);
    Append(common, 33, 2);
    Append(common, Crc(npy), 4);
    Append(common, Index(npy.size()), 4);
    Append(common, Index(npy.size()), 4);
    Append(common, Index(file.size()), 2);
    Append(common, 0, 2);
    directory += "PK\1\2";
    Append(directory, 20, 2);
    directory += common;
    Append(directory, 0, 6);
    Append(directory, 0, 4);
    Append(directory, Index(zip.size()), 4);
    directory += file;
    zip += "PK\3\4" + common + file + npy;
  }
  const Index begin = Index(zip.size());
  zip += directory + "PK\5\6";
  Append(zip, 0, 4);
  Append(zip, Index(npys.size()), 2);
  Append(zip, Index(npys.size()), 2);
  Append(zip, Index(directory.size()), 4);
  Append(zip, begin, 4);
  Append(zip, 0, 2);
  std::ofstream out(path, std::ios::binary);
  out.write(zip.data(), zip.size());
  out.close();
  if (!out) Fail("cannot write " + path);
}
#endif

)cuda";

const char kProgramMain[] = R"cuda(
#ifndef __CUDACC_RTC__
static void WriteTimes(const std::string& path, double overhead, double step) {
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "device");
  std::ofstream out(path);
  out << "{\n  \"module\": \"" << kModule << "\",\n  \"device\": \""
      << properties.name << "\",\n  \"step_microseconds\": " << step
      << ",\n  \"kernels\": [";
  const char* separator = "\n";
  for (const auto& [name, values] : *times) {
    out << separator << "    {\"name\": \"" << name << "\", \"launches\": "
        << values.size() << ", \"microseconds\": "
        << std::max(0.1, Median(values) - overhead) << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
  out.close();
  if (!out) Fail("cannot write " + path);
}

// Runs the module, whose inputs may be written over.
static void RunOnce(const std::vector<std::vector<char>>& inputs,
                    double* microseconds) {
  WriteConstants();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Write(kInputs[i].offset, inputs[i].data(), inputs[i].size());
  }
  Check(cudaStreamSynchronize(stream), "inputs");
  Begin();
  RunModule();
  *microseconds = End("run");
}

// Each kernel by itself, then whole steps, the last of which leaves the results.
static void TakeTimes(const std::vector<std::vector<char>>& inputs, int repeat,
                      const std::string& path) {
  std::map<std::string, std::vector<double>> taken;
  std::vector<double> steps(repeat);
  double unused = 0;
  const double overhead = Overhead();
  const bool with_graphs = use_graphs;
  use_graphs = false;
  times = &taken;
  for (int run = 0; run < repeat; ++run) RunOnce(inputs, &unused);
  times = nullptr;
  use_graphs = with_graphs;
  RunOnce(inputs, &unused);  // makes the graphs
  for (double& step : steps) RunOnce(inputs, &step);
  times = &taken;
  WriteTimes(path, overhead, Median(steps));
}

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  std::string timings;
  int repeat = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.compare(0, 10, "--timings=") == 0) timings = arg.substr(10);
    else if (arg.compare(0, 9, "--repeat=") == 0) repeat = std::atoi(&arg[9]);
    else if (arg == "--graphs=0") use_graphs = false;
    else if (arg == "--tf32") use_tf32 = true;
#ifdef KIR_PRODUCTS
    else if (arg == "--products=own") own_products = true;
    else if (arg.compare(0, 12, "--workspace=") == 0) workspace_bytes = std::atoll(&arg[12]);
#endif
    else paths.push_back(arg);
  }
  if (paths.size() != 2 || repeat < 1) {
    std::fprintf(stderr, "usage: %s INPUTS.npz RESULTS.npz [--timings=FILE.json]"
                 " [--repeat=TIMES] [--graphs=0] [--tf32]%s\n", argv[0],
#ifdef KIR_PRODUCTS
                 " [--products=own] [--workspace=BYTES]"
#else
                 ""
#endif
                 );
    return 2;
  }
  const std::string zip = ReadFile(paths[0]);
  const std::map<std::string, Npy> file = ParseNpz(paths[0], zip);
  std::vector<std::vector<char>> inputs;
  for (const Array& array : kInputs) inputs.push_back(InMemory(array, file));

  Check(cudaStreamCreate(&stream), "stream");
  Check(kir_allow_tf32(use_tf32), "tf32");
  Check(cudaMalloc((void**)&memory, kMemoryBytes), "memory");
  Check(cudaEventCreate(&time_begin), "event");
  Check(cudaEventCreate(&time_end), "event");
  double unused = 0;
  RunOnce(inputs, &unused);
  if (!timings.empty()) TakeTimes(inputs, repeat, timings);

  std::vector<std::pair<std::string, std::string>> npys;
  for (const Array& array : kResults) {
    std::vector<char> bytes(array.MemoryBytes());
    Check(cudaMemcpy(bytes.data(), memory + array.offset, bytes.size(),
                     cudaMemcpyDeviceToHost), "read");
    npys.push_back({array.names[0], NpyOf(array, Unpacked(array, std::move(bytes)).data())});
  }
  WriteNpz(paths[1], npys);
  Check(cudaFree(memory), "memory");
  return 0;
}
#endif
)cuda";

}  // namespace xla::gpu
