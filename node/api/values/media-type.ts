/** RFC 9110 8.3, errors as in `http-api-completion.md` 3.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+/;

/** @returns undefined for a media type, else what is wrong with the text */
export function checkMediaType(text: string): string | undefined {
  const [type = '', ...parameters] = splitParameters(text);
  const problem = checkType(type.trim());
  return problem ?? checkParameters(parameters);
}

/** Lower-case `type/subtype` of a media type, without parameters. */
export function essence(mediaType: string): string {
  return (mediaType.split(';')[0] ?? '').trim().toLowerCase();
}

function checkType(type: string): string | undefined {
  if (type === '') return 'mime: no media type';
  const name = TOKEN.exec(type)?.[0] ?? '';
  const rest = type.slice(name.length);
  if (name === '') return 'mime: no media type';
  if (rest === '') return undefined;
  if (!rest.startsWith('/')) return 'mime: expected slash after first token';
  const subtype = TOKEN.exec(rest.slice(1))?.[0] ?? '';
  if (subtype === '') return 'mime: expected token after slash';
  return rest.length > 1 + subtype.length ? 'mime: unexpected content after media subtype' : undefined;
}

function checkParameters(parameters: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, parameter] of parameters.entries()) {
    const written = parameter.trim();
    // A semicolon at the end is tolerated.
    if (written === '' && index === parameters.length - 1) continue;
    const name = /^([^\s=]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s"]+)$/.exec(written)?.[1]?.toLowerCase();
    if (name === undefined || TOKEN.exec(name)?.[0] !== name) return 'mime: invalid media parameter';
    if (seen.has(name)) return 'mime: duplicate parameter name';
    seen.add(name);
  }
  return undefined;
}

/** Splits at semicolons outside quoted strings. */
function splitParameters(text: string): string[] {
  return text.match(/(?:"(?:[^"\\]|\\.)*"?|[^;"])+|(?<=;)(?=;|$)/g) ?? [''];
}
