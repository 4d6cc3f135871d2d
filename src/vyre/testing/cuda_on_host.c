// Runs the workgroups of one CUDA kernel on the host, its lanes as fibers.
//
// A lane runs until it waits: at a shuffle or a vote for its warp, at a barrier for its workgroup.
// Warps and lanes take turns in an order that is drawn anew each time, so that what no barrier
// orders comes out differently. Lanes that cannot meet end the launch with a reason, and so does
// memory that nobody may touch.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { MOST = 1024, WARP = 32, STACK = 512 << 10, PAGE = 4096, PATIENCE_S = 60 };
enum { READY, AT_WARP, AT_BARRIER, DONE };

struct vyre_place { unsigned x, y, z; };
struct vyre_place vyre_thread, vyre_group, vyre_size;

static struct lane {
    ucontext_t context;
    int state, line, from;
    unsigned mask;
    unsigned long long value, passed;
} lanes[MOST];

static char *stacks;
static ucontext_t scheduler;
static int now, threads;
static uint64_t drawn;
static void (*entry)(void **);
static void **given;
static char *problem;
static size_t room;
static sigjmp_buf out;

static unsigned draw(void)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33);
}

static void wait_as(int state, int line)
{
    lanes[now].state = state;
    lanes[now].line = line;
    swapcontext(&lanes[now].context, &scheduler);
}

void vyre_barrier(int line) { wait_as(AT_BARRIER, line); }

unsigned long long vyre_exchange(int line, unsigned mask, unsigned long long mine, int from)
{
    struct lane *self = lanes + now;
    self->mask = mask, self->value = mine, self->from = from;
    wait_as(AT_WARP, line);
    return self->passed;
}

static void body(void)
{
    entry(given);
    lanes[now].state = DONE;
    swapcontext(&lanes[now].context, &scheduler);
}

static void resume(int lane)
{
    now = lane;
    vyre_thread.x = (unsigned)lane % vyre_size.x;
    vyre_thread.y = (unsigned)lane / vyre_size.x % vyre_size.y;
    vyre_thread.z = (unsigned)lane / vyre_size.x / vyre_size.y;
    swapcontext(&scheduler, &lanes[lane].context);
}

static int fail(const char *what, int line)
{
    snprintf(problem, room, "%s, in line %d of workgroup %u, %u, %u", what, line, vyre_group.x,
             vyre_group.y, vyre_group.z);
    return 1;
}

// What the lanes of a warp wait for: all 32 of them, at one place, as one.
static int meet(int first)
{
    const struct lane *one = NULL;
    for (int lane = first; lane < first + WARP && lane < threads; ++lane)
        if (lanes[lane].state == AT_WARP) one = lanes + lane;
    if (!one) return 0;
    for (int lane = first; lane < first + WARP; ++lane) {
        const struct lane *other = lanes + lane;
        if (lane >= threads || other->state != AT_WARP || other->line != one->line)
            return fail("some lanes of a warp wait where others do not come by", one->line);
        if (other->mask != 0xffffffffu) return fail("a mask leaves lanes out", one->line);
    }
    for (int lane = first; lane < first + WARP; ++lane) {
        const int from = lane - first + lanes[lane].from;
        lanes[lane].passed = lanes[from < 0 || from >= WARP ? lane : first + from].value;
    }
    for (int lane = first; lane < first + WARP; ++lane) lanes[lane].state = READY;
    return 0;
}

static int run_warp(int first)
{
    const int last = first + WARP < threads ? first + WARP : threads;
    for (;;) {
        int ran = 0;
        const int count = last - first;
        const int step = draw() % 2 ? 1 : count - 1, begin = (int)(draw() % (unsigned)count);
        for (int turn = 0; turn < count; ++turn) {
            const int lane = first + (begin + turn * step) % count;
            if (lanes[lane].state == READY) resume(lane), ran = 1;
        }
        if (!ran) return 0;
        if (meet(first)) return 1;
    }
}

static int at_barrier(int *more)
{
    int line = 0;
    *more = 0;
    for (int lane = 0; lane < threads; ++lane) {
        if (lanes[lane].state == DONE) continue;
        if (*more && lanes[lane].line != line) return fail("lanes wait at two barriers", line);
        *more = 1, line = lanes[lane].line;
    }
    for (int lane = 0; lane < threads; ++lane)
        if (lanes[lane].state == AT_BARRIER) lanes[lane].state = READY;
    return 0;
}

static int run_group(char *shared, size_t bytes)
{
    for (size_t at = 0; at < bytes; ++at) shared[at] = (char)draw();
    for (int lane = 0; lane < threads; ++lane) {
        ucontext_t *context = &lanes[lane].context;
        getcontext(context);
        context->uc_stack.ss_sp = stacks + (size_t)lane * STACK + PAGE;
        context->uc_stack.ss_size = STACK - PAGE;
        context->uc_link = NULL;
        makecontext(context, body, 0);
        lanes[lane].state = READY;
    }
    const int warps = (threads + WARP - 1) / WARP;
    for (int more = 1; more;) {
        const int begin = (int)(draw() % (unsigned)warps), step = draw() % 2 ? 1 : warps - 1;
        for (int turn = 0; turn < warps; ++turn)
            if (run_warp((begin + turn * step) % warps * WARP)) return 1;
        if (at_barrier(&more)) return 1;
    }
    return 0;
}

static void caught(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    siglongjmp(out, number);
}

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGVTALRM};
enum { CAUGHT = sizeof SIGNALS / sizeof *SIGNALS };

static int run_groups(const unsigned *grid, char *shared, size_t bytes)
{
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                vyre_group.x = x, vyre_group.y = y, vyre_group.z = z;
                if (run_group(shared, bytes)) return 1;
            }
    return 0;
}

// 0, or 1 with a text that says what went wrong.
int vyre_launch(void (*kernel)(void **), void **arguments, const unsigned *grid,
                const unsigned *block, uint64_t seed, char *shared, char *shared_end, char *said,
                size_t letters)
{
    static char spare[64 << 10];
    const stack_t other = {.ss_sp = spare, .ss_size = sizeof spare};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER}, before[CAUGHT];
    const struct itimerval patience = {.it_value = {.tv_sec = PATIENCE_S}}, none = {0};
    stack_t kept;
    int failed;

    entry = kernel, given = arguments, drawn = seed, problem = said, room = letters;
    vyre_size.x = block[0], vyre_size.y = block[1], vyre_size.z = block[2];
    threads = (int)(block[0] * block[1] * block[2]);
    if (threads > MOST) {
        snprintf(said, letters, "%d threads in a workgroup", threads);
        return 1;
    }
    if (!stacks) {
        stacks = mmap(NULL, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) {
            stacks = NULL;
            snprintf(said, letters, "no memory for stacks");
            return 1;
        }
        for (int lane = 0; lane < MOST; ++lane)
            mprotect(stacks + (size_t)lane * STACK, PAGE, PROT_NONE);
    }
    sigaltstack(&other, &kept);
    action.sa_sigaction = caught;
    for (int at = 0; at < CAUGHT; ++at) sigaction(SIGNALS[at], &action, before + at);
    setitimer(ITIMER_VIRTUAL, &patience, NULL);
    const int number = sigsetjmp(out, 1);
    if (number == 0) {
        failed = run_groups(grid, shared, (size_t)(shared_end - shared));
    } else {
        snprintf(said, letters, "%s, by lane %d of workgroup %u, %u, %u",
                 number == SIGVTALRM ? "it does not end" : strsignal(number), now, vyre_group.x,
                 vyre_group.y, vyre_group.z);
        failed = 1;
    }
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    for (int at = 0; at < CAUGHT; ++at) sigaction(SIGNALS[at], before + at, NULL);
    sigaltstack(&kept, NULL);
    return failed;
}
