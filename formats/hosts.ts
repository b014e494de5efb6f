/**
 * Host names that the API answers to. A page of `evil.example` may point its name to this machine after it was loaded (DNS
 * rebinding), and the browser takes the API for its site. No page can own an address or a name below `localhost`.
 */

/** No name ends in a number or has brackets. */
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|\d{1,3}(?:\.\d{1,3}){3})$/;

/** A request as Node.js read it, or as one of this process is. */
export interface Addressed {
  readonly headers: { readonly host?: string | undefined };
  /** Request target. */
  readonly url?: string | undefined;
  readonly rawHeaders?: readonly string[];
}

/** The authority of a target in absolute form replaces the header: RFC 9112, 3.2.2. */
export function hostOf({ headers, url = '' }: Addressed): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? headers.host;
}

/** Node.js takes the first; RFC 9112, 3.2 has it refused with 400. */
export function hasTwoHosts({ rawHeaders = [] }: Pick<Addressed, 'rawHeaders'>): boolean {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1;
}

export type HostCheck = (host: string | undefined) => boolean;

/** @param allowed besides addresses and `localhost`; `*` for any */
export function createHostCheck(allowed: readonly string[]): HostCheck {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  return (host) => {
    // Only HTTP/1.0 probes send none.
    if (host === undefined || names.has('*')) return true;
    const name = nameOf(host);
    if (name === undefined) return false;
    return ADDRESS.test(name) || /^(?:.+\.)?localhost$/.test(name) || names.has(name);
  };
}

/** @returns lower case, without port and closing dot; undefined: invalid */
export function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^\s:@/[\]]+?)\.?(?::\d*)?$/i.exec(host)?.[1]?.toLowerCase();
}
