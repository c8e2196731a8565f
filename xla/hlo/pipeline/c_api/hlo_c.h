#ifndef XLA_HLO_PIPELINE_C_API_HLO_C_H_
#define XLA_HLO_PIPELINE_C_API_HLO_C_H_

#include <stddef.h>
#include <stdint.h>

// The work of the tools as functions of C, for other languages: a shared
// library that needs neither their headers nor their runtime.
//
// Options are text, one `name=value` per line, named as the flags of the tools.
// Functions return the exit status of the tool: 0 success; 1 bad input or an
// operation that failed; 2 internal error; 3 a limit is not met; 4 the modules
// differ. For 1 to 3, `*error` is the message ("model.hlo:14:23: error: …").
// The caller releases returned texts with hlo_free.
//
// Modules are immutable; threads may share them.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hlo_module hlo_module;

// Reads and verifies a module, from a file (which may be compressed), a folder
// of dumps, or the contents of a file. `name` is used in errors.
// `num_partitions` overrides the header; 0: as in the header.
int hlo_read(const char* path, int64_t num_partitions, hlo_module** module,
             char** error);
int hlo_parse(const char* bytes, size_t size, const char* name,
              int64_t num_partitions, hlo_module** module, char** error);
void hlo_release(hlo_module* module);
void hlo_free(char* text);

// Prints the module as hlo, short, proto or pbtxt, with all elements of
// constants.
int hlo_print(const hlo_module* module, const char* form, char** bytes,
              size_t* size, char** error);

// Returns a JSON object: name, instructions, computations, partitions,
// replicas, scheduled.
int hlo_describe(const hlo_module* module, char** json, char** error);

// Runs hlo-opt, with options pipeline, passes, device, memory-limit, mesh.
// Status 3 returns `*result`, too.
int hlo_opt(const hlo_module* module, const char* options, hlo_module** result,
            char** error);

// Runs hlo-explain, with options limit, as, passes, schedule, effort, kernels,
// collectives, mesh, device, html, perfetto, jax, max-buffers, fit,
// budget-curve, strategy, for. `*report` is text, `*json` the same as JSON.
// `*result`, unless `result` is null, is the explained module: scheduled and,
// with fit, rewritten. Status 3 returns all of them, too.
int hlo_explain(const hlo_module* module, const char* options,
                hlo_module** result, char** report, char** json, char** error);

// Runs hlo-diff, with options as, json, html, device, mesh, max-rows. With
// html=- the report is the page.
int hlo_diff(const hlo_module* before, const hlo_module* after,
             const char* options, char** report, char** error);

// Runs hlo-run on the module in a file, with options inputs, save-inputs, o,
// devices, memory-limit, max-flops, seed.
int hlo_run(const char* path, const char* options, char** report, char** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // XLA_HLO_PIPELINE_C_API_HLO_C_H_
