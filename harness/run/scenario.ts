/** A scenario that asserts nothing is an error, a failed condition fails it, anything thrown makes it `error`. */
import { z } from 'zod';
import type { Clock } from '../../formats/clock.ts';
import {
  durationText,
  parseSizeBytes,
  parseWaitMs,
  SIZE_EXPECTED,
  WAIT_EXPECTED,
} from '../../formats/units.ts';
import { textAs } from '../base/fields.ts';
import { mistakeLines } from '../base/foreign-text.ts';
import { suggestion } from '../base/format.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { GroupInput } from '../cluster/plan/definition-input.ts';
import type { NodeMode, OwnFlavour } from '../flavours/flavour.ts';
import type { NodeOptionsInput } from '../flavours/node-options.gen.ts';
import type { Credit } from '../flavours/profiles.ts';
import type { Ledger } from '../inspect/ledger/ledger.ts';
import type { OperationKey, Recorder } from '../metrics/recorder.ts';
import type { Capability } from '../places/driver.ts';
import type { Assertion, Figure } from '../report/result.ts';

/** Kinds of parameters, as written on the command line. */
export type ParameterKind =
  | 'integer'
  | 'number'
  | 'size'
  | 'duration'
  | 'text'
  | 'boolean'
  | 'list'
  | 'sizes'
  | 'node';

/** What each kind of parameter becomes. */
export interface ParameterValue {
  integer: number;
  /** With or without a fraction. */
  number: number;
  /** Bytes. */
  size: number;
  /** Milliseconds. */
  duration: number;
  text: string;
  boolean: boolean;
  list: readonly string[];
  sizes: readonly number[];
  /** A full or light node, checked before the run; empty: the scenario chooses. */
  node: string;
}

/** A row of a parameter table; made by `parameter`. */
export interface ParameterSpec<K extends ParameterKind = ParameterKind> {
  readonly kind: K;
  readonly default: ParameterValue[K];
  readonly help: string;
  readonly min?: number;
  readonly max?: number;
  /** The only texts allowed, of a list each. */
  readonly oneOf?: readonly string[];
  /**
   * What nodes are allowed, such as time or attempts. With less a run fails for another reason, so `minimise` does not lower
   * it.
   */
  readonly allowance?: true;
  /** Bounds of `--vary`: a whole number from the first to the second, or at least one of these words. */
  readonly vary?: VaryBounds<K>;
  /** Words of `vary` that are drawn with `--driver simulated` alone. */
  readonly varySimulated?: readonly string[];
}

/** What `--vary` draws from; kinds without bounds are not varied. */
export type VaryBounds<K extends ParameterKind> = K extends 'list'
  ? readonly string[]
  : K extends 'integer' | 'size' | 'duration'
    ? readonly [least: number, most: number]
    : never;

/** Parameters of a scenario by name. */
export type ParameterTable = Readonly<Record<string, ParameterSpec>>;
/** Values of a parameter table. */
export type ParametersOf<T extends ParameterTable> = {
  readonly [N in keyof T]: ParameterValue[T[N]['kind']];
};

/** A typed row of a parameter table. */
export function parameter<K extends ParameterKind>(
  kind: K,
  fallback: ParameterValue[K],
  help: string,
  limits: Pick<ParameterSpec<K>, 'min' | 'max' | 'oneOf' | 'allowance' | 'vary' | 'varySimulated'> = {},
): ParameterSpec<K> {
  return { kind, default: fallback, help, ...limits };
}

/** A scenario: what it needs, the cluster that it gets, and what it does there. */
export interface Scenario<T extends ParameterTable = ParameterTable> {
  readonly name: string;
  readonly group: 'functional' | 'economics' | 'load' | 'durability' | 'chaos';
  readonly tags?: readonly string[];
  readonly about: string;
  readonly parameters: T;
  /** Without these the scenario is skipped, whatever its parameters. */
  readonly needs: {
    readonly nodes: number;
    readonly flavours?: readonly OwnFlavour[];
    readonly modes?: readonly NodeMode[];
    readonly capabilities?: readonly Capability[];
    /** The control endpoint of the chain, to mine, fund accounts or set prices. */
    readonly control?: true;
    /** Nodes started by svcnet, with the options that it asks for, or their logs. */
    readonly started?: true;
    /** It runs a program of its own against the nodes, which must be at addresses of this machine. */
    readonly reachable?: true;
  };
  readonly cluster: {
    readonly nodes: number;
    /** Nodes of other flavours, when there is a program for them. */
    readonly with?: Readonly<Partial<Record<OwnFlavour, number>>>;
    /** Light nodes of our own besides them. */
    readonly light?: number;
    groups?(parameters: ParametersOf<T>): readonly GroupInput[];
    /** First bits (`0` and `1`) of the overlays of our own full nodes, assigned in turn. */
    readonly neighbourhoods?: readonly string[];
    readonly credit?: Credit;
    creditFor?(parameters: ParametersOf<T>): Credit | undefined;
    readonly options?: NodeOptionsInput;
    /** Its links must be able to fail. */
    linkFaults?(parameters: ParametersOf<T>): boolean;
    /** The clocks, disks and power of its nodes must be able to fail. */
    machineFaults?(parameters: ParametersOf<T>): boolean;
    /** It reads or changes what its nodes say to each other. */
    tap?(parameters: ParametersOf<T>): boolean;
    optionsFor?(parameters: ParametersOf<T>): NodeOptionsInput;
  };
  readonly timeoutMs: number;
  /** Nothing runs next to it: its conditions depend on what else the machine does. */
  readonly alone?: true;
  run(context: ScenarioContext<T>): Promise<void>;
}

/** Narrows the context's parameters to the declared ones. */
export function defineScenario<const T extends ParameterTable>(scenario: Scenario<T>): Scenario<T> {
  return scenario;
}

/** What a step shows while it runs. */
export interface StepProgress {
  /** After the step's name, such as `node-3 64 MiB`. */
  detail(text: string): void;
  /** The rate and the time left follow from it. @param unit what is counted, such as `chunks` */
  progress(done: number, total: number, unit: string): void;
}

/** What a running scenario receives. */
export interface ScenarioContext<T extends ParameterTable = ParameterTable> {
  readonly cluster: Cluster;
  readonly parameters: ParametersOf<T>;
  /** Seeded by run seed, scenario and stream name. */
  random(stream: string): SeededRandom;
  readonly ledger: Ledger;
  /** Folder of the run; files put there stay with its report. */
  readonly folder: string;
  /** Aborts at the scenario's deadline and on Ctrl-C. */
  readonly signal: AbortSignal;
  /** A named part, shown live. @returns what `work` returned; the text it resolves to may be set by `detail` */
  step<R>(name: string, work: (progress: StepProgress) => Promise<R>): Promise<R>;
  /**
   * Times one operation under a name and a node; errors are counted by class.
   * @param intendedMs when it should have started, by the cluster's monotonic clock: its latency counts from there
   */
  measure<R>(
    key: OperationKey,
    work: () => Promise<R>,
    bytesOf: (result: R) => number,
    intendedMs?: number,
  ): Promise<R>;
  /** Takes operations that something else has timed. */
  readonly recorder: Pick<Recorder, 'succeeded' | 'failed'>;
  /** Replaces an earlier one with this name and owner. */
  figure(figure: Figure): void;
  /** The report says that something could not be checked: a line for people. */
  unchecked(what: string): void;
  /** This scenario cannot run on the cluster: its result is `skipped`. */
  skip(reason: string): never;
  /** What it will do to nodes, by its parameters: on a driver that cannot, its result is `skipped`. */
  requires(capability: Capability): void;
  /** If it does not hold, the scenario goes on, its result is `failed`. @returns whether it held */
  expect(
    name: string,
    condition: boolean,
    seen: { observed: unknown; expected: unknown; evidence?: string | undefined; threshold?: true },
  ): boolean;
  /** Looked at again and again. When it is false, the scenario ends there and then and its result is `failed`. */
  always(condition: AlwaysCondition): void;
}

/** A condition that must hold at every moment. */
export interface AlwaysCondition {
  readonly name: string;
  readonly everyMs: number;
  /**
   * @returns what is wrong, a line each; undefined, like an error of a node: that cannot be told now
   * @throws whatever ends the scenario as an error
   */
  check(signal: AbortSignal): Promise<readonly string[] | undefined>;
  /** A line each, which nodes are asked for. */
  explain?(signal: AbortSignal): Promise<readonly string[]>;
}

/** Deterministic bytes and choices, the same for the same seed on every machine. */
export interface SeededRandom {
  bytes(length: number): Uint8Array;
  /** 0 <= n < bound */
  below(bound: number): number;
}

/** What `skip` throws. */
export class Skipped extends Error {
  readonly code = 'SKIPPED';

  constructor(reason: string) {
    super(reason);
    this.name = 'Skipped';
  }
}

export class ParameterError extends Error {
  readonly code = 'PARAMETER_INVALID';

  constructor(message: string) {
    super(message);
    this.name = 'ParameterError';
  }
}

/**
 * `--set name=value` texts → parameters.
 * @throws ParameterError naming scenario, parameter, value and what was expected; a line for each mistake
 */
export function resolveParameters<T extends ParameterTable>(
  scenario: Scenario<T>,
  given: ReadonlyMap<string, string>,
): ParametersOf<T> {
  const { name: of, parameters } = scenario;
  const known = Object.keys(parameters);
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ParameterError(
      `scenario ${of} has no parameter '${unknown}'${suggestion(unknown, known)} (known: ${known.join(', ')})`,
    );
  }
  const shape = Object.entries(parameters).map(([name, spec]) => [name, textOf(spec).optional()]);
  const parsed = z.object(Object.fromEntries(shape)).safeParse(Object.fromEntries(given));
  if (!parsed.success) {
    const mistakes = parsed.error.issues.map(
      ({ path: [name], message }) =>
        `${of}: ${String(name)}: got '${given.get(String(name))}', expected ${message}`,
    );
    throw new ParameterError(mistakeLines(mistakes));
  }
  const defaults = Object.entries(parameters).map(([name, spec]) => [name, spec.default]);
  return { ...Object.fromEntries(defaults), ...parsed.data } as ParametersOf<T>;
}

/** Its name in errors, and how its text is read. */
const KINDS: {
  readonly [K in ParameterKind]: {
    readonly expected: string;
    readonly parse: (text: string) => ParameterValue[K] | undefined;
  };
} = {
  integer: { expected: 'a whole number', parse: (text) => numberIn(text, /^\d{1,15}$/) },
  number: { expected: 'a number such as 0.95', parse: (text) => numberIn(text, /^\d{1,9}(\.\d{1,9})?$/) },
  size: { expected: SIZE_EXPECTED, parse: parseSizeBytes },
  duration: { expected: WAIT_EXPECTED, parse: parseWaitMs },
  text: { expected: 'text', parse: (text) => text },
  boolean: {
    expected: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  list: { expected: 'a comma-separated list', parse: splitList },
  sizes: { expected: 'sizes separated by commas, such as 1,4KiB,1MiB', parse: sizesIn },
  node: { expected: 'name of a node', parse: (text) => text },
};

export const PARAMETER_KINDS = Object.keys(KINDS) as [ParameterKind, ...ParameterKind[]];

/** Its error says what was expected, and the nearest allowed word. */
function textOf(spec: ParameterSpec): z.ZodType<unknown, string> {
  const expected = expectedOf(spec);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, oneOf } = spec;
  return textAs<ParameterValue[ParameterKind]>(expected, KINDS[spec.kind].parse).superRefine(
    (value, context) => {
      if (typeof value === 'number' && (value < min || value > max)) {
        context.addIssue({ code: 'custom', message: expected });
      }
      const unknown =
        oneOf === undefined ? undefined : [value].flat().find((word) => !oneOf.includes(String(word)));
      if (unknown !== undefined) {
        const near = suggestion(String(unknown), oneOf ?? []);
        context.addIssue({ code: 'custom', message: `${expected}${near}` });
      }
    },
  );
}

function expectedOf({ kind, min, max, oneOf }: ParameterSpec): string {
  if (oneOf !== undefined) return `${kind === 'list' ? 'some' : 'one'} of ${oneOf.join(', ')}`;
  const written = (value: number) => (kind === 'duration' ? durationText(value) : String(value));
  const least = min === undefined ? '' : `, at least ${written(min)}`;
  const most = max === undefined ? '' : `, at most ${written(max)}`;
  return `${KINDS[kind].expected}${least}${most}`;
}

function numberIn(text: string, form: RegExp): number | undefined {
  return form.test(text) ? Number(text) : undefined;
}

function sizesIn(text: string): number[] | undefined {
  const sizes = splitList(text).map(parseSizeBytes);
  return sizes.length === 0 || sizes.includes(undefined) ? undefined : (sizes as number[]);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function createAssertions(clock: Pick<Clock, 'now'>): {
  list: Assertion[];
  expect: ScenarioContext['expect'];
} {
  const list: Assertion[] = [];
  return {
    list,
    expect(name, condition, { observed, expected, ...more }) {
      list.push({
        name,
        passed: condition,
        observed: String(observed),
        expected: String(expected),
        at: clock.now(),
        ...more,
      });
      return condition;
    },
  };
}
