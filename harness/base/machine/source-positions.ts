/**
 * Prepended to bundles: traces name sources. Maps are read with the first trace; `--enable-source-maps` reads all at the
 * start, which takes half as long again and 15 MiB.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Large and rarely needed: the next trace reads them again. */
const maps = new Map<string, WeakRef<SourceMap>>();

function mapOf(file: string): SourceMap {
  const known = maps.get(file)?.deref();
  if (known !== undefined) return known;
  const map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, 'utf8')));
  maps.set(file, new WeakRef(map));
  return map;
}

/** Positions in a bundle are replaced; unchanged if the bundle is gone. */
function inSources(line: string): string {
  return line.replace(
    /(file:\/\/\S+\.mjs):(\d+):(\d+)/g,
    (text, file: string, row: string, column: string) => {
      try {
        const origin = mapOf(file).findOrigin(Number(row), Number(column));
        return 'fileName' in origin
          ? `${new URL(origin.fileName, file).href}:${origin.lineNumber}:${origin.columnNumber}`
          : text;
      } catch {
        // Reporting an error must not fail.
        return text;
      }
    },
  );
}

Error.prepareStackTrace = (error, sites) =>
  // oxlint-disable-next-line typescript/no-base-to-string -- A call site has a text of its own, which its type does not say.
  [String(error), ...sites.map((site) => `    at ${inSources(String(site))}`)].join('\n');
