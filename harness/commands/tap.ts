/** `svcnet tap`: what nodes say to each other, a line for each message, as it passes. */

import { inLine } from '../base/foreign-text.ts';
import { plural } from '../base/format.ts';
import { clip } from '../base/terminal/table.ts';
import type { TapEvent, TapValue } from '../places/links/tap/events.ts';
import { paint } from '../report/console.ts';
import type { ClusterFlags, CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

interface TapFlags extends ClusterFlags {
  readonly protocol?: string;
  readonly kept?: boolean;
}

/** Digits of a hash in text. */
const HASH_SHOWN = 8;
const HASH = /\b[0-9a-f]{40,}\b/g;
const WIDTH = { nodes: 18, protocol: 12, name: 10 } as const;

export async function tap(
  nodes: readonly string[],
  { protocol, kept, ...flags }: TapFlags,
  context: CommandContext,
): Promise<void> {
  const { json, signal } = context;
  await onCluster(flags, context, async (cluster) => {
    const onMissed = (count: number) =>
      context.note(`  ${plural(count, 'message')} passed too fast to be shown\n`);
    for await (const event of cluster.tap({ nodes, protocol, kept, signal, onMissed })) {
      context.out(`${json ? JSON.stringify(event) : line(event, context)}\n`);
    }
  });
}

/** `12:00:01.203 node-0 -> node-3   pushsync     delivery   3f2a09c4… (4104 B)  stamp batch 9c1d77aa…` */
function line(event: TapEvent, { style, width }: CommandContext): string {
  const { at, from, to, protocol, kind, name, fields } = event;
  const what = name === '' ? kind : name;
  const text = [
    new Date(at).toISOString().slice(11, 23),
    inLine(`${from} -> ${to}`).padEnd(WIDTH.nodes),
    inLine(protocol).padEnd(WIDTH.protocol),
    what.padEnd(WIDTH.name),
    inLine(fieldsText(fields)),
  ].join(' ');
  const shown = clip(text.trimEnd(), width);
  return name === 'undecodable' || name === 'reset' ? paint(style, 'red', shown) : shown;
}

function fieldsText({ address, data, ...rest }: TapEvent['fields']): string {
  const chunk = [
    address === undefined ? undefined : valueText(address),
    data === undefined ? undefined : `(${valueText(data)})`,
  ].filter((part) => part !== undefined);
  const others = Object.entries(rest).map(([field, value]) => `${field} ${valueText(value)}`);
  return [chunk.join(' '), ...others]
    .filter((part) => part !== '')
    .join('  ')
    .replaceAll(HASH, (hash) => `${hash.slice(0, HASH_SHOWN)}…`);
}

function valueText(value: TapValue): string {
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return `{ ${Object.entries(value)
    .map(([field, inner]) => `${field} ${valueText(inner)}`)
    .join(', ')} }`;
}
