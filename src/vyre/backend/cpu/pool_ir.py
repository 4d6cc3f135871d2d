"""The pool's own code in LLVM IR: handing out pieces of jobs, helping, waiting.

A job is a task, its context, and pieces of a range. It stands in one of 64 slots, whose bits are
in `busy`. Its pieces are in as many shares as there are threads, and each thread begins with its
own: the same elements then come to the same core call after call, whose cache has them, and threads
do not wait for each other to claim. Who has done his share goes on with the others'.

A share's ticket is a generation in the upper half and the pieces not yet claimed in the lower: who
lowers it by one has the next piece. A slot's other fields change only while no piece is left, and a
ticket of another generation never compares equal, so whoever claims has read the fields of the very
job. The caller claims like everybody else; once nothing is left it waits for the pieces that others
have begun, and for nothing else. So with no helper alive, as after a fork, everything is done all
the same.

Helpers watch `epoch`, which every new job raises: first spinning, then asleep. Whoever joins a job
that has more pieces wakes two of those asleep, so that many are woken by many.
"""

from __future__ import annotations

from vyre.backend.cpu import waits
from vyre.backend.cpu.target import Target

SLOTS = 64

FUNCTIONS = ("run", "helper", "stop", "pause")

# Where in the memory is what Python sets and reads; the types below say the same.
ALIVE, THREADS, SPIN, PATIENCE, KINDNESS, ASKED, STOP = 132, 192, 196, 200, 204, 208, 212
SETTINGS = slice(192, 208)  # threads, spin, patience and kindness, which outlive a fork
SHARES = 64
POOL_BYTES = 256 + SLOTS * (64 * SHARES + 128)

_TYPES = """
; each of what many write at once has a line of its own
%Pool = type {
  i32, [60 x i8],                                   ; 0 epoch
  i64, [56 x i8],                                   ; 2 busy: a bit for each slot
  i32, i32, [56 x i8],                              ; 4 sleepers, 5 alive
  ; 7 threads, 8 spin, 9 patience, 10 kindness, 11 asked, 12 stop
  i32, i32, i32, i32, i32, i32, [40 x i8],
  [64 x %Slot]                                      ; 14
}
%Slot = type {
  [64 x %Share],                                    ; 0
  ; 1 task, 2 context, 3 first, 4 end, 5 grain, 6 pieces, 7 shares
  ptr, ptr, i64, i64, i64, i64, i64, [8 x i8],
  i32, i32, [56 x i8]                               ; 9 done, 10 waiting
}
%Share = type { i64, [56 x i8] }                    ; ticket: generation, pieces left
%Block = type { ptr, ptr, ptr, i64, i64 }           ; pool, task, context, count, grain
"""

_COMMON = """
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)

define void @pause(i64 %rounds) nounwind {
entry:
  br label %again
again:
  %n = phi i64 [ 0, %entry ], [ %more, %again ]
  call void @relax()
  %more = add i64 %n, 1
  %yet = icmp slt i64 %more, %rounds
  br i1 %yet, label %again, label %out
out:
  ret void
}

; Claims pieces of a slot's job and does them, those of its own share first; a helper moves on after
; one when other jobs wait.
define internal i1 @work(ptr %pool, i64 %number, i64 %me, i1 %owner) nounwind {
entry:
  %slot = getelementptr %Pool, ptr %pool, i64 0, i32 14, i64 %number
  %task.at = getelementptr %Slot, ptr %slot, i64 0, i32 1
  %context.at = getelementptr %Slot, ptr %slot, i64 0, i32 2
  %first.at = getelementptr %Slot, ptr %slot, i64 0, i32 3
  %end.at = getelementptr %Slot, ptr %slot, i64 0, i32 4
  %grain.at = getelementptr %Slot, ptr %slot, i64 0, i32 5
  %pieces.at = getelementptr %Slot, ptr %slot, i64 0, i32 6
  %shares.at = getelementptr %Slot, ptr %slot, i64 0, i32 7
  %done.at = getelementptr %Slot, ptr %slot, i64 0, i32 9
  %waiting.at = getelementptr %Slot, ptr %slot, i64 0, i32 10
  %busy.at = getelementptr %Pool, ptr %pool, i64 0, i32 2
  %kindness.at = getelementptr %Pool, ptr %pool, i64 0, i32 10
  %bit = shl i64 1, %number
  ; only where to begin and how far to look: what is claimed comes from the ticket
  %shares.seen = load atomic i64, ptr %shares.at monotonic, align 8
  %shares.some = call i64 @llvm.smax.i64(i64 %shares.seen, i64 1)
  %begin = urem i64 %me, %shares.some
  br label %look
look:
  ; pieces done and not yet reported, and whether any was done
  %mine = phi i32
    [ 0, %entry ], [ %mine, %claim ], [ %mine.now, %next ], [ %mine, %onward ],
    [ 0, %rest ], [ 0, %poll ]
  %did = phi i1
    [ false, %entry ], [ %did, %claim ], [ true, %next ], [ %did, %onward ],
    [ true, %rest ], [ true, %poll ]
  %which = phi i64
    [ 0, %entry ], [ %which, %claim ], [ %which, %next ], [ %which.next, %onward ],
    [ %which.next, %rest ], [ %which.next, %poll ]
  %turned = add i64 %begin, %which
  %share.wide = urem i64 %turned, %shares.some
  %share = and i64 %share.wide, 63
  %ticket.at = getelementptr %Slot, ptr %slot, i64 0, i32 0, i64 %share, i32 0
  %ticket = load atomic i64, ptr %ticket.at seq_cst, align 8
  %left = and i64 %ticket, 4294967295
  %some = icmp ne i64 %left, 0
  br i1 %some, label %claim, label %other
other:
  %which.next = add i64 %which, 1
  %further = icmp ult i64 %which.next, %shares.some
  br i1 %further, label %onward, label %report
onward:
  ; whose share is done leaves the others a moment for theirs: what they have in their caches is
  ; sooner done by them, and comes to them again
  %own = icmp eq i64 %which, 0
  %did.some = icmp ne i32 %mine, 0
  %kind = and i1 %own, %did.some
  br i1 %kind, label %spare, label %look
spare:
  call void @tell(ptr %done.at, ptr %waiting.at, i32 %mine)
  %kindness = load atomic i32, ptr %kindness.at monotonic, align 4
  br i1 %owner, label %watch, label %rest
rest:
  %kindness.64 = zext i32 %kindness to i64
  call void @pause(i64 %kindness.64)
  br label %look
watch:
  %wanted.64 = load atomic i64, ptr %pieces.at monotonic, align 8
  %wanted = trunc i64 %wanted.64 to i32
  br label %poll
poll:
  %round = phi i32 [ 0, %watch ], [ %round.next, %still ]
  %over.yet = icmp uge i32 %round, %kindness
  br i1 %over.yet, label %look, label %ask
ask:
  %reached = load atomic i32, ptr %done.at seq_cst, align 4
  %complete = icmp eq i32 %reached, %wanted
  br i1 %complete, label %finished, label %still
still:
  call void @relax()
  %round.next = add i32 %round, 1
  br label %poll
finished:
  ret i1 true
claim:
  %task = load atomic ptr, ptr %task.at monotonic, align 8
  %context = load atomic ptr, ptr %context.at monotonic, align 8
  %start = load atomic i64, ptr %first.at monotonic, align 8
  %end = load atomic i64, ptr %end.at monotonic, align 8
  %grain = load atomic i64, ptr %grain.at monotonic, align 8
  %pieces = load atomic i64, ptr %pieces.at monotonic, align 8
  %shares = load atomic i64, ptr %shares.at monotonic, align 8
  %lower = sub i64 %ticket, 1
  %pair = cmpxchg ptr %ticket.at, i64 %ticket, i64 %lower seq_cst seq_cst
  %got = extractvalue { i64, i1 } %pair, 1
  br i1 %got, label %joined, label %look
joined:
  %fresh = icmp eq i32 %mine, 0
  %more = icmp ugt i64 %pieces, 1
  %calls = and i1 %fresh, %more
  br i1 %calls, label %rouse, label %do
rouse:
  call void @rouse(ptr %pool)
  br label %do
do:
  ; the first shares have a piece more where they are not even
  %even = udiv i64 %pieces, %shares
  %over = urem i64 %pieces, %shares
  %longer = icmp ult i64 %share, %over
  %one = zext i1 %longer to i64
  %size = add i64 %even, %one
  %before.even = mul i64 %share, %even
  %before.over = call i64 @llvm.smin.i64(i64 %share, i64 %over)
  %before.all = add i64 %before.even, %before.over
  %claimed = sub i64 %size, %left
  %piece = add i64 %before.all, %claimed
  %skip = mul i64 %piece, %grain
  %first = add i64 %start, %skip
  %room = sub i64 %end, %first
  %length = call i64 @llvm.smin.i64(i64 %room, i64 %grain)
  %last = add i64 %first, %length
  call void %task(ptr %context, i64 %first, i64 %last)
  %mine.now = add i32 %mine, 1
  %busy = load atomic i64, ptr %busy.at monotonic, align 8
  %only = icmp eq i64 %busy, %bit
  %stays = or i1 %owner, %only
  br i1 %stays, label %next, label %report
next:
  br label %look
report:
  %all = phi i32 [ %mine, %other ], [ %mine.now, %do ]
  %any = phi i1 [ %did, %other ], [ true, %do ]
  %unsaid = icmp ne i32 %all, 0
  br i1 %unsaid, label %say, label %out
say:
  call void @tell(ptr %done.at, ptr %waiting.at, i32 %all)
  br label %out
out:
  ret i1 %any
}

; Reports pieces as done; from then on the slot may be another job's, and a wake too many does no
; harm.
define internal void @tell(ptr %done.at, ptr %waiting.at, i32 %count) nounwind {
entry:
  %before = atomicrmw add ptr %done.at, i32 %count seq_cst
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %rouse, label %out
rouse:
  call void @wake(ptr %done.at, i32 1)
  br label %out
out:
  ret void
}

define void @stop(ptr %pool) nounwind {
  %threads.at = getelementptr %Pool, ptr %pool, i64 0, i32 7
  %stop.at = getelementptr %Pool, ptr %pool, i64 0, i32 12
  store atomic i32 1, ptr %threads.at monotonic, align 4
  store atomic i32 1, ptr %stop.at seq_cst, align 4
  %raised = atomicrmw add ptr %pool, i32 1 seq_cst
  call void @wake(ptr %pool, i32 2147483647)
  ret void
}

define internal void @rouse(ptr %pool) nounwind {
entry:
  %sleepers.at = getelementptr %Pool, ptr %pool, i64 0, i32 4
  %asleep = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %wake, label %out
wake:
  call void @wake(ptr %pool, i32 2)
  br label %out
out:
  ret void
}

; Goes once around the slots, from a place that moves on, so that no job is always the last.
define internal i1 @help(ptr %pool, i64 %from, i64 %me) nounwind {
entry:
  %busy.at = getelementptr %Pool, ptr %pool, i64 0, i32 2
  %busy = load atomic i64, ptr %busy.at seq_cst, align 8
  %turned = call i64 @llvm.fshr.i64(i64 %busy, i64 %busy, i64 %from)
  br label %look
look:
  %bits = phi i64 [ %turned, %entry ], [ %fewer, %one ]
  %helped = phi i1 [ false, %entry ], [ %so, %one ]
  %some = icmp ne i64 %bits, 0
  br i1 %some, label %one, label %out
one:
  %place = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %sum = add i64 %place, %from
  %number = and i64 %sum, 63
  %did = call i1 @work(ptr %pool, i64 %number, i64 %me, i1 false)
  %so = or i1 %helped, %did
  %less = sub i64 %bits, 1
  %fewer = and i64 %bits, %less
  br label %look
out:
  ret i1 %helped
}

define void @helper(ptr %pool, i64 %number) nounwind {
entry:
  %sleepers.at = getelementptr %Pool, ptr %pool, i64 0, i32 4
  %alive.at = getelementptr %Pool, ptr %pool, i64 0, i32 5
  %spin.at = getelementptr %Pool, ptr %pool, i64 0, i32 8
  %stop.at = getelementptr %Pool, ptr %pool, i64 0, i32 12
  %born = atomicrmw add ptr %alive.at, i32 1 seq_cst
  %me = add i64 %number, 1  ; a caller is 0
  br label %look
look:
  %from = phi i64 [ %number, %entry ], [ %onward, %go ], [ %onward, %spinning ], [ %onward, %sleep ]
  %onward = add i64 %from, 1
  %epoch = load atomic i32, ptr %pool seq_cst, align 4
  %stop = load atomic i32, ptr %stop.at seq_cst, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %leave, label %go
go:
  %helped = call i1 @help(ptr %pool, i64 %from, i64 %me)
  %spin = load atomic i32, ptr %spin.at monotonic, align 4
  br i1 %helped, label %look, label %spinning
spinning:
  %round = phi i32 [ 0, %go ], [ %further, %idle ]
  %now = load atomic i32, ptr %pool monotonic, align 4
  %new = icmp ne i32 %now, %epoch
  br i1 %new, label %look, label %idle
idle:
  call void @relax()
  %further = add i32 %round, 1
  %yet = icmp ult i32 %further, %spin
  br i1 %yet, label %spinning, label %sleep
sleep:
  %up = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  call void @wait(ptr %pool, i32 %epoch, i32 -1)
  %down = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  br label %look
leave:
  %dead = atomicrmw sub ptr %alive.at, i32 1 seq_cst
  ret void
}

; Does the whole range of a block and returns 0; 1 if it was alone for want of helpers started.
define i32 @run(ptr %block) nounwind {
entry:
  %task.at = getelementptr %Block, ptr %block, i64 0, i32 1
  %context.at = getelementptr %Block, ptr %block, i64 0, i32 2
  %count.at = getelementptr %Block, ptr %block, i64 0, i32 3
  %grain.at = getelementptr %Block, ptr %block, i64 0, i32 4
  %task = load ptr, ptr %task.at
  %context = load ptr, ptr %context.at
  %count = load i64, ptr %count.at
  %grain.given = load i64, ptr %grain.at
  %grain = call i64 @llvm.smax.i64(i64 %grain.given, i64 1)
  %small = icmp sle i64 %count, %grain
  br i1 %small, label %whole, label %many
whole:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %once, label %done
once:
  call void %task(ptr %context, i64 0, i64 %count)
  br label %done
done:
  ret i32 0

many:
  %pool = load ptr, ptr %block
  %busy.at = getelementptr %Pool, ptr %pool, i64 0, i32 2
  %threads.at = getelementptr %Pool, ptr %pool, i64 0, i32 7
  %asked.at = getelementptr %Pool, ptr %pool, i64 0, i32 11
  %threads = load atomic i32, ptr %threads.at monotonic, align 4
  %asked = load atomic i32, ptr %asked.at monotonic, align 4
  %single = icmp ult i32 %threads, 2
  %nobody = icmp eq i32 %asked, 0
  %alone = or i1 %single, %nobody
  %couple = xor i1 %single, true
  %wants = and i1 %couple, %nobody
  %answer = zext i1 %wants to i32
  br label %ask
ask:
  %first = phi i64 [ 0, %many ], [ %last, %apart ], [ %reached, %share ]
  %rest = sub i64 %count, %first
  %final = icmp sle i64 %rest, %grain
  %lonely = or i1 %final, %alone
  br i1 %lonely, label %apart, label %seek
seek:
  %number = call i64 @take(ptr %pool, i32 %threads)
  %none = icmp slt i64 %number, 0
  br i1 %none, label %apart, label %share
apart:
  %length = call i64 @llvm.smin.i64(i64 %rest, i64 %grain)
  %last = add i64 %first, %length
  call void %task(ptr %context, i64 %first, i64 %last)
  %finished = icmp eq i64 %last, %count
  br i1 %finished, label %end, label %ask
share:
  %reached = call i64 @share(ptr %pool, i64 %number, ptr %block, i64 %first, i64 %grain)
  %complete = icmp eq i64 %reached, %count
  br i1 %complete, label %end, label %ask
end:
  ret i32 %answer
}

; The number of a slot that is ours from now on, or -1: with as many jobs about as threads, each
; caller does better by itself, until one of them ends.
define internal i64 @take(ptr %pool, i32 %threads) nounwind {
entry:
  %busy.at = getelementptr %Pool, ptr %pool, i64 0, i32 2
  %most.32 = call i32 @llvm.umin.i32(i32 %threads, i32 64)
  %most = zext i32 %most.32 to i64
  br label %look
look:
  %busy = load atomic i64, ptr %busy.at monotonic, align 8
  %jobs = call i64 @llvm.ctpop.i64(i64 %busy)
  %crowd = icmp uge i64 %jobs, %most
  br i1 %crowd, label %none, label %try
try:
  %free = xor i64 %busy, -1
  %number = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %bit = shl i64 1, %number
  %taken = or i64 %busy, %bit
  %pair = cmpxchg ptr %busy.at, i64 %busy, i64 %taken seq_cst monotonic
  %got = extractvalue { i64, i1 } %pair, 1
  br i1 %got, label %ours, label %look
ours:
  ret i64 %number
none:
  ret i64 -1
}

; Puts the rest of a block's range into a slot, does its part, and returns how far all got.
define internal i64 @share(ptr %pool, i64 %number, ptr %block, i64 %first, i64 %grain) nounwind {
entry:
  %task.from = getelementptr %Block, ptr %block, i64 0, i32 1
  %context.from = getelementptr %Block, ptr %block, i64 0, i32 2
  %count.from = getelementptr %Block, ptr %block, i64 0, i32 3
  %task = load ptr, ptr %task.from
  %context = load ptr, ptr %context.from
  %count = load i64, ptr %count.from
  %slot = getelementptr %Pool, ptr %pool, i64 0, i32 14, i64 %number
  %task.at = getelementptr %Slot, ptr %slot, i64 0, i32 1
  %context.at = getelementptr %Slot, ptr %slot, i64 0, i32 2
  %first.at = getelementptr %Slot, ptr %slot, i64 0, i32 3
  %end.at = getelementptr %Slot, ptr %slot, i64 0, i32 4
  %grain.at = getelementptr %Slot, ptr %slot, i64 0, i32 5
  %pieces.at = getelementptr %Slot, ptr %slot, i64 0, i32 6
  %shares.at = getelementptr %Slot, ptr %slot, i64 0, i32 7
  %done.at = getelementptr %Slot, ptr %slot, i64 0, i32 9
  %waiting.at = getelementptr %Slot, ptr %slot, i64 0, i32 10
  %busy.at = getelementptr %Pool, ptr %pool, i64 0, i32 2

  %rest = sub i64 %count, %first
  %rest.1 = sub i64 %rest, 1
  %pieces.1 = udiv i64 %rest.1, %grain
  %pieces.all = add i64 %pieces.1, 1
  ; what a ticket and the count of those done can hold
  %pieces = call i64 @llvm.smin.i64(i64 %pieces.all, i64 1073741824)
  %span = mul i64 %pieces, %grain
  %partial = icmp ult i64 %pieces, %pieces.all
  %reach = add i64 %first, %span
  %end = select i1 %partial, i64 %reach, i64 %count
  store atomic ptr %task, ptr %task.at monotonic, align 8
  store atomic ptr %context, ptr %context.at monotonic, align 8
  store atomic i64 %first, ptr %first.at monotonic, align 8
  store atomic i64 %end, ptr %end.at monotonic, align 8
  store atomic i64 %grain, ptr %grain.at monotonic, align 8
  store atomic i64 %pieces, ptr %pieces.at monotonic, align 8
  %threads.at = getelementptr %Pool, ptr %pool, i64 0, i32 7
  %threads.32 = load atomic i32, ptr %threads.at monotonic, align 4
  %threads = zext i32 %threads.32 to i64
  %shares.few = call i64 @llvm.smin.i64(i64 %threads, i64 64)
  %shares.most = call i64 @llvm.smax.i64(i64 %shares.few, i64 1)
  %shares = call i64 @llvm.smin.i64(i64 %shares.most, i64 %pieces)
  store atomic i64 %shares, ptr %shares.at monotonic, align 8
  store atomic i32 0, ptr %done.at monotonic, align 4
  store atomic i32 0, ptr %waiting.at monotonic, align 4
  %even = udiv i64 %pieces, %shares
  %over = urem i64 %pieces, %shares
  fence seq_cst
  br label %deal
deal:
  %share = phi i64 [ 0, %entry ], [ %share.next, %deal ]
  %longer = icmp ult i64 %share, %over
  %one = zext i1 %longer to i64
  %size = add i64 %even, %one
  %ticket.at = getelementptr %Slot, ptr %slot, i64 0, i32 0, i64 %share, i32 0
  %old = load atomic i64, ptr %ticket.at monotonic, align 8
  %upper = and i64 %old, -4294967296
  %next = add i64 %upper, 4294967296
  %ticket = or i64 %next, %size
  store atomic i64 %ticket, ptr %ticket.at release, align 8
  %share.next = add i64 %share, 1
  %dealing = icmp ult i64 %share.next, %shares
  br i1 %dealing, label %deal, label %dealt
dealt:
  fence seq_cst
  %raised = atomicrmw add ptr %pool, i32 1 seq_cst
  %did = call i1 @work(ptr %pool, i64 %number, i64 0, i1 true)
  %pieces.32 = trunc i64 %pieces to i32
  call void @await(ptr %pool, ptr %done.at, ptr %waiting.at, i32 %pieces.32)
  %bit = shl i64 1, %number
  %mask = xor i64 %bit, -1
  %freed = atomicrmw and ptr %busy.at, i64 %mask seq_cst
  ret i64 %end
}

; Until all pieces are done: spins, yields, then sleeps, so that a helper without a core gets one.
define internal void @await(ptr %pool, ptr %done.at, ptr %waiting.at, i32 %pieces) nounwind {
entry:
  %patience.at = getelementptr %Pool, ptr %pool, i64 0, i32 9
  %patience = load atomic i32, ptr %patience.at monotonic, align 4
  br label %spin
spin:
  %round = phi i32 [ 0, %entry ], [ %further, %idle ]
  %done = load atomic i32, ptr %done.at seq_cst, align 4
  %all = icmp eq i32 %done, %pieces
  br i1 %all, label %out, label %still
still:
  %yet = icmp ult i32 %round, %patience
  br i1 %yet, label %idle, label %yielding
idle:
  call void @relax()
  %further = add i32 %round, 1
  br label %spin
yielding:
  %turn = phi i32 [ 0, %still ], [ %turn.next, %yielded ]
  call void @yield()
  %done.y = load atomic i32, ptr %done.at seq_cst, align 4
  %all.y = icmp eq i32 %done.y, %pieces
  br i1 %all.y, label %out, label %yielded
yielded:
  %turn.next = add i32 %turn, 1
  %again = icmp ult i32 %turn.next, 3
  br i1 %again, label %yielding, label %sleep
sleep:
  store atomic i32 1, ptr %waiting.at seq_cst, align 4
  %done.s = load atomic i32, ptr %done.at seq_cst, align 4
  %all.s = icmp eq i32 %done.s, %pieces
  br i1 %all.s, label %out, label %doze
doze:
  call void @wait(ptr %done.at, i32 %done.s, i32 10000)
  br label %sleep
out:
  ret void
}
"""


def text(target: Target, *, naps: bool = False) -> str:
    """The module for a target; `naps` waits as on systems of which nothing is known."""
    return _TYPES + waits.text(target, naps=naps) + _COMMON
