import { z } from 'zod';
import { TIMER_MAX_MS } from '../formats/units.ts';
import { STORAGE_PRICE_MAX } from './deployment/administration.ts';
import type { Setup } from './deployment/deploy.ts';
import { ENGINE_NAMES, type EngineName } from './engine/engine.ts';
import { LocalChainError } from './errors.ts';
import { LOCAL_CHAIN_DEFAULTS, type LocalChainOptions } from './local-chain.ts';

export interface ProcessOptions {
  chain: LocalChainOptions;
  controlHost: string;
  controlPort: number;
  /** The parent ends it by closing standard input; its own death closes it too. */
  stopOnStdinEnd: boolean;
  gate: boolean;
  /** Mines on demand only when forced: nodes tell time by blocks. */
  steady: boolean;
}

const D = LOCAL_CHAIN_DEFAULTS;

const text = leaf((v): v is string => typeof v === 'string' && v !== '', 'a text');
const TOKEN = /^[\w.~+/=-]{16,512}$/;
const TOKEN_EXPECTED = '16 to 512 letters, digits and - . _ ~ + / =';
const names = leaf(
  (v): v is string[] => Array.isArray(v) && v.every((name) => typeof name === 'string' && name !== ''),
  'a list of texts',
);
const flag = leaf((v): v is boolean => typeof v === 'boolean', 'true or false');
const address = hexBytes(20, 'an address: 0x and 40 hex digits');
const bytes32 = hexBytes(32, '32 bytes: 0x and 64 hex digits');
const amount = leaf(isAmount, 'a whole number, as decimal text when above 2^53').transform((v) => BigInt(v));

const setup = {
  accounts: z.array(z.strictObject({ address, native: amount, tokens: amount })),
  batches: z
    .array(
      z.strictObject({ owner: address, amount, depth: integer(17, 255), immutable: flag, nonce: bytes32 }),
    )
    .default([]),
  chequebooks: z
    .array(
      z.strictObject({
        issuer: address,
        deposit: amount,
        place: integer(0, Number.MAX_SAFE_INTEGER).optional(),
      }),
    )
    .default([]),
};

const schema = z.strictObject({
  engine: leaf(isEngine, `one of ${ENGINE_NAMES.join(', ')}`).default(D.engine),
  host: text.default(D.host),
  port: integer(0, 65_535).default(D.port),
  token: leaf((v): v is string => typeof v === 'string' && TOKEN.test(v), TOKEN_EXPECTED),
  allowedHosts: names.default([]),
  origins: names.default([]),
  controlHost: text.optional(),
  controlPort: integer(0, 65_535).default(0),
  stopOnStdinEnd: flag.default(false),
  steady: flag.default(false),
  gate: flag.default(false),
  chainId: integer(1, Number.MAX_SAFE_INTEGER).default(D.chainId),
  networkId: amount,
  blockTimeMs: integer(0, TIMER_MAX_MS).default(D.blockTimeMs),
  minimumValidityBlocks: integer(2, Number.MAX_SAFE_INTEGER).default(D.minimumValidityBlocks),
  storagePrice: integer(D.storagePrice, STORAGE_PRICE_MAX).default(D.storagePrice),
  stateFolder: text.optional(),
  deployerKey: bytes32.default(D.deployerKey),
  ...setup,
});

/** @throws LocalChainError OPTIONS_INVALID: a line with each wrong key, value and expectation */
export function parseOptions(document: string): ProcessOptions {
  const { controlHost, controlPort, stopOnStdinEnd, steady, gate, ...chain } = parsed(schema, document);
  return {
    chain,
    controlHost: controlHost ?? chain.host,
    controlPort,
    stopOnStdinEnd,
    steady,
    gate,
  };
}

/** @throws LocalChainError OPTIONS_INVALID */
export function parseSetup(document: string): Setup {
  return parsed(z.strictObject(setup), document);
}

function parsed<T>(shape: z.ZodType<T>, document: string): T {
  const result = shape.safeParse(parseJson(document), { reportInput: true });
  if (result.success) return result.data;
  throw new LocalChainError('OPTIONS_INVALID', result.error.issues.map(describe).join('; '));
}

function parseJson(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch (cause) {
    throw new LocalChainError('OPTIONS_INVALID', `the options are not JSON: ${String(cause)}`, { cause });
  }
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => [...issue.path, key].join('.')).join(', ');
    return `${keys}: no such option`;
  }
  const key = issue.path.join('.') || 'the document';
  const value =
    issue.input === undefined
      ? 'is missing'
      : `is ${key === 'token' ? 'another text' : JSON.stringify(issue.input)}`;
  const expected = issue.code === 'custom' ? issue.message : `a list or object (${issue.message})`;
  return `${key} ${value}, expected ${expected}`;
}

function leaf<T>(is: (value: unknown) => value is T, expected: string): z.ZodType<T, T> {
  return z.custom<T>(is, { error: expected });
}

function integer(from: number, to: number): z.ZodType<number, number> {
  return leaf(
    (v): v is number => Number.isSafeInteger(v) && Number(v) >= from && Number(v) <= to,
    `a whole number from ${from} to ${to}`,
  );
}

function hexBytes(length: number, expected: string): z.ZodType<string, string> {
  const form = new RegExp(`^0x[0-9a-fA-F]{${2 * length}}$`);
  return leaf((v): v is string => typeof v === 'string' && form.test(v), expected);
}

function isEngine(value: unknown): value is EngineName {
  return ENGINE_NAMES.some((name) => name === value);
}

function isAmount(value: unknown): value is string | number {
  return typeof value === 'string'
    ? /^\d{1,78}$/.test(value)
    : Number.isSafeInteger(value) && Number(value) >= 0;
}
