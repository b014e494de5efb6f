/**
 * Same name, stream and major version, minor version not lower than proposed; patches do not count. `p2p-protocols.md` 1.3.
 */

interface Version {
  readonly major: string;
  readonly minor: number;
  readonly rest: string;
}

export function servedFor(proposed: string, served: Iterable<string>): string | undefined {
  const wanted = versionOf(proposed);
  if (wanted === undefined) return undefined;
  for (const id of served) {
    const own = versionOf(id);
    if (own?.rest === wanted.rest && own.major === wanted.major && own.minor >= wanted.minor) return id;
  }
  return undefined;
}

function versionOf(id: string): Version | undefined {
  const [, name, major, minor, stream] =
    /^\/swarm\/([^/]+)\/(\d{1,9})\.(\d{1,9})\.\d{1,9}\/([^/]+)$/.exec(id) ?? [];
  return major === undefined ? undefined : { major, minor: Number(minor), rest: `${name}/${stream}` };
}
