/*
 * rmr/RIC_message_types.h - the message types that the router itself knows. Types below 100 are
 * its own; those of the platform and of applications are theirs to define.
 */
#ifndef _ric_message_types_h
#define _ric_message_types_h

#define RIC_UNDEFINED (-1)

/* Between the router and the route manager. */
#define RMRRM_TABLE_DATA 20
#define RMRRM_REQ_TABLE 21
#define RMRRM_TABLE_STATE 22

/* Asked and answered by the frameworks of applications, not by the library. */
#define RIC_HEALTH_CHECK_REQ 100
#define RIC_HEALTH_CHECK_RESP 101

#endif
