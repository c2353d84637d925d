/* src/record/disk.c - HDF5 file driver on plain POSIX calls; ignores writes after the first
 * error. */
#include "record/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

typedef struct disk_info {
    perpi_trouble* trouble;
} disk_info;

typedef struct disk_file {
    H5FD_t base; /* HDF5's part, must be first */
    int fd;
    haddr_t eoa, eof; /* end of what HDF5 has allocated; end of what is (or seems) written */
    perpi_trouble* trouble;
} disk_file;

static void disk_note_error(perpi_trouble* trouble, int error)
{
    if (trouble->error == 0) {
        trouble->error = error != 0 ? error : EIO;
    }
}

static H5FD_t* disk_open(const char* name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    (void)flags;
    (void)maxaddr;
    const disk_info* info = H5Pget_driver_info(fapl);
    if (info == NULL) {
        return NULL;
    }
    const int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        disk_note_error(info->trouble, errno);
        return NULL;
    }
    disk_file* file = calloc(1, sizeof *file); /* HDF5's object: not from our allocator */
    if (file == NULL) {
        disk_note_error(info->trouble, ENOMEM);
        (void)close(fd);
        return NULL;
    }
    file->fd = fd;
    file->trouble = info->trouble;
    return &file->base;
}

static herr_t disk_close(H5FD_t* base)
{
    disk_file* file = (disk_file*)base;
    if (close(file->fd) != 0) {
        disk_note_error(file->trouble, errno);
    }
    free(file);
    return 0;
}

static herr_t disk_query(const H5FD_t* base, unsigned long* flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_SUPPORTS_SWMR_IO | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t disk_get_eoa(const H5FD_t* base, H5FD_mem_t type)
{
    (void)type;
    return ((const disk_file*)base)->eoa;
}

static herr_t disk_set_eoa(H5FD_t* base, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    ((disk_file*)base)->eoa = addr;
    return 0;
}

static haddr_t disk_get_eof(const H5FD_t* base, H5FD_mem_t type)
{
    (void)type;
    return ((const disk_file*)base)->eof;
}

static herr_t disk_read(H5FD_t* base, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                        void* buffer)
{
    (void)type;
    (void)dxpl;
    disk_file* file = (disk_file*)base;
    char* at = buffer;
    while (size > 0) {
        const ssize_t got = pread(file->fd, at, size, (off_t)addr);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            disk_note_error(file->trouble, errno);
            return -1;
        }
        if (got == 0) { /* beyond the end: zeros, as HDF5's own driver gives */
            memset(at, 0, size);
            return 0;
        }
        at += got;
        addr += (haddr_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static herr_t disk_write(H5FD_t* base, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size,
                         const void* buffer)
{
    (void)type;
    (void)dxpl;
    disk_file* file = (disk_file*)base;
    const char* at = buffer;
    if (addr + size > file->eof) {
        file->eof = addr + size;
    }
    while (size > 0 && file->trouble->error == 0) {
        const ssize_t put = pwrite(file->fd, at, size, (off_t)addr);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            disk_note_error(file->trouble, put < 0 ? errno : ENOSPC);
            break;
        }
        at += put;
        addr += (haddr_t)put;
        size -= (size_t)put;
    }
    return 0;
}

static herr_t disk_truncate(H5FD_t* base, hid_t dxpl, hbool_t closing)
{
    (void)dxpl;
    (void)closing;
    disk_file* file = (disk_file*)base;
    if (file->eoa != file->eof && file->trouble->error == 0) {
        if (ftruncate(file->fd, (off_t)file->eoa) != 0) {
            disk_note_error(file->trouble, errno);
        }
    }
    file->eof = file->eoa;
    return 0;
}

/* Only for a driver that locks does HDF5 mark a file as being written, and without the mark a
 * reader would not open it as a SWMR file. The file is new, so no lock is needed. */
static herr_t disk_lock(H5FD_t* base, hbool_t exclusive)
{
    (void)base;
    (void)exclusive;
    return 0;
}

static herr_t disk_unlock(H5FD_t* base)
{
    (void)base;
    return 0;
}

static const H5FD_class_t disk_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)607,
#endif
    .name = "perp",
    .maxaddr = ((haddr_t)1 << 62) - 1,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(disk_info),
    .open = disk_open,
    .close = disk_close,
    /* no .cmp: with one, H5Fcreate would first try to open an old file of that name */
    .query = disk_query,
    .get_eoa = disk_get_eoa,
    .set_eoa = disk_set_eoa,
    .get_eof = disk_get_eof,
    .read = disk_read,
    .write = disk_write,
    .truncate = disk_truncate,
    .lock = disk_lock,
    .unlock = disk_unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t perpi_disk_register(void)
{
    return H5FDregister(&disk_class);
}

herr_t perpi_disk_select(hid_t fapl, hid_t driver, perpi_trouble* trouble)
{
    const disk_info info = {trouble};
    return H5Pset_driver(fapl, driver, &info);
}

perpi_quiet perpi_quiet_begin(void)
{
    perpi_quiet quiet = {NULL, NULL};
    (void)H5Eget_auto2(H5E_DEFAULT, &quiet.function, &quiet.data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return quiet;
}

void perpi_quiet_end(perpi_quiet quiet)
{
    (void)H5Eset_auto2(H5E_DEFAULT, quiet.function, quiet.data);
}
