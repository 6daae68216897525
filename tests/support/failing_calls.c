// Preloaded into a process: the n-th system call that changes files below a folder fails, or kills the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char below[PATH_MAX];
static long at, count;
static int number;
static char names[1 << 16];

// Begin to count. The call numbered `nth` fails with `error`, or kills the process if that is 0.
void arm(const char *folder, long nth, int error) {
    snprintf(below, sizeof below, "%s", folder);
    at = nth, count = 0, number = error, names[0] = 0;
}

// The names of the calls so far, each followed by a space.
const char *calls(void) { return names; }

static int fails(const char *name, const char *path) {
    if (!below[0] || strncmp(path, below, strlen(below))) return 0;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s ", name);
    if (++count != at) return 0;
    if (!number) kill(getpid(), SIGKILL);
    errno = number;
    return 1;
}

static int fails_open(const char *name, int file) {
    char link[64], path[PATH_MAX] = "";
    if (!below[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && fails(name, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                     \
    int name(const char *path, int flags, ...) {       \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        int mode = va_arg(rest, int);                  \
        va_end(rest);                                  \
        if (fails("open", path)) return -1;            \
        return NEXT(name)(path, flags, mode);          \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *data, size_t size) {
    return fails_open("write", file) ? -1 : NEXT(write)(file, data, size);
}
int fsync(int file) { return fails_open("fsync", file) ? -1 : NEXT(fsync)(file); }
int rename(const char *old, const char *new) { return fails("rename", new) ? -1 : NEXT(rename)(old, new); }
int unlink(const char *path) { return fails("unlink", path) ? -1 : NEXT(unlink)(path); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path) ? -1 : NEXT(mkdir)(path, mode); }
