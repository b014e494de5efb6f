/**
 * Shapes of JSON as in `routes.json`: `{f:T,g?:T}`, `T[]`, `{[key]:T}`, `T|null`, words of `WORDS`, `same` for the last
 * named shape, `Name` after `with Name=`.
 */

type Test = (value: unknown) => boolean;

const pattern =
  (regex: RegExp): Test =>
  (value) =>
    typeof value === 'string' && regex.test(value);
const integer: Test = (value) => Number.isInteger(value);

const WORDS: Readonly<Record<string, Test>> = {
  any: () => true,
  text: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  int: integer,
  uint: (value) => integer(value) && (value as number) >= 0,
  null: (value) => value === null,
  amount: pattern(/^-?\d+$/),
  hex: pattern(/^([0-9a-f]{2})*$/),
  hex8: pattern(/^[0-9a-f]{16}$/),
  hex32: pattern(/^[0-9a-f]{64}$/),
  hex33: pattern(/^[0-9a-f]{66}$/),
  publicKey: pattern(/^[0-9a-f]{66}$/),
  hex64: pattern(/^[0-9a-f]{128}$/),
  hex65: pattern(/^[0-9a-f]{130}$/),
  ref: pattern(/^([0-9a-f]{64}|[0-9a-f]{128})$/),
  /** 40 lower-case hex digits. */
  address: pattern(/^[0-9a-f]{40}$/),
  /** With prefix, lower-case or with a checksum's case. */
  '0xaddress': pattern(/^0x[0-9a-f]{40}$/),
  checksummed: pattern(/^0x[0-9a-fA-F]{40}$/),
  txhash: pattern(/^0x[0-9a-f]{64}$/),
  '0xhex': pattern(/^0x([0-9a-f]{2})*$/),
  datetime: pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/),
  duration: pattern(/^-?(\d+h)?(\d+m)?(\d+(\.\d+)?(ns|µs|ms|s))?$/),
  base64: pattern(/^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$/),
  multiaddr: pattern(/^(\/[^/]+)+$/),
  tree: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

export type Shape =
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'map'; readonly of: Shape }
  | { readonly kind: 'either'; readonly of: readonly Shape[] }
  | { readonly kind: 'object'; readonly fields: readonly Field[] };

interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly shape: Shape;
}

/** @throws Error naming no shape */
export function parseShape(text: string): Shape {
  const [main = '', ...definitions] = text.split(/ with (?=[A-Z]\w*=)/);
  const names = new Map<string, Shape>();
  for (const definition of definitions) {
    const [, name = '', body = ''] = /^(\w+)=(.*)$/.exec(definition) ?? [];
    names.set(name, new Parser(body, names).whole());
  }
  return new Parser(main, names).whole();
}

class Parser {
  readonly #text: string;
  readonly #names: ReadonlyMap<string, Shape>;
  #at = 0;
  #previous: Shape | undefined;

  constructor(text: string, names: ReadonlyMap<string, Shape>) {
    this.#text = text;
    this.#names = names;
  }

  whole(): Shape {
    const shape = this.#either();
    if (this.#at < this.#text.length) this.#fail();
    return shape;
  }

  #fail(): never {
    throw new Error(`not a shape at ${this.#at}: ${this.#text}`);
  }

  #take(literal: string): boolean {
    if (!this.#text.startsWith(literal, this.#at)) return false;
    this.#at += literal.length;
    return true;
  }

  #match(regex: RegExp): string {
    regex.lastIndex = this.#at;
    const [found] = regex.exec(this.#text) ?? [];
    if (found === undefined) this.#fail();
    this.#at += found.length;
    return found;
  }

  #either(): Shape {
    const all = [this.#postfix()];
    while (this.#take('|')) all.push(this.#postfix());
    return all.length === 1 ? (all[0] as Shape) : { kind: 'either', of: all };
  }

  #postfix(): Shape {
    let shape = this.#primary();
    while (this.#take('[]')) shape = { kind: 'list', of: shape };
    return shape;
  }

  #primary(): Shape {
    if (this.#take('{[')) {
      this.#match(/[^\]]+/y);
      if (!this.#take(']:')) this.#fail();
      const of = this.#either();
      if (!this.#take('}')) this.#fail();
      return { kind: 'map', of };
    }
    if (this.#take('{')) return this.#object();
    const word = this.#match(/[0-9A-Za-z]+/y);
    if (word === 'same') return this.#previous ?? this.#fail();
    const named = this.#names.get(word);
    if (named !== undefined) return named;
    if (WORDS[word] === undefined) this.#fail();
    return { kind: 'word', word };
  }

  /** Names without a type take the next one's, or any. */
  #object(): Shape {
    const fields: Field[] = [];
    let waiting: { name: string; optional: boolean }[] = [];
    const settle = (shape: Shape) => {
      fields.push(...waiting.map((field) => ({ ...field, shape })));
      waiting = [];
    };
    do {
      const name = this.#match(/[\w/+]+/y);
      waiting.push({ name, optional: this.#take('?') });
      if (this.#take(':')) {
        const shape = this.#either();
        settle(shape);
        this.#previous = shape;
      }
    } while (this.#take(','));
    settle({ kind: 'word', word: 'any' });
    if (!this.#take('}')) this.#fail();
    return { kind: 'object', fields };
  }
}

/** @returns places that do not match */
export function misfits(shape: Shape, value: unknown, place = 'body'): string[] {
  switch (shape.kind) {
    case 'word':
      return WORDS[shape.word]?.(value) === true ? [] : [`${place}: ${told(value)} is no ${shape.word}`];
    case 'either':
      return shape.of.some((one) => misfits(one, value).length === 0)
        ? []
        : misfits(shape.of[0] as Shape, value, place);
    case 'list':
      return Array.isArray(value)
        ? value.flatMap((element, i) => misfits(shape.of, element, `${place}[${i}]`))
        : [`${place}: ${told(value)} is no list`];
    case 'map':
      return isObject(value)
        ? Object.entries(value).flatMap(([key, one]) => misfits(shape.of, one, `${place}.${key}`))
        : [`${place}: ${told(value)} is no object`];
    case 'object':
      return isObject(value)
        ? shape.fields.flatMap(({ name, optional, shape: inner }) => {
            if (value[name] !== undefined) return misfits(inner, value[name], `${place}.${name}`);
            return optional ? [] : [`${place}.${name}: missing`];
          })
        : [`${place}: ${told(value)} is no object`];
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function told(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
