/* Calls tasks as a file asks for, each array between pages that nobody may touch.

   Numbers are 64 bits, and everything begins at a multiple of 8 bytes:
     launches; for each: entry, tasks, bytes of the frame, arrays, whether arrays end at a page;
     for each task: the first workgroup, and the one behind the last;
     the frame; for each array: where in the frame its address belongs, bytes, what it holds.
   What the arrays hold afterwards goes to the second file, launch after launch. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 65536ull /* the largest that Linux has on aarch64 */

typedef void task(void *frame, int64_t first, int64_t last);
extern task *const vyre_entries[];

static FILE *given, *found;

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(3);
}

static uint64_t number(void) {
    uint64_t value;
    if (fread(&value, sizeof value, 1, given) != 1) fail("the file of launches ends early");
    return value;
}

static void take(void *place, uint64_t bytes) {
    char rest[8];
    uint64_t behind = -bytes & 7;
    if (bytes && fread(place, bytes, 1, given) != 1) fail("the file of launches ends early");
    if (behind && fread(rest, behind, 1, given) != 1) fail("the file of launches ends early");
}

static void put(const void *place, uint64_t bytes) {
    uint64_t behind = -bytes & 7;
    if (bytes) fwrite(place, bytes, 1, found);
    if (behind) fwrite("\0\0\0\0\0\0\0", behind, 1, found);
}

static void launch(void) {
    uint64_t entry = number(), tasks = number(), size = number(), arrays = number();
    uint64_t at_end = number();
    int64_t *bounds = calloc(2 * tasks + 1, sizeof *bounds);
    char *frame = aligned_alloc(64, (size + 127) & ~63ull);
    char **place = calloc(arrays + 1, sizeof *place), **whole = calloc(arrays + 1, sizeof *whole);
    uint64_t *bytes = calloc(arrays + 1, sizeof *bytes);
    for (uint64_t n = 0; n < 2 * tasks; n++) bounds[n] = (int64_t)number();
    take(frame, size);
    for (uint64_t n = 0; n < arrays; n++) {
        uint64_t offset = number();
        bytes[n] = number();
        uint64_t room = (bytes[n] + PAGE - 1) / PAGE * PAGE;
        whole[n] = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (whole[n] == MAP_FAILED) fail("no memory for an array");
        if (room && mprotect(whole[n] + PAGE, room, PROT_READ | PROT_WRITE)) fail("no memory");
        place[n] = whole[n] + PAGE + (at_end ? room - bytes[n] : 0);
        take(place[n], bytes[n]);
        memcpy(frame + offset, &place[n], sizeof place[n]);
    }
    for (uint64_t n = 0; n < tasks; n++) vyre_entries[entry](frame, bounds[2 * n], bounds[2 * n + 1]);
    for (uint64_t n = 0; n < arrays; n++) {
        put(place[n], bytes[n]);
        munmap(whole[n], (bytes[n] + PAGE - 1) / PAGE * PAGE + 2 * PAGE);
    }
    fflush(found);
    free(bounds), free(frame), free(place), free(whole), free(bytes);
}

int main(int count, char **words) {
    if (count != 3) fail("give a file of launches, and one for what they wrote");
    given = fopen(words[1], "rb");
    found = fopen(words[2], "wb");
    if (!given || !found) fail("a file cannot be opened");
    for (uint64_t left = number(); left; left--) launch();
    return fclose(found) ? 3 : 0;
}
