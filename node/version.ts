/** Version of the package; a test keeps it equal to package.json's. */
export const VERSION = '0.1.0';
/** Versions of the HTTP interfaces that this node speaks (`GET /health`). */
export const API_VERSION = '7.3.0';
export const DEBUG_API_VERSION = '4.0.0';
