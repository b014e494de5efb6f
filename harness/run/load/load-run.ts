import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { entriesAt } from '../../base/machine/programs.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { folderBeside } from './k6/command.ts';
import type { LoadData } from './k6/config.ts';
import { findK6 } from './k6/find-k6.ts';
import { runK6 } from './k6/k6-run.ts';
import { shapeOf } from './k6/shape.ts';
import { LoadBook, type Metrics } from './load-book.ts';
import { configOf, emptyPaths } from './load-config.ts';
import type { LoadOptions, LoadPlan, LoadStep } from './plan.ts';
import { prepareLoad, signUpdates } from './prepare.ts';
import { findScript, K6_FOLDER, type LoadScript } from './scripts.ts';

const LIBRARY = join(K6_FOLDER, 'lib/index.js');
const ENTRY = join(K6_FOLDER, 'entry/entry.js');
const OPEN = join(K6_FOLDER, 'entry/open.js');
const HTTP = join(K6_FOLDER, 'entry/http.js');

const PROGRESS_MS = 500;
/**
 * Its requests are in `operations`, its unverified uploads in `uploads`.
 * @throws HarnessError `LOAD_FAILED` when k6 cannot end it, `BINARY_INVALID` without k6, `INTERRUPTED`, `USAGE`
 */
export async function runLoadStep(cluster: Cluster, plan: LoadPlan, options: LoadOptions): Promise<LoadStep> {
  const { signal, folder } = options;
  const script = findScript(plan.script);
  const k6 = await findK6(options.k6);
  const prepared = options.prepared ?? (await prepareLoad(cluster, plan, { signal }));
  const paths = emptyPaths(folder);
  const { helper } = await bundle(script, paths.script);
  if (!helper && plan.warmupMs > 0) {
    throw new HarnessError(
      'USAGE',
      `--warmup: ${script.name} does not use svcnet/k6, so that nothing tells its warm-up from the rest`,
    );
  }
  const signed = script.facts.updates === true ? signUpdates(plan) : undefined;
  const about = { nodes: prepared.nodes, helper, paths, feeds: signed?.feeds };
  const data: LoadData = {
    objects: prepared.objects,
    signatures: signed?.updates.map(({ signed: text }) => text) ?? [],
  };
  await Promise.all([
    writeFile(paths.config, JSON.stringify(configOf(plan, about))),
    writeFile(paths.data, JSON.stringify(data)),
    // Otherwise k6 reads the user's own configuration.
    writeFile(join(folder, 'k6.json'), '{}'),
  ]);
  const shape = await shapeOf(plan, script, {
    k6,
    folder,
    bundle: paths.script,
    config: paths.config,
    signal,
  });
  if (shape.ownMs !== undefined && options.planned === true) {
    throw new HarnessError(
      'USAGE',
      `--find-limit chooses the rate, but ${script.path} has scenarios of its own`,
      {
        hint: 'Leave scenarios, stages, vus, duration and iterations out of its options.',
      },
    );
  }
  const judged = { ...plan, durationMs: shape.ownMs ?? plan.durationMs };
  if (shape.ownMs !== undefined) await writeFile(paths.config, JSON.stringify(configOf(judged, about)));
  const book = new LoadBook(prepared.nodes, {
    ...shape,
    warmupMs: plan.warmupMs,
    recorder: options.recorder,
  });
  let toldAtMs = 0;
  const ended = await untilRead(helper ? undefined : paths.samples, () =>
    runK6({
      k6,
      folder,
      script: paths.script,
      beside: folderBeside(script),
      config: paths.config,
      samples: helper ? undefined : paths.samples,
      authorization: authorizationOf(cluster),
      signal,
      onException: (exception) => book.threw(exception),
      onLines(lines) {
        for (const line of lines) book.take(line, helper);
        const nowMs = MACHINE_CLOCK.monotonic();
        if (nowMs - toldAtMs < PROGRESS_MS) return;
        toldAtMs = nowMs;
        options.onProgress?.(book.progress());
      },
    }),
  );
  const metrics = await readSummary(paths.summary);
  return book.step(judged, { metrics, helper, ended });
}

/** A minute of samples may have hundreds of megabytes, so they are read while k6 writes them. */
async function untilRead<T>(samples: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    if (samples !== undefined) await rm(samples, { force: true });
  }
}

function authorizationOf({ nodes }: Cluster): Record<string, string> {
  return Object.fromEntries(
    nodes.flatMap(({ name, client }) => Object.values(client.authorization()).map((value) => [name, value])),
  );
}

async function readSummary(path: string): Promise<Metrics> {
  try {
    return (JSON.parse(await readFile(path, 'utf8')) as { metrics: Metrics }).metrics;
  } catch (error) {
    throw new HarnessError('LOAD_FAILED', `k6 has ended without a summary: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Every file but ours gets our `k6/http`, which adds tags to k6's. */
const TAGGED_REQUESTS: Plugin = {
  name: 'tagged requests',
  setup(bundler) {
    bundler.onResolve({ filter: /^k6\/http$/ }, ({ importer }) =>
      importer === HTTP ? { path: 'k6/http', external: true } : { path: HTTP },
    );
  },
};

interface Bundle {
  readonly helper: boolean;
}

/**
 * With imports, as one file. k6's own modules stay imports; `svcnet/k6` is the helper library.
 * @throws HarnessError `USAGE` when the script cannot be read
 */
async function bundle(script: LoadScript, outfile: string): Promise<Bundle> {
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
    const analysed = await build({
      ...shared,
      plugins: [entriesAt({ entry: script.path })],
      entryPoints: ['entry'],
      write: false,
    });
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
      sourcemap: 'inline',
      sourcesContent: false,
    });
    return { helper };
  } catch (error) {
    throw new HarnessError('USAGE', `cannot bundle ${script.path}: ${messageOf(error)}`, { cause: error });
  }
}

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
