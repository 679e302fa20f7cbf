/* A clerk that offers event mode. */
#define NAME "Scribe"
#include "Clerk.c"

const bool model_event_mode = true;
