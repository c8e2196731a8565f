"""@filecheck: LLVM's FileCheck and not, from the system's llvm-N-tools package."""

def _filecheck_impl(ctx):
    folders = ["/usr/lib/llvm-%d/bin" % v for v in range(22, 13, -1)]
    for folder in folders + ["/usr/bin", "/usr/local/bin", "/opt/homebrew/opt/llvm/bin"]:
        bin = ctx.path(folder)
        if bin.get_child("FileCheck").exists and bin.get_child("not").exists:
            for tool in ["FileCheck", "not"]:
                ctx.symlink(bin.get_child(tool), tool)
            ctx.file("BUILD", 'exports_files(["FileCheck", "not"])\n')
            return
    fail("FileCheck not found; run ./bazelw, which installs it, or: apt-get install llvm-14-tools")

filecheck = repository_rule(implementation = _filecheck_impl, local = True)
