/**
 * A media type or disposition with parameters, RFC 2045 and 2231, read as Go's `mime.ParseMediaType`. One character per
 * byte.
 */

interface Parsed {
  /** Lower case; else empty. */
  readonly type: string;
  /** By lower-case name; none if one is broken. */
  readonly parameters: ReadonlyMap<string, string>;
}

const NONE: ReadonlyMap<string, string> = new Map();
const TYPE = /^[!#$%&'*+\-.^_`{|}~0-9A-Za-z]+(\/[!#$%&'*+\-.^_`{|}~0-9A-Za-z]+)?$/;
const NAME = /^;\s*([!#$%&'*+\-.^_`{|}~0-9A-Za-z]+)\s*=\s*/;
const TOKEN = /^[!#$%&'*+\-.^_`{|}~0-9A-Za-z]+/;
const QUOTED = /^"((?:\\[()<>@,;:\\"/[\]?=]|\\(?![()<>@,;:\\"/[\]?=])|[^"\\\r\n])*)"/;
/** RFC 2045's special characters. Other backslashes are content, since browsers do not escape them. */
const ESCAPED = /\\([()<>@,;:\\"/[\]?=])/g;

export function parseMediaType(text: string): Parsed {
  const [base = ''] = text.split(';', 1);
  const type = base.trim().toLowerCase();
  if (!TYPE.test(type)) return { type: '', parameters: NONE };
  const values = new Map<string, string>();
  for (let rest = text.slice(base.length).trimStart(); rest !== '' && rest.trim() !== ';'; ) {
    const head = NAME.exec(rest);
    const value = head === null ? undefined : valueAt(rest.slice(head[0].length));
    if (head === null || value === undefined) return { type, parameters: NONE };
    const name = (head[1] as string).toLowerCase();
    if ((values.get(name) ?? value.value) !== value.value) return { type: '', parameters: NONE };
    values.set(name, value.value);
    rest = rest.slice(head[0].length + value.length).trimStart();
  }
  return { type, parameters: new Map([...values].flatMap(([name]) => joined(values, name))) };
}

function valueAt(text: string): { value: string; length: number } | undefined {
  const token = TOKEN.exec(text)?.[0];
  if (token !== undefined) return { value: token, length: token.length };
  const quoted = QUOTED.exec(text);
  if (quoted === null) return undefined;
  return { value: (quoted[1] as string).replace(ESCAPED, '$1'), length: quoted[0].length };
}

/** A plain value, or the value that a name with a star is part of, which replaces it. */
function joined(values: ReadonlyMap<string, string>, name: string): [string, string][] {
  const star = name.indexOf('*');
  if (star === -1) return [[name, values.get(name) as string]];
  const base = name.slice(0, star);
  const value = values.has(`${base}*`) ? extended(values.get(`${base}*`) as string) : inParts(values, base);
  return value === undefined ? [] : [[base, value]];
}

function inParts(values: ReadonlyMap<string, string>, base: string): string | undefined {
  let value: string | undefined;
  for (let n = 0; ; n++) {
    const plain = values.get(`${base}*${n}`);
    const encoded = values.get(`${base}*${n}*`);
    const part =
      plain ??
      (encoded === undefined ? undefined : ((n === 0 ? extended(encoded) : unescaped(encoded)) ?? ''));
    if (part === undefined) return value;
    value = `${value ?? ''}${part}`;
  }
}

/** RFC 8187; undefined for another character set. */
function extended(value: string): string | undefined {
  const encoded = /^(?:utf-8|us-ascii)'[^']*'(.*)$/is.exec(value)?.[1];
  return encoded === undefined ? undefined : unescaped(encoded);
}

function unescaped(text: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined;
  return text.replace(/%(..)/gs, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
