/* oxlint-disable no-restricted-globals -- dates of given times, never of now */
/** The moment comes from the node's clock. */

/** `Sun, 06 Nov 1994 08:49:37 GMT`. @param ms unix ms */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** Three forms of RFC 9110 5.6.7; else undefined. */
export function parseHttpDate(text: string): number | undefined {
  const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text);
  if (!asctime && !/^[A-Z][a-z]+, .* GMT$/.test(text)) return undefined;
  const ms = Date.parse(asctime ? `${text} GMT` : text);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

/** RFC 3339 in UTC. @param ms unix ms */
export function dateTime(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace(/\.(\d*?)0*Z$/, (_all, digits: string) => (digits === '' ? 'Z' : `.${digits}Z`));
}
