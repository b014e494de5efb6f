import { type DestinationStream, type LoggerOptions, pino } from 'pino';

/** Fields first, then a constant message: `log.debug({ chunk, peer }, 'receipt is shallow')`. */
export interface LogMethod {
  (fields: object, message: string): void;
  (message: string): void;
}

/** `error`: the operator must act; `warn`: may need to; `info`: rare state changes; `debug`: per request. */
export interface Logger {
  error: LogMethod;
  warn: LogMethod;
  info: LogMethod;
  debug: LogMethod;
  trace: LogMethod;
  isLevelEnabled(level: string): boolean;
  /** A logger of one module; `module` is the folder's name, such as `pushsync`. */
  child(bindings: { module: string }): Logger;
}

/** Words of the `verbosity` option, most silent first. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];

/** JSON lines on `destination` (default: standard output). */
export function createLogger(
  options: { verbosity: Verbosity; name?: string },
  destination?: DestinationStream,
): Logger {
  const settings: LoggerOptions = {
    level: options.verbosity,
    timestamp: pino.stdTimeFunctions.isoTime,
    base: options.name === undefined ? null : { node: options.name },
    formatters: { level: (label) => ({ level: label }) },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/** Drops everything; for tests and tools that have no log. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
