#ifndef XLA_HLO_PIPELINE_C_API_HLO_C_H_
#define XLA_HLO_PIPELINE_C_API_HLO_C_H_

#include <stddef.h>
#include <stdint.h>

// The work of the tools as functions of C, for other languages: a shared
// library that needs neither their headers nor their runtime.
//
// Options are text, one `name=value` a line, by the names of the tools' flags.
// Functions return what a tool's exit status would be: 0 done; 1 something
// cannot be read or done; 2 an internal error; 3 a limit is not met; 4 the
// modules differ. For 1 to 3 `*error` says why ("model.hlo:14:23: error: …").
// Texts that a function hands out are its caller's, to be given to hlo_free.
//
// Modules do not change once they are there, so that threads may share them.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hlo_module hlo_module;

// A module from a file, packed or not, or a folder of dumps; or from what such
// a file holds. `name` is for errors. It is verified. `num_partitions`: devices
// that it counts whatever its header says, 0: as that says.
int hlo_read(const char* path, int64_t num_partitions, hlo_module** module,
             char** error);
int hlo_parse(const char* bytes, size_t size, const char* name,
              int64_t num_partitions, hlo_module** module, char** error);
void hlo_release(hlo_module* module);
void hlo_free(char* text);

// The module as hlo, short, proto or pbtxt; constants with all their elements.
int hlo_print(const hlo_module* module, const char* form, char** bytes,
              size_t* size, char** error);

// A JSON object: name, instructions, computations, partitions, replicas,
// scheduled.
int hlo_describe(const hlo_module* module, char** json, char** error);

// What hlo-opt does: pipeline, passes, device, memory-limit, mesh. With 3,
// `*result` is there, too.
int hlo_opt(const hlo_module* module, const char* options, hlo_module** result,
            char** error);

// What hlo-explain does: limit, as, passes, schedule, effort, kernels,
// collectives, mesh, device, html, perfetto, jax, max-buffers, fit,
// budget-curve, strategy, for. `*report` is text, `*json` the same for
// programs. `*result`, unless `result` is null, is the module that they are of:
// with its order and, with fit, rewritten. With 3 they are there, too.
int hlo_explain(const hlo_module* module, const char* options,
                hlo_module** result, char** report, char** json, char** error);

// What hlo-diff does: as, json, device, max-rows.
int hlo_diff(const hlo_module* before, const hlo_module* after,
             const char* options, char** report, char** error);

// What hlo-run does with the module in a file: inputs, save-inputs, o, devices,
// memory-limit, max-flops, seed.
int hlo_run(const char* path, const char* options, char** report, char** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // XLA_HLO_PIPELINE_C_API_HLO_C_H_
