/* cli/transport.h - messages between processes on many machines: the table that the module perp-mpi.so fills.
 *
 * MPI is in a module of its own, loaded when perp runs under mpirun, so that the program needs no
 * MPI to start, and one build serves machines with and without it.
 */
#ifndef PERP_CLI_TRANSPORT_H
#define PERP_CLI_TRANSPORT_H

#include <stddef.h>

#define CLI_TRANSPORT_VERSION 1

typedef struct cli_transport {
    int version;
    int (*start)(void); /* 0: done */
    int (*rank)(void);
    int (*size)(void);
    /* Process 0's value, in all processes. */
    int (*share)(int value);
    int (*send)(int to, const void* data, size_t size);
    /* Whether a message is there; from whom, and how long it is. */
    int (*waiting)(int* from, size_t* size);
    int (*receive)(int from, void* data, size_t size);
    void (*finish)(void);
    void (*end_all)(int exit_status); /* does not return */
} cli_transport;

/* The symbol of the module. */
#define CLI_TRANSPORT_SYMBOL "perp_transport"

#endif
