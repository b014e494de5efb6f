import { HarnessError } from '../base/errors.ts';
import { formatMs, plural } from '../base/format.ts';
import { lineProgress, liveProgress } from '../base/terminal/progress.ts';
import { typed } from '../base/typed.ts';
import { DIALECT_NAMES } from '../client/dialect.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ClusterOptions } from '../cluster/opening.ts';
import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { readClusterFile } from '../cluster/plan/document/read.ts';
import { batchesOf } from '../cluster/plan/facts.ts';
import { NODES_DEFAULT } from '../cluster/plan/options/nodes.ts';
import { withPreset } from '../cluster/plan/presets/presets.ts';
import { expectTrusted } from '../cluster/plan/trust.ts';
import { openSnapshot } from '../cluster/snapshots/load.ts';
import { hasPreparation } from '../cluster/start/prepared.ts';
import type { StartProgress, StartStep } from '../cluster/start/start-context.ts';
import { isOurs } from '../flavours/flavour.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { paint } from '../report/console.ts';
import { besideSnapshot, type ClusterFlags, keysFrom } from './cluster-flags.ts';
import { answer, type CommandContext } from './context.ts';
import { remove } from './down.ts';
import { flavoursWith, nodesWith, programsOf } from './nodes-flags.ts';
import { nodesTable, steadyNote, strangersNote } from './nodes-table.ts';
import { workingNodes } from './working-nodes.ts';

const DEFAULT_NAME = 'local';

export interface UpFlags extends ClusterFlags {
  /** All but name and ports come from it. */
  readonly snapshot?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
  readonly fresh?: boolean;
}

/** @throws HarnessError `USAGE` naming an option that contradicts the snapshot */
function fromSnapshot(flags: UpFlags): ClusterOptions {
  const extra = besideSnapshot(flags);
  if (extra !== undefined) {
    throw new HarnessError(
      'USAGE',
      `${extra}: cannot be combined with --snapshot, which has its own definition`,
      { hint: 'With --snapshot only --name, --port, --fresh and --timeout are allowed.' },
    );
  }
  return { name: DEFAULT_NAME, ...keysFrom(flags), snapshot: flags.snapshot };
}

/**
 * Options override the file, which overrides its preset.
 * @param onInput before anything starts
 */
export async function up(
  flags: UpFlags,
  context: CommandContext,
  onInput: (input: Pick<DefinitionInput, 'driver' | 'machineFaults'>) => void = () => undefined,
): Promise<void> {
  const input = flags.snapshot === undefined ? await inputOf(flags) : fromSnapshot(flags);
  const steps = stepsOf(input, flags.file ?? 'options', context.stateDir);
  onInput(input);
  if (flags.fresh === true) await remove(context.stateDir, input.name ?? DEFAULT_NAME);
  const cluster = await whileShown(steps, context, (onProgress) =>
    Cluster.start({
      ...input,
      source: flags.file,
      stateDir: context.stateDir,
      detached: true,
      timeoutMs: flags.timeout,
      signal: context.signal,
      onProgress,
    }),
  );
  try {
    answer(context, cluster.toJSON(), [
      '',
      ...headline(cluster, context),
      '',
      ...nodesTable(cluster, context, { wide: flags.wide ?? false, state: false }),
      '',
      ...tryNext(cluster, context),
    ]);
  } finally {
    await cluster.detach();
  }
}

export async function whileShown(
  steps: readonly StartStep[],
  { style, json, note, out }: CommandContext,
  start: (onProgress: (progress: StartProgress) => void) => Promise<Cluster>,
): Promise<Cluster> {
  const view = style.live && !json ? await liveProgress(steps) : lineProgress(json ? note : out);
  try {
    return await start((progress) => view.update(progress));
  } finally {
    await view.end();
  }
}

async function inputOf(flags: UpFlags): Promise<DefinitionInput> {
  const file = flags.file === undefined ? {} : await readClusterFile(flags.file);
  expectTrusted(programsOf(file, flags), { source: flags.file ?? 'options', trust: flags.trust });
  const preset = flags.preset ?? file['preset'];
  const name = file['name'] ?? preset ?? DEFAULT_NAME;
  const chosen = { ...file, name, ...keysFrom(flags), flavours: await flavoursWith(flags, file) };
  const input = withPreset(chosen) as DefinitionInput;
  return { ...input, nodes: nodesWith(flags, input.nodes, NODES_DEFAULT) };
}

/** @param source of the input, for messages @throws HarnessError as `Cluster.start` */
export function stepsOf(
  { snapshot, ...input }: DefinitionInput & Pick<ClusterOptions, 'snapshot'>,
  source: string,
  stateDir: string,
): StartStep[] {
  if (snapshot !== undefined) {
    const saved = openSnapshot(stateDir, snapshot, { beside: input, source });
    const { batches } = saved.snapshot.record;
    const image = DRIVER_FACTS[saved.definition.driver].images;
    return stepsFor({ image, postage: batches.length > 0, state: false });
  }
  const definition = parseDefinition(input, source);
  const postage = definition.nodes.some((group) => batchesOf(definition, group).length > 0);
  const image = DRIVER_FACTS[definition.driver].images;
  return stepsFor({ image, postage, state: hasPreparation(definition) });
}

export function stepsFor(has: { image: boolean; postage: boolean; state: boolean }): StartStep[] {
  return [
    ...(has.image ? (['image'] as const) : []),
    'chain',
    'nodes',
    'mesh',
    ...(has.postage ? (['postage'] as const) : []),
    ...(has.state ? (['state'] as const) : []),
  ];
}

export function headline(cluster: Cluster, { style }: CommandContext): string[] {
  const { name, nodes, driver, seed, chain, timings } = cluster;
  const dialect = nodes.find(isOurs)?.client.dialect.name ?? DIALECT_NAMES[0];
  return [
    `  ${paint(style, 'bold', name)}   ${plural(nodes.length, 'node')} · ${driver} driver · seed ${seed} · ready in ${formatMs(timings.totalMs)}`,
    `  chain ${chain.shownRpc} · id ${chain.chainId} · token contract ${chain.contracts.token}`,
    ...(dialect === DIALECT_NAMES[0] ? [] : [`  our nodes speak the ${dialect} dialect`]),
    ...steadyNote(cluster),
    ...strangersNote(cluster),
  ];
}

const CURL_PROXIES = ['http_proxy', 'all_proxy', 'ALL_PROXY'] as const;

/** Commands to copy: upload, download elsewhere, remove the cluster. */
export function tryNext(cluster: Cluster, { style }: CommandContext): string[] {
  const working = workingNodes(cluster);
  const first = working[0] ?? cluster.node(0);
  const other = working.at(-1) ?? first;
  const lines: string[] = [];
  // A proxy elsewhere does not reach this machine.
  const isProxied = CURL_PROXIES.some((name) => (process.env[name] ?? '') !== '');
  const curl = isProxied ? "curl -s --noproxy '*'" : 'curl -s';
  if (first.batch !== undefined) {
    const header = `${first.client.dialect.headerPrefix}postage-batch-id: ${first.batch}`;
    lines.push(
      `reference=$(${curl} --data-binary hello -H '${header}' ${first.api}/bytes | grep -oE '[0-9a-f]{64}')`,
      `${curl} ${other.api}/bytes/$reference`,
    );
  }
  lines.push(typed(`down --name ${cluster.name}`));
  return [paint(style, 'dim', '  try next'), ...lines.map((line) => `    ${line}`)];
}
