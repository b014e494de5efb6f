/** Values of the option `verbosity`, most silent first. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];
