/* What ToolRange uses of roctx; a test implements it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int roctxRangePushA(const char* message);
int roctxRangePop(void);

#ifdef __cplusplus
}
#endif
