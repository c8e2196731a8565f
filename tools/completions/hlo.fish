# Completes flags and files of the tools in fish: copy to ~/.config/fish/conf.d.
# Flags and passes come from the installed tool itself.

function __hlo_flags
    set -l tool (commandline -opc)[1]
    string replace -rf '^  (--?[a-z][a-z0-9-]*).*' '$1' -- ($tool --help 2>/dev/null)
    printf '%s\n' --help --version
end

function __hlo_passes
    set -l tool (commandline -opc)[1]
    string replace -rf '^([a-z][a-z0-9-]*).*' '$1' -- ($tool --list-passes 2>/dev/null)
end

for tool in hlo-opt hlo-explain hlo-diff hlo-run hlo-reduce hlo-pack kir-opt
    complete -c $tool -n 'string match -q -- "-*" (commandline -ct)' -a '(__hlo_flags)'
    complete -c $tool -l pipeline -x -a 'cleanup cpu gpu inline prepare schedule spmd xla-gpu'
    complete -c $tool -l as -x -a 'cleanup cpu gpu inline prepare schedule spmd xla-gpu'
    complete -c $tool -l device -x -a 'v100 a100 a6000 h100 h200 h200_measured b200 mi210 mi300 mi350 rx7900'
    complete -c $tool -l passes -x -a '(__hlo_passes)'
end
