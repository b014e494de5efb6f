/** Versions of the two interfaces, which clients check. */
export const API_VERSION = '7.3.0';
export const DEBUG_API_VERSION = '4.0.0';
