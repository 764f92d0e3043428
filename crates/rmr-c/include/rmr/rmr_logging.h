/*
 * rmr/rmr_logging.h - the log of RMR, written to standard error.
 */
#ifndef _rmr_logging_h
#define _rmr_logging_h

#ifdef __cplusplus
extern "C" {
#endif

#define RMR_VL_OFF 0
#define RMR_VL_CRIT 1
#define RMR_VL_ERR 2
#define RMR_VL_WARN 3
#define RMR_VL_INFO 4
#define RMR_VL_DEBUG 5

/* Reads RMR_LOG_VLEVEL and gives the level. */
extern int rmr_vlog_init(void);
/* Writes a line when `write_level` is at or below the level; `fmt` is printf's and ends with \n. */
extern void rmr_vlog(int write_level, const char *fmt, ...);
/* Writes whatever the level, unless it is 0 or less. */
extern void rmr_vlog_force(int write_level, const char *fmt, ...);
extern void rmr_set_vlevel(int new_level);

#ifdef __cplusplus
}
#endif

#endif
