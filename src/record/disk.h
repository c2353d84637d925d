/* src/record/disk.h - a file driver for HDF5 that tolerates a full disk.
 *
 * HDF5's own drivers do not: a write that fails leaves its caches dirty, so that closing the file,
 * or exiting the program, repeats the write. This driver stores the first error and from then on
 * ignores every write, so that HDF5 can close the file. The disk keeps its content from before the
 * error, exactly as if the process had been killed at that moment, and a SWMR file can be read in
 * that state. The caller checks `trouble` after each flush.
 */
#ifndef PERPI_RECORD_DISK_H
#define PERPI_RECORD_DISK_H

#include <hdf5.h>

typedef struct perpi_trouble {
    int error; /* errno of the first failure, 0: none */
} perpi_trouble;

/* The driver's id, or negative. H5FDunregister it when the file is closed. */
hid_t perpi_disk_register(void);
/* Files opened with fapl use the driver; trouble must outlive them. A file is always new. */
herr_t perpi_disk_select(hid_t fapl, hid_t driver, perpi_trouble* trouble);

/* HDF5 prints its error stack unless told not to; the setting is put back. */
typedef struct perpi_quiet {
    H5E_auto2_t function;
    void* data;
} perpi_quiet;
perpi_quiet perpi_quiet_begin(void);
void perpi_quiet_end(perpi_quiet quiet);

#endif
