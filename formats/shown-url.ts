/** A provider's URL is a password: accounts are told apart by its user, by its query, or by a part of its path. */

const HIDDEN = '…';
const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;
const URL_IN_TEXT = /[a-z][a-z\d+.-]{0,31}:\/\/[^\s'"`<>\\]+/gi;
/** How a path begins that only names an interface, a version or a chain: `/ext/bc`, `/v3`, `/rpc`, `/100`. */
const PLAIN_SEGMENT = /^(?:[a-z]{1,12}(?:-[a-z]{1,12})?|v\d{1,3}|\d{1,6})$/i;
/** Keys follow at the latest after as many. */
const SEGMENTS_MAX = 2;
/** A shorter part of a path is a name. */
const KEY_LENGTH_MIN = 16;
const REDACTED = '[redacted]';

/**
 * Scheme, host and port, and at most the beginning of the path; `…` stands for the rest. A URL without a user, a query
 * and a key is returned as it is. Texts that are no URL are cut likewise: they may be one with a mistake.
 */
export function shownUrl(text: string): string {
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  const url = URL.parse(scheme === '' ? `http://${text}` : text);
  if (url === null || url.host === '') return beginning(text, scheme);
  const segments = url.pathname.split('/').slice(1);
  const key = segments.findIndex(
    (segment, place) => segment !== '' && (place >= SEGMENTS_MAX || !PLAIN_SEGMENT.test(segment)),
  );
  const isWhole = key === -1 && url.username + url.password + url.search + url.hash === '';
  if (isWhole && !/[?#@]/.test(text)) return text;
  const kept = (key === -1 ? segments : segments.slice(0, key)).filter((segment) => segment !== '');
  const head = scheme === '' ? url.host : `${url.protocol}//${url.host}`;
  return [head, ...kept, HIDDEN].join('/');
}

function beginning(text: string, scheme: string): string {
  const rest = text.slice(scheme.length);
  if (rest.includes('@')) return `${scheme}${HIDDEN}`;
  const [host = ''] = rest.split(/[/?#]/, 1);
  return host === rest ? text : `${scheme}${host}/${HIDDEN}`;
}

/** A text with each URL in it as `shownUrl` has it. */
export function withShownUrls(text: string): string {
  return text.replaceAll(URL_IN_TEXT, shownUrl);
}

/** Confidential parts of a URL, as they are written and as they are sent. */
export function secretsOf(text: string): string[] {
  const { username, password, pathname, searchParams } = new URL(text);
  const parts = [username, password].flatMap((part) => [part, unescaped(part)]);
  const segments = pathname.split('/').filter(({ length }) => length >= KEY_LENGTH_MIN);
  return [...new Set([...parts, ...searchParams.values(), ...segments])].filter((part) => part !== '');
}

/** As the other side reads it; a text with broken escapes stands for itself. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}

/** What another wrote who knows the secrets, such as the error of an endpoint, without them. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce<string>((rest, secret) => rest.replaceAll(secret, REDACTED), text);
}
