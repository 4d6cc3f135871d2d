"""How the pool's code idles, waits for a word in memory and wakes who does, in LLVM IR.

Waiting is the system's: futex on Linux; `__ulock_wait` on macOS and `WaitOnAddress` on Windows, on
neither of which this has been run; short naps elsewhere.
"""

from __future__ import annotations

from vyre.backend.cpu.target import Target

_RELAX = {
    "x86": """
declare void @llvm.x86.sse2.pause()
define internal void @relax() nounwind {
  call void @llvm.x86.sse2.pause()
  ret void
}
""",
    "aarch64": """
declare void @llvm.aarch64.isb(i32)
define internal void @relax() nounwind {
  call void @llvm.aarch64.isb(i32 15)  ; yield is nothing on most of them, this takes a while
  ret void
}
""",
    "other": """
define internal void @relax() nounwind {
  fence seq_cst
  ret void
}
""",
}

_TIME = """
%Time = type {{ i64, i64 }}
define internal void @time(ptr %time, i32 %microseconds) nounwind {{
  %seconds = udiv i32 %microseconds, 1000000
  %rest = urem i32 %microseconds, 1000000
  %nanoseconds = mul i32 %rest, 1000
  %seconds.64 = zext i32 %seconds to i64
  %nanoseconds.64 = zext i32 %nanoseconds to i64
  %seconds.at = getelementptr %Time, ptr %time, i64 0, i32 0
  %nanoseconds.at = getelementptr %Time, ptr %time, i64 0, i32 1
  store i64 %seconds.64, ptr %seconds.at
  store i64 %nanoseconds.64, ptr %nanoseconds.at
  ret void
}}
"""

# `wait` returns once somebody wakes it, the word is not as seen, or for no reason; -1 is for ever.
_LINUX = (
    _TIME
    + """
declare i64 @syscall(i64, ...)
define internal void @wait(ptr %word, i32 %seen, i32 %microseconds) nounwind {{
entry:
  %time = alloca %Time
  call void @time(ptr %time, i32 %microseconds)
  %ever = icmp slt i32 %microseconds, 0
  %until = select i1 %ever, ptr null, ptr %time
  %r = call i64 (i64, ...) @syscall(
      i64 {futex}, ptr %word, i32 128, i32 %seen, ptr %until, ptr null, i32 0)
  ret void
}}
define internal void @wake(ptr %word, i32 %count) nounwind {{
  %r = call i64 (i64, ...) @syscall(
      i64 {futex}, ptr %word, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}}
define internal void @yield() nounwind {{
  %r = call i64 (i64, ...) @syscall(i64 {sched_yield})
  ret void
}}
"""
)

_MACOS = """
declare i32 @__ulock_wait(i32, ptr, i64, i32)
declare i32 @__ulock_wake(i32, ptr, i64)
declare i32 @sched_yield()
define internal void @wait(ptr %word, i32 %seen, i32 %microseconds) nounwind {{
  %ever = icmp slt i32 %microseconds, 0
  %time = select i1 %ever, i32 0, i32 %microseconds
  %value = zext i32 %seen to i64
  %r = call i32 @__ulock_wait(i32 16777217, ptr %word, i64 %value, i32 %time)
  ret void
}}
define internal void @wake(ptr %word, i32 %count) nounwind {{
  %r = call i32 @__ulock_wake(i32 16777473, ptr %word, i64 0)
  ret void
}}
define internal void @yield() nounwind {{
  %r = call i32 @sched_yield()
  ret void
}}
"""

_WINDOWS = """
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressAll(ptr)
declare i32 @SwitchToThread()
define internal void @wait(ptr %word, i32 %seen, i32 %microseconds) nounwind {{
  %held = alloca i32
  store i32 %seen, ptr %held
  %ever = icmp slt i32 %microseconds, 0
  %some = udiv i32 %microseconds, 1000
  %time = select i1 %ever, i32 -1, i32 %some
  %r = call i32 @WaitOnAddress(ptr %word, ptr %held, i64 4, i32 %time)
  ret void
}}
define internal void @wake(ptr %word, i32 %count) nounwind {{
  call void @WakeByAddressAll(ptr %word)
  ret void
}}
define internal void @yield() nounwind {{
  %r = call i32 @SwitchToThread()
  ret void
}}
"""

_ELSEWHERE = (
    _TIME
    + """
declare i32 @nanosleep(ptr, ptr)
declare i32 @sched_yield()
define internal void @wait(ptr %word, i32 %seen, i32 %microseconds) nounwind {{
entry:
  %time = alloca %Time
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %nap, label %out
nap:
  call void @time(ptr %time, i32 200)
  %r = call i32 @nanosleep(ptr %time, ptr null)
  br label %out
out:
  ret void
}}
define internal void @wake(ptr %word, i32 %count) nounwind {{
  ret void
}}
define internal void @yield() nounwind {{
  %r = call i32 @sched_yield()
  ret void
}}
"""
)


def text(target: Target, *, naps: bool) -> str:
    """Definitions of `relax`, `wait`, `wake` and `yield`."""
    processor = "x86" if target.is_x86 else "aarch64" if target.is_aarch64 else "other"
    known = {"linux": _LINUX, "macos": _MACOS, "windows": _WINDOWS}
    system = known.get(target.system, _ELSEWHERE)
    if naps or (system is _LINUX and processor == "other"):
        system = _ELSEWHERE
    futex, sched_yield = (202, 24) if processor == "x86" else (98, 124)
    return _RELAX[processor] + system.format(futex=futex, sched_yield=sched_yield)
