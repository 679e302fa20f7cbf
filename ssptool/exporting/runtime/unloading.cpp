// The end of a library that is linked without what compilers for Linux add to each: without that, objects outlive the
// library that is unloaded, and the process crashes at its end, where it destroys them.

#ifdef SSPTOOL_OWN_UNLOADING

extern "C" {
extern void* __dso_handle __attribute__((visibility("hidden")));
void __cxa_finalize(void* library);
}

__attribute__((destructor)) static void destroy_objects() { __cxa_finalize(&__dso_handle); }

#endif
