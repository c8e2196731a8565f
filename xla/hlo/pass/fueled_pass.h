#ifndef XLA_HLO_PASS_FUELED_PASS_H_
#define XLA_HLO_PASS_FUELED_PASS_H_

#include <cstdint>
#include <memory>

namespace xla {

// A pass that can make only the first of its rewrites, to bisect which one
// breaks a module. Found among passes by dynamic_cast.
//
//   --fuel=hlo-rematerialization.rewrite=17
class FueledPass {
 public:
  virtual ~FueledPass() = default;

  // How many rewrites are left to all runs of all passes that share `fuel`;
  // each takes what it uses.
  virtual void SetRewriteFuel(std::shared_ptr<int64_t> fuel) = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_FUELED_PASS_H_
