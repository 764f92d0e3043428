/*
 * rmr/rmr_symtab.h - a table from names or numbers to pointers, which wrappers of RMR use.
 *
 * Names live in classes: the same name may stand once in each. Class 0 is that of numbers, whose
 * "name" is the address of a uint64_t. The table copies names and never frees values. A table is
 * not locked: threads that share one take turns.
 */
#ifndef _rmr_symtab_h
#define _rmr_symtab_h

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void *rmr_sym_alloc(int size); /* about how many entries there will be */
extern void rmr_sym_free(void *table);
extern void rmr_sym_clear(void *table);
/* 1: new, 0: replaced, -1: failed. rmr_sym_put takes class 0 as class 1. */
extern int rmr_sym_put(void *table, const char *name, unsigned int st_class, void *val);
extern int rmr_sym_map(void *table, uint64_t key, void *val);
extern void *rmr_sym_get(void *table, const char *name, unsigned int st_class);
extern void *rmr_sym_pull(void *table, uint64_t key);
extern void rmr_sym_del(void *table, const char *name, unsigned int st_class);
extern void rmr_sym_ndel(void *table, uint64_t key);
/* Calls `user_fun(table, entry, name, value, user_data)` for each entry of a class; it may delete
 * the entry that it is called for. */
extern void rmr_sym_foreach_class(void *table, unsigned int st_class,
                                  void (*user_fun)(void *, void *, const char *, void *, void *),
                                  void *user_data);
extern void rmr_sym_dump(void *table);
extern void rmr_sym_stats(void *table, int level);

#ifdef __cplusplus
}
#endif

#endif
