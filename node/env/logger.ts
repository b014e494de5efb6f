/** One JSON line per message, by a pino logger per module, whose verbosity the API sets. */
import { type LogFn, type Logger as Pino, pino } from 'pino';
import { type Clock, systemClock } from '../../formats/clock.ts';
import type { Verbosity } from './verbosity.ts';

/** Constant message: `log.debug({ chunk, peer }, 'receipt is shallow')`. */
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
  /** The same name gives the same logger. @param bindings.module the folder, such as `pushsync` */
  child(bindings: { module: string }): Logger;
}

/** Most silent first. `all` equals `debug`. */
export const LOGGER_VERBOSITIES = ['none', 'error', 'warning', 'info', 'debug', 'all'] as const;
export type LoggerVerbosity = (typeof LOGGER_VERBOSITIES)[number];

export interface RegisteredLogger {
  /** Such as `node/pushsync`. */
  readonly name: string;
  /** `<name>[<finest level>][<fixed values>]>><sink>`, unique. */
  readonly subsystem: string;
  verbosity(): LoggerVerbosity;
  setVerbosity(verbosity: LoggerVerbosity): void;
}

export interface RootLogger extends Logger {
  /** Itself first, then modules in order of creation. */
  registered(): readonly RegisteredLogger[];
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
/** The finest is shown as `all`. */
const WORD_OF_LEVEL: Readonly<Record<string, LoggerVerbosity>> = {
  silent: 'none',
  error: 'error',
  warn: 'warning',
  info: 'info',
  debug: 'all',
  trace: 'all',
};

const ROOT_NAME = 'node';
/** The network nodes' names; standard output is the only sink. */
const FINEST = 0;
const SINK = 1;
/** Bytes kept for a stuck standard output; also the longest line. */
const UNWRITTEN_MAX = 1_048_576;

export interface LogDestination {
  write(line: string): void;
}

/** Defaults: the system's clock, standard output. */
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
    // A child without its own level follows its parent's.
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
 * At once: a killed node's last lines say what it was doing. Lines that a failing disk refuses are written later, up to the
 * limit. Without a listener each would throw.
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

export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
