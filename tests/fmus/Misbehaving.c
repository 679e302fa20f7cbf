/* From time `when` on, does what an FMU must never do: see `Misbehaviour`. Until then it is a first-order lag,
 * der(x) = u - x, y = x.
 */
#include "model.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIME, u, x, y, der_x, what, when, COUNT };

/* The values of the parameter `what`. */
typedef enum {
    NOTHING,
    WRITE_TO_NULL,
    EXIT_WITH_3,
    ABORT,
    HANG,
    EAT_MEMORY,
    NOT_A_NUMBER,
    OVERFLOW_STACK,
    KILL_ITSELF,  /* as if somebody else had done so */
    KILL_COMMAND, /* the parent of its guard; takes 1 ms per step, and a break before it does so */
    CRAWL,        /* takes 100 ms per evaluation */
    NAN_INSIDE,   /* der(x) is no number */
    LEAVE_THREAD, /* once, one that never ends */
    PRINT,        /* a few words to stdout, which stay in its buffer */
    GO_ELSEWHERE, /* to another working directory */
    SEND_PICKLE,  /* to all sockets: a message that makes the file "forged" where it is unpickled */
    SEND_GARBAGE, /* likewise: a message of noise */
    SEND_LENGTH,  /* likewise: the length of a message that does not come */
    REACH_OUT,    /* writes a file "reached", and aborts if it can read one called "secret", or knock at a "gate" */
    CLOSE_ALL,    /* descriptors but the streams, and hangs */
    SCRIBBLE,     /* over the memory that its process shares with another one, from a thread, without end */
    TRUNCATE,     /* the files of such memory */
    LOOK_AROUND,  /* aborts if its process has a file open whose name contains "secret" */
    SHOUT,        /* to stdout and stderr what a terminal obeys, without an end of line, and aborts */
    FLOOD,        /* a megabyte of lines to each of them, once */
    TYPE,         /* into all terminals that it has, and prints how many these are and how many have taken it, once */
    LEAVE_BEHIND  /* processes called "left-behind" that have left session and parent, and never end, once */
} Misbehaviour;

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1", .start = 1, .description = "what x tends to"},
    [x] = {"x", LOCAL, EXACT, .unit = "1", .description = "state"},
    [y] = {"y", OUTPUT, .unit = "1", .description = "x"},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s", .description = "time derivative of x"},
    [what] = {"what", TUNABLE_PARAMETER, .unit = "1", .description = "kind of misbehaviour"},
    [when] = {"when", TUNABLE_PARAMETER, .unit = "s", .start = 1e9, .description = "time from which on it misbehaves"},
};

static const Dependency dependencies[] = {
    {y, x, DEPENDENT},     {y, what, DEPENDENT},  {y, when, DEPENDENT},     {y, TIME, DEPENDENT},
    {der_x, u, DEPENDENT}, {der_x, x, DEPENDENT}, {der_x, what, DEPENDENT}, {der_x, when, DEPENDENT},
};

static void sleep_for(double seconds)
{
    const struct timespec span = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&span, NULL);
}

static const double BREAK = 1.5; /* [s], in which another process gets its work done */

static void take_a_break(void)
{
    static int taken;
    if (!taken++)
        sleep_for(BREAK);
}

static int deeper(volatile int depth)
{
    volatile char frame[4096];
    frame[depth % 4096] = 1;
    return depth < 0 ? 0 : deeper(depth + 1) + frame[0]; /* never negative before the stack ends */
}

static void eat_memory(void)
{
    for (;;) {
        const size_t size = (size_t)1 << 20;
        volatile char *block = malloc(size);
        if (!block)
            abort();
        for (size_t i = 0; i < size; i += 4096)
            block[i] = 1;
        sleep_for(1e-4);
    }
}

static void *run_for_ever(void *nothing)
{
    for (;;)
        sleep_for(1e-4);
    return nothing;
}

static void leave_thread(void)
{
    static pthread_t thread;
    static int left;
    if (!left++)
        pthread_create(&thread, NULL, run_for_ever, NULL);
}

static void leave_behind(void)
{
    static int left;
    if (left++)
        return;
    for (int number = 0; number < 20; ++number) {
        const pid_t child = fork();
        if (child) {
            waitpid(child, NULL, 0);
            continue;
        }
        setsid();
        if (fork())
            _exit(0);
        prctl(PR_SET_NAME, "left-behind");
        for (;;)
            sleep_for(1);
    }
}

static pid_t parent_of(pid_t process)
{
    char name[64];
    int parent = 0;
    snprintf(name, sizeof name, "/proc/%d/stat", (int)process);
    FILE *file = fopen(name, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1 || parent <= 1)
        abort();
    fclose(file);
    return parent;
}

static int is_socket(int descriptor)
{
    struct stat facts;
    return fstat(descriptor, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

/* To all sockets that its process has inherited. A message begins with its length. */
static void send_everywhere(const char *content, size_t size, size_t length)
{
    char message[128] = {(char)(length >> 24), (char)(length >> 16), (char)(length >> 8), (char)length};
    memcpy(message + 4, content, size);
    for (int descriptor = 3; descriptor < 256; ++descriptor)
        if (is_socket(descriptor) && write(descriptor, message, size + 4) < 0)
            return;
}

static int can_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    const int connected = descriptor >= 0 && !connect(descriptor, (struct sockaddr *)&address, sizeof address);
    close(descriptor);
    return connected;
}

static void reach_out(void)
{
    FILE *const written = fopen("reached", "w");
    if (written)
        fclose(written);
    if (fopen("secret", "r") || fopen("/etc/shadow", "r") || can_connect("gate"))
        abort();
}

/* Do something with the beginning of each memory that is shared with another process, and its place in the list. */
static void with_shared_memory(void (*act)(uint64_t *begin, const char *place))
{
    FILE *const list = fopen("/proc/self/maps", "r");
    char line[512];
    while (list && fgets(line, sizeof line, list)) {
        if (!strstr(line, "memfd:ssptool"))
            continue;
        char *end;
        uint64_t *const begin = (uint64_t *)strtoull(line, &end, 16);
        *strchr(line, ' ') = 0;
        act(begin, line);
    }
    if (list)
        fclose(list);
}

/* The first page, with counters and the header, and some data. */
static void fill_with_noise(uint64_t *begin, const char *place)
{
    static uint64_t noise = 88172645463325252u;
    (void)place;
    for (size_t i = 0; i < 512; ++i) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        ((volatile uint64_t *)begin)[i] = noise;
    }
}

static volatile int rounds;

static void *scribble_for_ever(void *nothing)
{
    for (;; ++rounds)
        with_shared_memory(fill_with_noise);
    return nothing;
}

static void scribble(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, scribble_for_ever, NULL);
    while (rounds < 3)
        sleep_for(1e-4);
}

static void truncate_file(uint64_t *begin, const char *place)
{
    char path[600];
    (void)begin;
    snprintf(path, sizeof path, "/proc/self/map_files/%s", place);
    const int descriptor = open(path, O_RDWR);
    if (descriptor >= 0 && ftruncate(descriptor, 0) == 0)
        abort();
}

/* The target of the link at an open descriptor contains this. */
static int leads_to(int descriptor, const char *part)
{
    char path[64], target[512] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return readlink(path, target, sizeof target - 1) > 0 && strstr(target, part);
}

static void truncate_all(void)
{
    for (int descriptor = 3; descriptor < 256; ++descriptor)
        if (leads_to(descriptor, "memfd:") && ftruncate(descriptor, 0) == 0)
            abort();
    with_shared_memory(truncate_file);
}

static void flood(void)
{
    static int flooded;
    for (int line = 0; line < 8192 && !flooded; ++line) {
        printf("out %0123d\n", line);
        fprintf(stderr, "err %0123d\n", line);
    }
    flooded = 1;
}

static void type_everywhere(void)
{
    static int typed_before;
    int reached = 0, typed = 0;
    if (typed_before++)
        return;
    open("/dev/tty", O_RDWR);
    for (int descriptor = 0; descriptor < 256; ++descriptor) {
        if (!isatty(descriptor))
            continue;
        ++reached;
        typed += ioctl(descriptor, TIOCSTI, "#") == 0;
    }
    printf("reached %d, typed %d\n", reached, typed);
}

static void misbehave(Misbehaviour kind)
{
    switch (kind) {
    case WRITE_TO_NULL: {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
        break;
    }
    case EXIT_WITH_3: exit(3);
    case ABORT: abort();
    case HANG:
        for (;;)
            sleep_for(1);
    case EAT_MEMORY: eat_memory(); break;
    case OVERFLOW_STACK: exit(deeper(0));
    case KILL_ITSELF: kill(getpid(), SIGKILL); break;
    case KILL_COMMAND:
        sleep_for(BREAK);
        kill(parent_of(getppid()), SIGKILL);
        for (;;)
            sleep_for(1);
    case LEAVE_THREAD: leave_thread(); break;
    case PRINT: printf("says the FMU;"); break;
    case GO_ELSEWHERE:
        if (chdir("/"))
            abort();
        break;
    case SEND_PICKLE: {
        static const char pickle[] = "cposix\nsystem\n(S'touch forged'\ntR.";
        send_everywhere(pickle, sizeof pickle - 1, sizeof pickle - 1);
        break;
    }
    case SEND_GARBAGE: send_everywhere("[[[\xff\x00\x80}", 7, 7); break;
    case SEND_LENGTH: send_everywhere("[", 1, 0x7ffffffe); break;
    case REACH_OUT: reach_out(); break;
    case CLOSE_ALL:
        for (int descriptor = 3; descriptor < 256; ++descriptor)
            close(descriptor);
        for (;;)
            sleep_for(1);
    case SCRIBBLE: scribble(); break;
    case TRUNCATE: truncate_all(); break;
    case LOOK_AROUND:
        for (int descriptor = 3; descriptor < 256; ++descriptor)
            if (leads_to(descriptor, "secret"))
                abort();
        break;
    case SHOUT:
        fputs("\033]0;from stdout\007 last words", stdout);
        fputs("\033]0;from stderr\007 last words", stderr);
        abort();
    case FLOOD: flood(); break;
    case TYPE: type_everywhere(); break;
    case LEAVE_BEHIND: leave_behind(); break;
    default: break;
    }
}

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    const Misbehaviour kind = (Misbehaviour)creal(v[what]);
    v[y] = v[x];
    v[der_x] = v[u] - v[x];
    if (kind == CRAWL)
        sleep_for(0.1);
    if (kind == KILL_COMMAND) {
        sleep_for(1e-4);
        if (creal(v[TIME]) >= creal(v[when]) - 0.1)
            take_a_break();
    }
    if (creal(v[TIME]) >= creal(v[when])) {
        misbehave(kind);
        if (kind == NOT_A_NUMBER)
            v[y] = NAN;
        if (kind == NAN_INSIDE)
            v[der_x] = NAN;
    }
}

MODEL = {
    .name = "Misbehaving",
    .description = "A lag that crashes, hangs, exits or worse when it is told to",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
