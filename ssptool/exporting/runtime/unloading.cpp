// The end of a library that is linked without the start files of Linux compilers. Without this, objects would outlive
// the unloaded library, and the process would crash at its end when it destroys them.

#ifdef SSPTOOL_OWN_UNLOADING

extern "C" {
extern void* __dso_handle __attribute__((visibility("hidden")));
void __cxa_finalize(void* library);
}

__attribute__((destructor)) static void destroy_objects() { __cxa_finalize(&__dso_handle); }

#endif
