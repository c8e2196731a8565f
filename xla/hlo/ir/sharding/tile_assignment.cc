#include "xla/hlo/ir/tile_assignment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/sharding/tile_assignment_internal.h"
#include "xla/printer.h"

// A tile assignment is a rule (a transposed iota) where there is one, and
// otherwise an array of devices. Reshapes and transposes stay symbolic if they
// can, which matters with thousands of devices. The array of a rule is computed
// on first use, under a compare-and-exchange because shardings are read by
// several threads.

namespace xla {

using tile_assignment_internal::Dims;
using tile_assignment_internal::IotaWalker;

namespace {

// Steps an index through a row-major array. False after the last one.
bool NextIndex(absl::Span<const int64_t> dims, absl::Span<int64_t> index) {
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

}  // namespace

TileAssignment::TileAssignment(int64_t device_id) {
  const int64_t dims[] = {1};
  array_ = std::make_shared<const Array<int64_t>>(absl::MakeConstSpan(dims),
                                                  device_id);
}

TileAssignment::TileAssignment(const TileAssignment& other)
    : iota_(other.iota_), array_(std::atomic_load(&other.array_)) {}

TileAssignment& TileAssignment::operator=(const TileAssignment& other) {
  if (this != &other) {
    iota_ = other.iota_;
    array_ = std::atomic_load(&other.array_);
  }
  return *this;
}

bool TileAssignment::operator==(const TileAssignment& other) const {
  if (iota_ && other.iota_) return *iota_ == *other.iota_;
  if (dimensions() != other.dimensions()) return false;
  if (!iota_ && !other.iota_) {
    return array_ == other.array_ ||
           std::equal(array_->begin(), array_->end(), other.array_->begin());
  }
  const IotaTileAssignment& rule = iota_ ? *iota_ : *other.iota_;
  const Array<int64_t>& elements = iota_ ? *other.array_ : *array_;
  IotaWalker walker(rule.reshape_dims(), rule.transpose_perm());
  return std::all_of(elements.begin(), elements.end(),
                     [&](int64_t e) { return e == walker.Next(); });
}

int64_t TileAssignment::operator()(absl::Span<const int64_t> indexes) const {
  return iota_ ? iota_->value_at(indexes) : (*array_)(indexes);
}

int64_t TileAssignment::element_at(int64_t linear_index) const {
  return iota_ ? iota_->value_at_linear(linear_index)
               : array_->begin()[linear_index];
}

std::vector<int64_t> TileAssignment::index_for(int64_t device) const {
  if (iota_) return iota_->index_for(device);
  const auto it = std::find(array_->begin(), array_->end(), device);
  CHECK(it != array_->end())
      << "device " << device << " is not in " << ToString();
  int64_t linear = it - array_->begin();
  std::vector<int64_t> index(num_dimensions());
  for (int i = static_cast<int>(index.size()) - 1; i >= 0; --i) {
    index[i] = linear % dim(i);
    linear /= dim(i);
  }
  return index;
}

bool TileAssignment::contains(int64_t device) const {
  if (iota_) return device >= 0 && device < iota_->num_elements();
  return std::find(array_->begin(), array_->end(), device) != array_->end();
}

absl::Span<const int64_t> TileAssignment::dimensions() const {
  return iota_ ? iota_->dims() : array_->dimensions();
}

int64_t TileAssignment::num_elements() const {
  return iota_ ? iota_->num_elements() : array_->num_elements();
}

int64_t TileAssignment::first() const { return element_at(0); }

void TileAssignment::Each(
    absl::FunctionRef<void(absl::Span<const int64_t>, int64_t)> f) const {
  EachStatus([&](absl::Span<const int64_t> index, int64_t device) {
    f(index, device);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status TileAssignment::EachStatus(
    absl::FunctionRef<absl::Status(absl::Span<const int64_t>, int64_t)> f)
    const {
  if (num_elements() == 0) return absl::OkStatus();
  Dims index(num_dimensions(), 0);
  if (!iota_) {
    const int64_t* element = array_->begin();
    do {
      absl::Status status = f(index, *element++);
      if (!status.ok()) return status;
    } while (NextIndex(dimensions(), absl::MakeSpan(index)));
    return absl::OkStatus();
  }
  IotaWalker walker(iota_->reshape_dims(), iota_->transpose_perm());
  do {
    absl::Status status = f(index, walker.Next());
    if (!status.ok()) return status;
  } while (NextIndex(dimensions(), absl::MakeSpan(index)));
  return absl::OkStatus();
}

TileAssignment TileAssignment::Reshape(
    absl::Span<const int64_t> new_dimensions) const {
  if (iota_) return TileAssignment(iota_->Reshape(new_dimensions));
  auto reshaped = std::make_shared<Array<int64_t>>(*array_);
  reshaped->Reshape(new_dimensions);
  return TileAssignment(std::move(reshaped));
}

TileAssignment TileAssignment::Transpose(absl::Span<const int> perm) const {
  if (iota_) {
    if (std::optional<IotaTileAssignment> rule = iota_->Transpose(perm)) {
      return TileAssignment(*std::move(rule));
    }
  }
  auto transposed = shared_array_clone();
  transposed->TransposeDimensions(perm);
  return TileAssignment(std::move(transposed));
}

void TileAssignment::Print(Printer* printer) const {
  printer->Append("devices=");
  if (iota_) {
    iota_->Print(printer);
    return;
  }
  printer->Append("[");
  printer->AppendInt64List(dimensions(), /*leading_comma=*/false);
  printer->Append("]");
  PrintArray(printer);
}

void TileAssignment::PrintArray(Printer* printer) const {
  if (iota_) {
    iota_->PrintArray(printer);
  } else {
    printer->AppendInt64List(
        absl::MakeConstSpan(array_->begin(), array_->num_elements()),
        /*leading_comma=*/false);
  }
}

std::string TileAssignment::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

std::string TileAssignment::ArrayToString() const {
  StringPrinter printer;
  PrintArray(&printer);
  return std::move(printer).ToString();
}

const Array<int64_t>& TileAssignment::array() const {
  if (!iota_) return *array_;
  if (const Array<int64_t>* computed = array_ptr()) return *computed;
  auto computed = std::make_shared<const Array<int64_t>>(iota_->ToArray());
  // Another thread may win; its array stays.
  std::shared_ptr<const Array<int64_t>> expected;
  std::atomic_compare_exchange_strong(&array_, &expected, std::move(computed));
  return *array_ptr();
}

const Array<int64_t>* TileAssignment::array_ptr() const {
  return std::atomic_load(&array_).get();
}

std::shared_ptr<const Array<int64_t>> TileAssignment::shared_array() const {
  array();
  return std::atomic_load(&array_);
}

std::shared_ptr<Array<int64_t>> TileAssignment::shared_array_clone() const {
  if (iota_ && array_ptr() == nullptr) {
    return std::make_shared<Array<int64_t>>(iota_->ToArray());
  }
  return std::make_shared<Array<int64_t>>(array());
}

TileAssignment TileAssignment::ToV2() const {
  if (iota_) return *this;
  std::optional<IotaTileAssignment> rule =
      IotaTileAssignment::FromArray(*array_);
  return rule ? TileAssignment(*std::move(rule)) : *this;
}

std::ostream& operator<<(std::ostream& out,
                         const TileAssignment& tile_assignment) {
  return out << tile_assignment.ToString();
}

}  // namespace xla
