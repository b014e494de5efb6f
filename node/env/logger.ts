/**
 * The log of a node: one JSON line per message, written by a logger per module. A module's logger has a verbosity of
 * its own, which the API reads and sets while the node runs; a message above it costs one comparison.
 */
import { bindingsText, type LogMethodName, logLine } from './log-line.ts';

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
  isLevelEnabled(level: LogMethodName): boolean;
  /** The logger of one module, the same for the same name; `module` is the folder's name, such as `pushsync`. */
  child(bindings: { module: string }): Logger;
}

/** Words of the API, most silent first. `all` and `debug` write the same: there is nothing finer than `debug`. */
export const LOGGER_VERBOSITIES = ['none', 'error', 'warning', 'info', 'debug', 'all'] as const;
export type LoggerVerbosity = (typeof LOGGER_VERBOSITIES)[number];

/** A logger as the API knows it. */
export interface RegisteredLogger {
  /** Elements joined by `/`: `node/pushsync`. */
  readonly name: string;
  /** `<name>[<finest level>][<fixed values>]>><sink>`, which no other logger has. */
  readonly subsystem: string;
  verbosity(): LoggerVerbosity;
  /** Until the node stops. */
  setVerbosity(verbosity: LoggerVerbosity): void;
}

/** The logger of the node itself, which knows those of its modules. */
export interface RootLogger extends Logger {
  /** Itself first, then the modules in the order in which they came. */
  registered(): readonly RegisteredLogger[];
}

/** Words of the `verbosity` option, most silent first; the verbosity with which every logger begins. */
export const VERBOSITIES = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Verbosity = (typeof VERBOSITIES)[number];

const LEVELS = { none: -4, error: -3, warning: -2, info: -1, debug: 0, all: 0 } as const satisfies Record<
  LoggerVerbosity,
  number
>;
const LEVEL_OF_METHOD = { error: -3, warn: -2, info: -1, debug: 0 } as const satisfies Record<
  LogMethodName,
  number
>;
const LEVEL_OF_OPTION = {
  silent: -4,
  error: -3,
  warn: -2,
  info: -1,
  debug: 0,
  trace: 0,
} as const satisfies Record<Verbosity, number>;
type Level = (typeof LEVELS)[LoggerVerbosity];

/** The finest level that is written: loggers of it are shown as `all`. */
const FINEST: Level = LEVELS.debug;
const ROOT_NAME = 'node';
/** Standard output is the only sink. */
const SINK = 1;

export interface LogDestination {
  write(line: string): void;
}

/** JSON lines on `destination` (default: standard output). */
export function createLogger(
  options: { verbosity: Verbosity; name?: string },
  destination: LogDestination = standardOutput(),
): RootLogger {
  const registry: Registry = {
    destination,
    level: LEVEL_OF_OPTION[options.verbosity],
    bindings: options.name === undefined ? {} : { node: options.name },
    loggers: new Map(),
  };
  const root = new ModuleLogger(registry, ROOT_NAME, registry.bindings);
  return Object.assign(root, { registered: () => [...registry.loggers.values()] });
}

/** Drops everything; for tests and tools that have no log. */
export function silentLogger(): Logger {
  return createLogger({ verbosity: 'silent' }, { write: () => undefined });
}

interface Registry {
  readonly destination: LogDestination;
  readonly level: Level;
  readonly bindings: Readonly<Record<string, string>>;
  /** By subsystem. */
  readonly loggers: Map<string, ModuleLogger>;
}

class ModuleLogger implements Logger, RegisteredLogger {
  readonly name: string;
  readonly subsystem: string;
  readonly #registry: Registry;
  readonly #bindings: string;
  #level: Level;

  constructor(registry: Registry, name: string, bindings: Readonly<Record<string, string>>) {
    this.name = name;
    this.subsystem = subsystemOf(name);
    this.#registry = registry;
    this.#bindings = bindingsText(bindings);
    this.#level = registry.level;
    registry.loggers.set(this.subsystem, this);
  }

  error(fields: object | string, message?: string): void {
    if (this.#level >= LEVEL_OF_METHOD.error) this.#write('error', fields, message);
  }

  warn(fields: object | string, message?: string): void {
    if (this.#level >= LEVEL_OF_METHOD.warn) this.#write('warn', fields, message);
  }

  info(fields: object | string, message?: string): void {
    if (this.#level >= LEVEL_OF_METHOD.info) this.#write('info', fields, message);
  }

  debug(fields: object | string, message?: string): void {
    if (this.#level >= LEVEL_OF_METHOD.debug) this.#write('debug', fields, message);
  }

  isLevelEnabled(level: LogMethodName): boolean {
    return this.#level >= LEVEL_OF_METHOD[level];
  }

  child({ module }: { module: string }): Logger {
    const name = `${this.name}/${module}`;
    const known = this.#registry.loggers.get(subsystemOf(name));
    return known ?? new ModuleLogger(this.#registry, name, { ...this.#registry.bindings, module });
  }

  verbosity(): LoggerVerbosity {
    if (this.#level === FINEST) return 'all';
    return LOGGER_VERBOSITIES.find((word) => LEVELS[word] === this.#level) as LoggerVerbosity;
  }

  setVerbosity(verbosity: LoggerVerbosity): void {
    this.#level = LEVELS[verbosity];
  }

  #write(level: LogMethodName, fields: object | string, message: string | undefined): void {
    const line =
      typeof fields === 'string'
        ? { level, bindings: this.#bindings, fields: {}, message: fields }
        : { level, bindings: this.#bindings, fields, message: message ?? '' };
    this.#registry.destination.write(logLine({ ...line, at: new Date() }));
  }
}

function subsystemOf(name: string): string {
  return `${name}[${FINEST}][]>>${SINK}`;
}

/** Where nobody reads any more, nothing is written any more: the end of a log is not the end of the node. */
function standardOutput(): LogDestination {
  const { stdout } = process;
  let isOpen = true;
  stdout.on('error', () => {
    isOpen = false;
  });
  return {
    write(line) {
      if (isOpen) stdout.write(line);
    },
  };
}
