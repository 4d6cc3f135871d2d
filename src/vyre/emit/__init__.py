"""Program + code -> OpenCL C, CUDA C++, LLVM IR."""

from vyre.emit.c import emit
from vyre.emit.dialect import CUDA, OPENCL, OPENCL_BY_CLANG, Dialect
from vyre.emit.layout import WordLayout
from vyre.emit.source import Source, bundle

__all__ = ["CUDA", "OPENCL", "OPENCL_BY_CLANG", "Dialect", "Source", "WordLayout", "bundle", "emit"]
