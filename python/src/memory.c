/* python/src/memory.c - an allocator whose blocks outlive their release while a buffer shows them.
 *
 * The list of contacts of a simulation grows while it runs, so that its block moves. An array of
 * Python that shows the block must stay readable: a pinned block is copied instead of moved, and
 * freed with its last pin. Pins are few; a warm step does not allocate, so that the list is hardly
 * ever walked.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

struct core_pin {
    struct core_pin* next;
    void* block;
    int32_t count;
    bool released; /* by the library */
};

void core_memory_open(core_memory* memory)
{
    (void)pthread_mutex_init(&memory->lock, NULL);
    memory->pins = NULL;
}

void core_memory_close(core_memory* memory)
{
    (void)pthread_mutex_destroy(&memory->lock);
}

static struct core_pin** find_pin(core_memory* memory, const void* block)
{
    struct core_pin** at = &memory->pins;
    while (*at != NULL && ((*at)->block != block || (*at)->released)) {
        at = &(*at)->next;
    }
    return at;
}

void* core_memory_resize(void* user, void* block, size_t size)
{
    core_memory* memory = user;
    (void)pthread_mutex_lock(&memory->lock);
    struct core_pin* pin = memory->pins != NULL ? *find_pin(memory, block) : NULL;
    void* result = NULL;
    if (pin == NULL) {
        if (size == 0) {
            free(block);
        } else {
            result = realloc(block, size);
        }
    } else {
        if (size > 0) {
            result = malloc(size);
        }
        if (result != NULL) {
            const size_t old = malloc_usable_size(block);
            memcpy(result, block, old < size ? old : size);
        }
        pin->released = size == 0 || result != NULL;
    }
    (void)pthread_mutex_unlock(&memory->lock);
    return result;
}

bool core_memory_pin(core_memory* memory, void* block)
{
    (void)pthread_mutex_lock(&memory->lock);
    struct core_pin* pin = *find_pin(memory, block);
    if (pin == NULL) {
        pin = malloc(sizeof *pin);
        if (pin != NULL) {
            *pin = (struct core_pin){.next = memory->pins, .block = block};
            memory->pins = pin;
        }
    }
    if (pin != NULL) {
        pin->count += 1;
    }
    (void)pthread_mutex_unlock(&memory->lock);
    return pin != NULL;
}

void core_memory_unpin(core_memory* memory, void* block)
{
    (void)pthread_mutex_lock(&memory->lock);
    struct core_pin** at = &memory->pins;
    while (*at != NULL && (*at)->block != block) {
        at = &(*at)->next;
    }
    struct core_pin* pin = *at;
    if (pin != NULL && --pin->count == 0) {
        *at = pin->next;
        if (pin->released) {
            free(pin->block);
        }
        free(pin);
    }
    (void)pthread_mutex_unlock(&memory->lock);
}
