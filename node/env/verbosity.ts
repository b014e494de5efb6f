/** Of the option, most silent first; every logger's initial one. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];
