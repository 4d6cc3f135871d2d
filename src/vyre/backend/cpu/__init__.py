"""The machine's own processor through LLVM: objects kept on disk, tasks on a pool of threads."""
