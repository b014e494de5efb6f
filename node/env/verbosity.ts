/** Words of the `verbosity` option, most silent first; the verbosity with which every logger begins. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];
