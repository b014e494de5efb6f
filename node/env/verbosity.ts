/** Words of the `verbosity` option, most silent first; the initial verbosity of every logger. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];
