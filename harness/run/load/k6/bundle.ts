/** A script with imports as one file for k6. k6's own modules stay imports; `svcnet/k6` is the helper library. */
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { HarnessError, messageOf } from '../../../base/errors.ts';
import { K6_FOLDER, type LoadScript } from '../scripts.ts';

const LIBRARY = join(K6_FOLDER, 'lib/index.js');
const ENTRY = join(K6_FOLDER, 'entry/entry.js');
const OPEN = join(K6_FOLDER, 'entry/open.js');
const HTTP = join(K6_FOLDER, 'entry/http.js');

/** Every file but ours gets our `k6/http`, which adds tags to k6's. */
const TAGGED_REQUESTS: Plugin = {
  name: 'tagged requests',
  setup(bundler) {
    bundler.onResolve({ filter: /^k6\/http$/ }, ({ importer }) =>
      importer === HTTP ? { path: 'k6/http', external: true } : { path: HTTP },
    );
  },
};

export interface Bundle {
  /** Whether the script uses the helper library: without it k6's own metrics are all there is. */
  readonly helper: boolean;
}

/** @param outfile file for k6 @throws HarnessError `USAGE` when the script cannot be read */
export async function bundle(script: LoadScript, outfile: string): Promise<Bundle> {
  const shared: BuildOptions = {
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['k6', 'k6/*', 'https://*'],
    alias: { 'svcnet/k6': LIBRARY },
    inject: [OPEN],
    define: { '__ENV.SVCNET_SCRIPT_FOLDER': JSON.stringify(dirname(script.path)) },
    logLevel: 'silent',
    legalComments: 'none',
    metafile: true,
  };
  try {
    const analysed = await build({ ...shared, entryPoints: [script.path], write: false });
    const [output] = Object.values(analysed.metafile?.outputs ?? {});
    const names = output?.exports ?? [];
    const helper = Object.keys(analysed.metafile?.inputs ?? {}).some((path) =>
      path.endsWith('scenarios/k6/lib/config.js'),
    );
    await build({
      ...shared,
      plugins: [TAGGED_REQUESTS],
      stdin: {
        contents: entryOf(script, names),
        resolveDir: K6_FOLDER,
        sourcefile: 'svcnet-load.js',
        loader: 'js',
      },
      outfile,
      // Exceptions name the script's own files and lines then.
      sourcemap: 'inline',
      sourcesContent: false,
    });
    return { helper };
  } catch (error) {
    throw new HarnessError('USAGE', `cannot bundle ${script.path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Code around the script: its own options and summary, and those of the load. */
function entryOf({ path }: LoadScript, names: readonly string[]): string {
  const of = JSON.stringify(path);
  const own = (name: string) => (names.includes(name) ? `script.${name}` : 'undefined');
  return [
    `import * as script from ${of};`,
    `import { optionsOf, summaryOf } from ${JSON.stringify(ENTRY)};`,
    `export * from ${of};`,
    ...(names.includes('default') ? [`export { default } from ${of};`] : []),
    `export const options = optionsOf(${own('options')});`,
    `export function handleSummary(data) { return summaryOf(data, ${own('handleSummary')}); }`,
  ].join('\n');
}
