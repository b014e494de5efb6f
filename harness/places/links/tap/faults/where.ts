import { addressPrefix } from '../../../../../formats/chunk/address.ts';
import { fromHex } from '../../../../../formats/crypto/hex.ts';
import type { FieldKind, MessageTable } from '../../../../../node/p2p/codec/message.ts';
import { messagesOf } from '../protocols.ts';

export interface Told {
  readonly table: MessageTable;
  readonly decoded: Readonly<Record<string, unknown>>;
  readonly address: Uint8Array | undefined;
}

export const WHERE_EXPECTED =
  "a field, then 'starts' and bits, 'is' and a value, or 'above' or 'below' and a number, such as 'address starts 0110'";

const OPERATORS = ['starts', 'is', 'above', 'below'] as const;
/** The chunk's, though its protocol may call it otherwise, or name it only in what was asked. */
const ADDRESS = 'address';
const ASKED = 'addr';
const ADDRESS_BITS = 256;
export const RANGES: Readonly<Record<string, readonly [bigint, bigint]>> = {
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

export interface Condition {
  readonly field: string;
  readonly operator: (typeof OPERATORS)[number];
  readonly value: string;
}

type Holds = (value: unknown) => boolean;

export function parseWhere(text: string): Condition | undefined {
  const [, field = '', word = '', value = ''] = /^\s*(\w+)\s+(\w+)\s+(.*\S)\s*$/.exec(text) ?? [];
  const operator = OPERATORS.find((known) => known === word);
  return operator === undefined ? undefined : { field, operator, value };
}

/**
 * @param message name; undefined: every one of the protocol
 * @returns whether a message is meant @throws RangeError saying why none can ever be
 */
export function selectorOf(where: string, protocol: string, message?: string): (told: Told) => boolean {
  const condition = parseWhere(where);
  if (condition === undefined) throw new RangeError(`where: got '${where}', expected ${WHERE_EXPECTED}`);
  const rows = messagesOf(protocol, message);
  const isAsked = messagesOf(protocol).some(({ table }) => ASKED in table);
  const { field } = condition;
  const tests = new Map<MessageTable, Holds>();
  let refusal: unknown;
  for (const { table } of rows) {
    const kind = table[nameIn(table, field)]?.[1] ?? (field === ADDRESS && isAsked ? 'bytes' : undefined);
    if (kind === undefined) continue;
    try {
      tests.set(table, testOf(kind, condition));
    } catch (error) {
      refusal = error;
    }
  }
  if (tests.size === 0)
    throw (
      refusal ??
      unknownField(
        field,
        rows.map(({ table }) => table),
        isAsked,
      )
    );
  return ({ table, decoded, address }) => {
    const value = decoded[nameIn(table, field)] ?? (field === ADDRESS ? address : undefined);
    return value !== undefined && tests.get(table)?.(value) === true;
  };
}

function nameIn(table: MessageTable, field: string): string {
  return field === ADDRESS && !(field in table) ? ASKED : field;
}

function unknownField(field: string, tables: readonly MessageTable[], isAsked: boolean): RangeError {
  const names = new Set([...tables.flatMap((table) => Object.keys(table)), ...(isAsked ? [ADDRESS] : [])]);
  return new RangeError(`where: no field '${field}' (known: ${[...names].join(', ')})`);
}

function testOf(kind: FieldKind, { field, operator, value }: Condition): Holds {
  const refused = (expected: string) =>
    new RangeError(`where: got '${field} ${operator} ${value}', expected ${field} ${expected}`);
  if (kind === 'bytes') {
    const isAddress = field === ADDRESS || field === ASKED;
    const size = isAddress ? ', the 64 hex digits of an address' : ' hex digits of all its bytes';
    const most = isAddress ? `, at most ${ADDRESS_BITS} of them` : '';
    if (operator === 'starts' && /^[01]+$/.test(value) && (!isAddress || value.length <= ADDRESS_BITS)) {
      return (bytes) =>
        (bytes as Uint8Array).length * 8 >= value.length &&
        addressPrefix(bytes as Uint8Array, value.length) === value;
    }
    const isHex = /^(0x)?([0-9a-f]{2})+$/i.test(value) && (!isAddress || fromHex(value).length === 32);
    if (operator === 'is' && isHex)
      return (bytes) => Buffer.compare(bytes as Uint8Array, fromHex(value)) === 0;
    throw refused(`starts with bits (0 and 1${most}), or is${size}`);
  }
  if (kind === 'string') {
    if (operator === 'is') return (text) => text === value;
    if (operator === 'starts') return (text) => (text as string).startsWith(value);
    throw refused('starts or is a text');
  }
  if (kind === 'bool') {
    if (operator === 'is' && /^(true|false)$/.test(value)) return (actual) => String(actual) === value;
    throw refused('is true or false');
  }
  if (typeof kind !== 'string' || kind === 'map') {
    throw new RangeError(`where: field '${field}' holds several values and cannot be used`);
  }
  return numberTest(kind, { operator, value }, refused);
}

function numberTest(
  kind: string,
  { operator, value }: Pick<Condition, 'operator' | 'value'>,
  refused: (expected: string) => RangeError,
): Holds {
  const [least, most] = RANGES[kind] ?? [];
  const expected = least === undefined ? 'a number' : `a whole number from ${least} to ${most}`;
  const isNumber = least === undefined ? /^-?\d+(\.\d+)?$/.test(value) : /^-?\d+$/.test(value);
  if (operator === 'starts' || !isNumber) throw refused(`is, above or below ${expected}`);
  const limit = least === undefined ? Number(value) : BigInt(value);
  const isPossible =
    least === undefined ||
    most === undefined ||
    (operator === 'is' && limit >= least && limit <= most) ||
    (operator === 'above' && limit < most) ||
    (operator === 'below' && limit > least);
  if (!isPossible) throw refused(`can be ${expected}`);
  const tests = {
    // A field may be a number where the limit is a bigint.
    is: (actual: number | bigint) => actual >= limit && actual <= limit,
    above: (actual: number | bigint) => actual > limit,
    below: (actual: number | bigint) => actual < limit,
  };
  return (actual) => tests[operator](actual as number | bigint);
}
