import { fromHex } from '../../../../../formats/crypto/hex.ts';
import { encodeMessage } from '../../../../../node/p2p/codec/codec.ts';
import type { FieldKind, MessageOf, MessageTable } from '../../../../../node/p2p/codec/message.ts';
import { messagesOf, PROTOCOLS } from '../protocols.ts';
import type { MessageAnswer } from './rule.ts';
import { RANGES } from './where.ts';

const ERROR_FIELD = 'err';
const ERROR_TEXT = 'refused';
const SHOWN_MAX = 60;

/**
 * @param table of the message @returns it on the wire, without its length; a field that is not given is zero or empty
 * @throws RangeError naming the field, what it is and what was expected
 */
export function encodedAnswer(answer: MessageAnswer, table: MessageTable): Uint8Array {
  if (answer !== 'error') return encodeMessage(table, valuesOf(answer === 'empty' ? {} : answer, table, ''));
  if (table[ERROR_FIELD]?.[1] === 'string') return encodeMessage(table, { [ERROR_FIELD]: ERROR_TEXT });
  const known = Object.keys(table).join(', ') || 'none';
  throw new RangeError(`answer: got error, but the answer has no field '${ERROR_FIELD}' (known: ${known})`);
}

/** @throws RangeError when a rule for these messages can never answer one */
export function expectAnswerable(protocol: string, message: string | undefined, answer: MessageAnswer): void {
  messagesOf(protocol, message);
  const pairs = PROTOCOLS.filter(({ name }) => name === protocol).flatMap(({ opener, acceptor }) =>
    opener.flatMap(({ name }, index) => {
      const reply = acceptor[index];
      return reply === undefined ? [] : [{ asked: name, table: reply.table }];
    }),
  );
  const meant = pairs.filter(({ asked }) => (message ?? asked) === asked);
  let refusal: unknown;
  for (const { table } of meant) {
    try {
      encodedAnswer(answer, table);
      return;
    } catch (error) {
      refusal = error;
    }
  }
  if (refusal !== undefined) throw refusal;
  const names = [...new Set(pairs.map(({ asked }) => asked))].join(', ') || 'none';
  throw new RangeError(
    `${protocol} ${message ?? 'messages'} cannot be answered: its stream expects none (messages that can: ${names})`,
  );
}

type Fields = Readonly<Record<string, unknown>>;
type Message = Partial<MessageOf<MessageTable>>;

function valuesOf(given: Fields, table: MessageTable, path: string): Message {
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(table, field));
  if (unknown !== undefined) {
    const known = Object.keys(table).join(', ') || 'none';
    throw new RangeError(`answer: no field '${path}${unknown}' (known: ${known})`);
  }
  return Object.fromEntries(
    Object.entries(given).map(([field, value]) => [
      field,
      valueOf(value, table[field]?.[1] as FieldKind, `${path}${field}`),
    ]),
  ) as Message;
}

function valueOf(value: unknown, kind: FieldKind, path: string): unknown {
  const refused = (expected: string) => {
    const got = JSON.stringify(value) ?? String(value);
    return new RangeError(`answer: ${path}: got ${got.slice(0, SHOWN_MAX)}, expected ${expected}`);
  };
  if (Array.isArray(kind)) {
    if (!Array.isArray(value)) throw refused('a list');
    return value.map((one, index) => valueOf(one, kind[1] as FieldKind, `${path}.${index}`));
  }
  if (kind === 'map') {
    if (!isObject(value) || !Object.values(value).every((one) => typeof one === 'string'))
      throw refused('an object with texts');
    return new Map(Object.entries(value));
  }
  if (typeof kind !== 'string') {
    if (!isObject(value)) throw refused('an object');
    return valuesOf(value, kind as MessageTable, `${path}.`);
  }
  if (kind === 'bytes') {
    if (typeof value !== 'string' || !/^(0x)?([0-9a-f]{2})*$/i.test(value)) throw refused('bytes in hex');
    return fromHex(value);
  }
  if (kind === 'string' || kind === 'bool') {
    const expected = kind === 'bool' ? 'boolean' : kind;
    if (typeof value !== expected) throw refused(kind === 'bool' ? 'true or false' : 'a text');
    return value;
  }
  return numberOf(value, kind, refused);
}

function numberOf(value: unknown, kind: string, refused: (expected: string) => RangeError): number | bigint {
  const [least, most] = RANGES[kind] ?? [];
  if (least === undefined || most === undefined) {
    if (typeof value !== 'number') throw refused('a number');
    return value;
  }
  const isWhole = Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d+$/.test(value));
  const whole = isWhole ? BigInt(value as number | string) : undefined;
  if (whole === undefined || whole < least || whole > most)
    throw refused(`a whole number from ${least} to ${most}, as a text if it is large`);
  return kind.endsWith('64') ? whole : Number(whole);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
