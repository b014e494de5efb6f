/**
 * Host names that the API answers to. A page of `evil.example` may point its name to this machine after it
 * was loaded (DNS rebinding). The browser then takes the API for part of the page's own site, and names it in
 * `Host`. No page can own an address or a name below `localhost`.
 */

/** Matches nothing that could be a name: no name ends in a number or has brackets. */
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|\d{1,3}(?:\.\d{1,3}){3})$/;

/** Whether a request with that `Host` is answered. */
export type HostCheck = (host: string | undefined) => boolean;

/** @param allowed besides addresses and `localhost`, without case; `*` for any */
export function createHostCheck(allowed: readonly string[]): HostCheck {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  return (host) => {
    // All browsers send one; only HTTP/1.0 probes do not.
    if (host === undefined || names.has('*')) return true;
    const name = nameOf(host);
    if (name === undefined) return false;
    return ADDRESS.test(name) || /^(?:.+\.)?localhost$/.test(name) || names.has(name);
  };
}

/** @returns name or address of a `Host`, lower case, without port and closing dot; undefined: invalid */
export function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^\s:@/[\]]+?)\.?(?::\d*)?$/i.exec(host)?.[1]?.toLowerCase();
}
