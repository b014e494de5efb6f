import { inLine } from '../base/foreign-text.ts';
import { formatMs } from '../base/format.ts';
import { type Column, renderLists, renderTable, wrap } from '../base/terminal/table.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { strangers } from '../cluster/nodes/introductions.ts';
import { programNames } from '../cluster/nodes/program-names.ts';
import { flavourOf } from '../flavours/table.ts';
import { shortVersion } from '../inspect/status/text.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { paint } from '../report/console.ts';
import type { CommandContext } from './context.ts';

const SHORT_HEX = 8;

const STATE = { title: 'state', rank: 0 } as const;
const COLUMNS = [
  { title: 'name', rank: 0 },
  { title: 'flavour', rank: 1 },
  { title: 'api', rank: 0 },
  { title: 'debug', rank: 2 },
  { title: 'p2p', rank: 5 },
  { title: 'overlay', rank: 0 },
  { title: 'account', rank: 4 },
  { title: 'batch', rank: 1 },
] as const satisfies readonly Column[];

export function clusterHeadline(
  { name, seed, driver, chain }: Cluster,
  { style, width }: CommandContext,
): string[] {
  const facts = [
    ...(seed === undefined ? [] : [`seed ${seed}`]),
    DRIVER_FACTS[driver].owned ? `${driver} driver` : driver,
    chain.rpc === '' ? 'no chain' : `chain ${chain.shownRpc}`,
  ];
  const [first = '', ...more] = wrap(`  ${name}   ${facts.join(' · ')}`, width, '    ');
  return [first.replace(name, paint(style, 'bold', name)), ...more];
}

export function nodesTable(
  cluster: Cluster,
  context: CommandContext,
  options: { wide: boolean; state: boolean; versions?: ReadonlyMap<string, string> },
): string[] {
  const short = (hex: string) => (options.wide ? hex : hex.slice(0, SHORT_HEX));
  const columns: Column[] = [...COLUMNS];
  if (options.state) columns.splice(1, 0, STATE);
  const program = programNames(cluster.nodes);
  const rows = cluster.nodes.map((node) => [
    node.name,
    ...(options.state ? [node.state] : []),
    kindText({ flavour: node.flavour, mode: node.mode, version: versionOf(node, options) }, program(node)),
    node.api,
    node.debug === node.api ? '-' : node.debug,
    options.wide ? node.p2p : hostAndPort(node.p2p),
    short(node.overlay),
    short(node.ethereum),
    node.batch === undefined ? '-' : short(node.batch),
  ]);
  const table = renderTable(columns, rows, options.wide ? Number.POSITIVE_INFINITY : context.width);
  // Full values are wider than a terminal, and wrapped tables unreadable.
  if (Math.max(...table.lines.map((line) => line.length)) > context.width) return renderLists(columns, rows);
  const [head = '', ...body] = table.lines;
  const lines = [paint(context.style, 'dim', head), ...body];
  if (table.hidden.length === 0) return lines;
  return [...lines, paint(context.style, 'dim', `  not shown: ${table.hidden.join(', ')} (--wide)`)];
}

/** Short without `--wide`. */
function versionOf(
  { name }: Pick<ClusterNode, 'name'>,
  { wide, versions }: { readonly wide: boolean; readonly versions?: ReadonlyMap<string, string> },
): string | undefined {
  const version = versions?.get(name);
  return version && (wide ? inLine(version) : shortVersion(version));
}

/** `bee 2.8.1 light`, `svc (changed-node)` @param program tells it from others of its flavour */
export function kindText(
  {
    flavour,
    mode,
    version,
  }: { readonly flavour: string; readonly mode: string; readonly version?: string | undefined },
  program: string | undefined,
): string {
  return [
    flavour,
    ...(version === undefined ? [] : [version]),
    ...(mode === 'full' ? [] : [mode]),
    ...(program === undefined ? [] : [`(${program})`]),
  ].join(' ');
}

export function steadyNote({ chain, nodes }: Cluster): string[] {
  const strict = new Set(nodes.filter((node) => flavourOf(node).public).map(({ flavour }) => flavour));
  return chain.steady
    ? [
        `  with ${[...strict].join(', ')}: a block every ${formatMs(chain.blockTimeMs)}, none on demand, and the public network's credit limits`,
      ]
    : [];
}

export function strangersNote({ nodes }: Pick<Cluster, 'nodes'>): string[] {
  return strangers(nodes).map((programs) => {
    const named = programs.map((group) => group.map(({ name }) => name).join(', '));
    const flavour = programs[0]?.[0]?.flavour;
    return `  ${flavour}: no link is awaited between ${named.join(' and ')}, whose programs differ`;
  });
}

function hostAndPort(multiaddress: string): string {
  if (multiaddress === '') return '-';
  const [, , host, , port] = multiaddress.split('/');
  return `${host}:${port}`;
}
