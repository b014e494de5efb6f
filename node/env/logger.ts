/**
 * The log of a node: one JSON line per message, written by a pino logger per module. A module's logger has its own
 * verbosity, which the API reads and sets while the node runs.
 */
import { type LogFn, type Logger as Pino, pino } from 'pino';
import { type Clock, systemClock } from '../../formats/clock.ts';
import type { Verbosity } from './verbosity.ts';

/** Fields, then a constant message: `log.debug({ chunk, peer }, 'receipt is shallow')`. */
export interface LogMethod {
  (fields: object, message: string): void;
  (message: string): void;
}

/** `error`: operator must act; `warn`: may need to; `info`: rare changes; `debug`: per request. */
export interface Logger {
  error: LogMethod;
  warn: LogMethod;
  info: LogMethod;
  debug: LogMethod;
  isLevelEnabled(level: 'error' | 'warn' | 'info' | 'debug'): boolean;
  /**
   * The logger of one module; the same name gives the same logger; `module` is the folder's name, such as `pushsync`.
   */
  child(bindings: { module: string }): Logger;
}

/** Words of the API, most silent first. `all` and `debug` write the same: nothing is finer than `debug`. */
export const LOGGER_VERBOSITIES = ['none', 'error', 'warning', 'info', 'debug', 'all'] as const;
export type LoggerVerbosity = (typeof LOGGER_VERBOSITIES)[number];

/** A logger as the API knows it. */
export interface RegisteredLogger {
  /** Elements joined by `/`: `node/pushsync`. */
  readonly name: string;
  /** `<name>[<finest level>][<fixed values>]>><sink>`, unique among loggers. */
  readonly subsystem: string;
  verbosity(): LoggerVerbosity;
  /** Lasts until the node stops. */
  setVerbosity(verbosity: LoggerVerbosity): void;
}

/** The logger of the node itself, which knows its modules' loggers. */
export interface RootLogger extends Logger {
  /** Itself first, then the modules in the order of their creation. */
  registered(): readonly RegisteredLogger[];
  /** Called for every written line, its own and its modules'. */
  onLine(listener: (level: 'error' | 'warn' | 'info' | 'debug') => void): void;
}

const LEVEL_OF_WORD = {
  none: 'silent',
  error: 'error',
  warning: 'warn',
  info: 'info',
  debug: 'debug',
  all: 'debug',
} as const satisfies Record<LoggerVerbosity, Verbosity>;
/** Verbosities as shown: the finest one is `all`. */
const WORD_OF_LEVEL: Readonly<Record<string, LoggerVerbosity>> = {
  silent: 'none',
  error: 'error',
  warn: 'warning',
  info: 'info',
  debug: 'all',
  trace: 'all',
};

const ROOT_NAME = 'node';
/** The network nodes' names for the finest level, and for standard output, the only sink. */
const FINEST = 0;
const SINK = 1;
/** Bytes kept while standard output takes none; also the longest line. */
const UNWRITTEN_MAX = 1_048_576;

export interface LogDestination {
  write(line: string): void;
}

/** JSON lines with the time of `clock` (default: the system's) on `destination` (default: standard output). */
export function createLogger(
  options: { verbosity: Verbosity; name?: string },
  { clock = systemClock(), destination }: { clock?: Pick<Clock, 'now'>; destination?: LogDestination } = {},
): RootLogger {
  const { err } = pino.stdSerializers;
  let onLine: Parameters<RootLogger['onLine']>[0] | undefined;
  const settings = {
    level: options.verbosity,
    timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
    base: options.name === undefined ? null : { node: options.name },
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err, error: err },
    hooks: {
      logMethod(this: Pino, args: Parameters<LogFn>, write: LogFn, level: number) {
        onLine?.(pino.levels.labels[level] as 'error' | 'warn' | 'info' | 'debug');
        write.apply(this, args);
      },
    },
  };
  const root = pino(settings, destination ?? standardOutput());
  const childOf = root.child.bind(root);
  const modules = new Map<string, Pino>();
  const registered = [registration(ROOT_NAME, root)];
  const child = ({ module }: { module: string }): Logger => {
    const known = modules.get(module);
    if (known !== undefined) return known;
    const made = childOf({ module });
    // Set even if equal to the root's: a child without its own would follow its parent's from then on.
    made.level = options.verbosity;
    modules.set(module, made);
    registered.push(registration(`${ROOT_NAME}/${module}`, made));
    return made;
  };
  return Object.assign(root, {
    child,
    registered: () => registered,
    onLine(listener: Parameters<RootLogger['onLine']>[0]) {
      onLine = listener;
    },
  });
}

/**
 * Written at once: the last lines of a node that is killed say what it was doing, and readers see each in order.
 * Lines that a full or failing disk does not take are written once it does, the first ones, up to the limit: without
 * a listener, each line would throw the error.
 */
function standardOutput(): LogDestination {
  return pino.destination({ dest: SINK, sync: true, maxLength: UNWRITTEN_MAX }).on('error', () => undefined);
}

function registration(name: string, logger: Pino): RegisteredLogger {
  return {
    name,
    subsystem: `${name}[${FINEST}][]>>${SINK}`,
    verbosity: () => WORD_OF_LEVEL[logger.level] ?? 'all',
    setVerbosity(verbosity) {
      logger.level = LEVEL_OF_WORD[verbosity];
    },
  };
}

/** Drops everything; for tests and tools that have no log. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
