export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export type Fields = Readonly<Record<string, JsonSchema>>;

export const anything: JsonSchema = {};
export const nothing: JsonSchema = { type: 'null' };
export const flag: JsonSchema = { type: 'boolean' };
export const text: JsonSchema = { type: 'string' };
export const dateTime: JsonSchema = { type: 'string', format: 'date-time' };
export const number: JsonSchema = { type: 'number' };
export const integer: JsonSchema = { type: 'integer' };
export const uint: JsonSchema = { type: 'integer', minimum: 0 };

export function like(pattern: string): JsonSchema {
  return { type: 'string', pattern };
}

/** @param optional fields that an object may lack */
export function object(fields: Fields, optional: Fields = {}): JsonSchema {
  const required = Object.keys(fields);
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: { ...fields, ...optional },
  };
}

/** @param names regular expression of all names */
export function byName(names: string, each: JsonSchema): JsonSchema {
  return { type: 'object', patternProperties: { [names]: each } };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function either(...shapes: readonly JsonSchema[]): JsonSchema {
  return { anyOf: shapes };
}

export function oneOf(words: readonly string[]): JsonSchema {
  return { enum: words };
}

/** One field under every name of the dialect, possibly none. */
export function named(names: readonly string[], shape: JsonSchema): Fields {
  return Object.fromEntries(names.map((name) => [name, shape]));
}

export const reference = like('^([a-f0-9]{64}|[a-f0-9]{128})$');
export const hex = like('^([a-f0-9]{2})+$');
export const hex8 = like('^[a-f0-9]{16}$');
export const hex32 = like('^[a-f0-9]{64}$');
export const hex64 = like('^[a-f0-9]{128}$');
export const hex65 = like('^[a-f0-9]{130}$');
export const hexNumber = like('^[a-f0-9]{1,16}$');
export const publicKey = like('^[a-f0-9]{66}$');
/** Compressed or not. */
export const givenKey = like('^([A-Fa-f0-9]{66}|[A-Fa-f0-9]{130})$');
export const chainAddress = like('^(0x)?[a-fA-F0-9]{40}$');
export const txHash = like('^0x[a-f0-9]{64}$');
export const amount = like('^-?[0-9]+$');
export const prefix = like('^[01]*$');
