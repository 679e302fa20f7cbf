/* The arguments that follow the instance, by shape: see functions.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARAMETERS_B , bool a
#define ARGUMENTS_B , a
#define PARAMETERS_BDDBD , bool a, double b, double c, bool d, double e
#define ARGUMENTS_BDDBD , a, b, c, d, e
#define PARAMETERS_BNP , bool a, size_t b, void *c
#define ARGUMENTS_BNP , a, b, c
#define PARAMETERS_BPP , bool a, void *b, void *c
#define ARGUMENTS_BPP , a, b, c
#define PARAMETERS_D , double a
#define ARGUMENTS_D , a
#define PARAMETERS_DBD , double a, bool b, double c
#define ARGUMENTS_DBD , a, b, c
#define PARAMETERS_DDB , double a, double b, bool c
#define ARGUMENTS_DDB , a, b, c
#define PARAMETERS_DDBPPPP , double a, double b, bool c, void *d, void *e, void *f, void *g
#define ARGUMENTS_DDBPPPP , a, b, c, d, e, f, g
#define PARAMETERS_DDI , double a, double b, int32_t c
#define ARGUMENTS_DDI , a, b, c
#define PARAMETERS_IDDID , int32_t a, double b, double c, int32_t d, double e
#define ARGUMENTS_IDDID , a, b, c, d, e
#define PARAMETERS_INP , int32_t a, size_t b, void *c
#define ARGUMENTS_INP , a, b, c
#define PARAMETERS_IP , int32_t a, void *b
#define ARGUMENTS_IP , a, b
#define PARAMETERS_IPP , int32_t a, void *b, void *c
#define ARGUMENTS_IPP , a, b, c
#define PARAMETERS_P , void* a
#define ARGUMENTS_P , a
#define PARAMETERS_PN , void *a, size_t b
#define ARGUMENTS_PN , a, b
#define PARAMETERS_PNP , void *a, size_t b, void *c
#define ARGUMENTS_PNP , a, b, c
#define PARAMETERS_PNPN , void *a, size_t b, void *c, size_t d
#define ARGUMENTS_PNPN , a, b, c, d
#define PARAMETERS_PNPNPNPN , void *a, size_t b, void *c, size_t d, void *e, size_t f, void *g, size_t h
#define ARGUMENTS_PNPNPNPN , a, b, c, d, e, f, g, h
#define PARAMETERS_PNPNPP , void *a, size_t b, void *c, size_t d, void *e, void *f
#define ARGUMENTS_PNPNPP , a, b, c, d, e, f
#define PARAMETERS_PNPP , void *a, size_t b, void *c, void *d
#define ARGUMENTS_PNPP , a, b, c, d
#define PARAMETERS_PNPPN , void *a, size_t b, void *c, void *d, size_t e
#define ARGUMENTS_PNPPN , a, b, c, d, e
#define PARAMETERS_PNPPP , void *a, size_t b, void *c, void *d, void *e
#define ARGUMENTS_PNPPP , a, b, c, d, e
#define PARAMETERS_PP , void *a, void *b
#define ARGUMENTS_PP , a, b
#define PARAMETERS_PPN , void *a, void *b, size_t c
#define ARGUMENTS_PPN , a, b, c
#define PARAMETERS_PPPPPP , void *a, void *b, void *c, void *d, void *e, void *f
#define ARGUMENTS_PPPPPP , a, b, c, d, e, f
#define PARAMETERS_UP , uint32_t a, void *b
#define ARGUMENTS_UP , a, b
#define PARAMETERS_UPPPPN , uint32_t a, void *b, void *c, void *d, void *e, size_t f
#define ARGUMENTS_UPPPPN , a, b, c, d, e, f
#define PARAMETERS_V
#define ARGUMENTS_V
