/* cli/mpi/module.c - perp-mpi.so: cli/transport.h by MPI. */
#include <limits.h>
#include <mpi.h>

#include "../transport.h"

enum { TAG = 7 };

static int mpi_start(void)
{
    int started = 0;
    (void)MPI_Initialized(&started);
    return started ? 0 : MPI_Init(NULL, NULL);
}

static int mpi_rank(void)
{
    int rank = 0;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int mpi_size(void)
{
    int size = 1;
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

static int mpi_share(int value)
{
    (void)MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

static int mpi_send(int to, const void* data, size_t size)
{
    return size > INT_MAX ? 1 : MPI_Send(data, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static int mpi_waiting(int* from, size_t* size)
{
    MPI_Status status;
    int there = 0, count = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there) {
        return 0;
    }
    (void)MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *size = (size_t)count;
    return 1;
}

static int mpi_receive(int from, void* data, size_t size)
{
    return MPI_Recv(data, (int)size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void mpi_finish(void)
{
    (void)MPI_Finalize();
}

static void mpi_end_all(int exit_status)
{
    (void)MPI_Abort(MPI_COMM_WORLD, exit_status);
}

__attribute__((visibility("default"))) extern const cli_transport perp_transport;
const cli_transport perp_transport = {
    .version = CLI_TRANSPORT_VERSION,
    .start = mpi_start,
    .rank = mpi_rank,
    .size = mpi_size,
    .share = mpi_share,
    .send = mpi_send,
    .waiting = mpi_waiting,
    .receive = mpi_receive,
    .finish = mpi_finish,
    .end_all = mpi_end_all,
};
