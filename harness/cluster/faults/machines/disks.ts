import { z } from 'zod';
import { HarnessError } from '../../../base/errors.ts';
import { formatMs, plural } from '../../../base/format.ts';
import { isOurs } from '../../../flavours/flavour.ts';
import { beginNodeFault, endNodeFault, nodeCounts } from '../../../flavours/tampered/control.ts';
import { type DiskFault, isTampered, type NodeFault } from '../../../flavours/tampered/settings.ts';
import { parseExposition } from '../../../metrics/exposition.ts';
import type { Effect, FaultContext, FaultKind, FaultStart } from '../fault.ts';
import { delay, type FaultField, NODE_FIELD, nodeName } from '../fields.ts';
import { type OneNode, oneNode, PERCENT, whole } from './fields.ts';
import { expectReturn, START, startAgain } from './restarts.ts';

const SLOW_MS = 50;
const CHUNKS_MAX = 1_000_000;
const DAMAGED = /localstore_damaged_count$/;

export async function beginOnNode(
  context: FaultContext,
  name: string,
  fault: NodeFault,
  { hold, key }: Pick<FaultStart, 'hold' | 'key'>,
): Promise<{ node: string; key: string }> {
  const node = context.node(name);
  const { dataDir, flavour } = node;
  if (!isTampered(dataDir)) {
    const isOwn = isOurs(node) && node.binary === undefined;
    const why = isOwn
      ? 'it was not started for it'
      : `${node.binary ?? flavour} runs on the machine as it is`;
    throw new HarnessError('FAULT_REFUSED', `the ${fault.layer} of ${name} cannot be made to fail: ${why}`, {
      hint: 'Nodes of our own can, in a cluster started with svcnet up --machine-faults.',
    });
  }
  hold({ node: name, key });
  await beginNodeFault(dataDir, key, fault);
  return { node: name, key };
}

type NodeFaultHandle = Readonly<Record<string, string | number>>;

export async function effectOnNode(context: FaultContext, { node, key }: NodeFaultHandle): Promise<Effect> {
  return nodeCounts(context.node(String(node)).dataDir, String(key));
}

export function endOnNode(context: FaultContext, { node, key }: NodeFaultHandle): Promise<void> {
  return endNodeFault(context.node(String(node)).dataDir, String(key));
}

interface DiskRow<R extends OneNode> {
  readonly name: string;
  readonly about: string;
  readonly schema: z.ZodType<R>;
  readonly fields?: readonly FaultField[];
  readonly text: (request: R) => string;
  readonly fault: (request: R) => DiskFault;
}

function diskKind<R extends OneNode>({ fault, ...row }: DiskRow<R>): FaultKind<R> {
  return {
    ...row,
    layer: 'disk',
    capability: 'disk',
    targets: ({ node }) => [node],
    begin: (context, request, start) => beginOnNode(context, request.node, fault(request), start),
    effect: effectOnNode,
    end: endOnNode,
  };
}

export const DISK_FULL = diskKind<OneNode>({
  name: 'disk-full',
  about: 'fill the disk of a node: writes fail, reads still work',
  schema: oneNode,
  text: ({ node }) => `fills the disk of ${node}`,
  fault: () => ({ layer: 'disk', what: 'full' }),
});

export const DISK_READ_ONLY = diskKind<OneNode>({
  name: 'disk-read-only',
  about: 'make the disk of a node read-only, as a filesystem becomes after an error',
  schema: oneNode,
  text: ({ node }) => `makes the disk of ${node} read-only`,
  fault: () => ({ layer: 'disk', what: 'read-only' }),
});

const failing = z.strictObject({ node: nodeName, percent: whole(1, 100, 'percent').default(10) });

export const DISK_FAILING = diskKind<z.infer<typeof failing>>({
  name: 'disk-failing',
  about: "make a share of a node's writes fail",
  schema: failing,
  fields: [NODE_FIELD, PERCENT],
  text: ({ node, percent }) => `lets ${percent} % of the writes of ${node} fail`,
  fault: ({ percent }) => ({ layer: 'disk', what: 'failing', percent }),
});

const slow = z.strictObject({ node: nodeName, by: delay.default(SLOW_MS) });

export const DISK_SLOW = diskKind<z.infer<typeof slow>>({
  name: 'disk-slow',
  about: 'make each write of a node take longer',
  schema: slow,
  fields: [
    NODE_FIELD,
    { field: 'by', flag: '--by <duration>', about: 'added to each write (default: 50ms)' },
  ],
  text: ({ node, by }) => `makes writes of ${node} take ${formatMs(by)} longer`,
  fault: ({ by }) => ({ layer: 'disk', what: 'slow', ms: by }),
});

const flip = z.strictObject({ node: nodeName, chunks: whole(1, CHUNKS_MAX, 'chunks').default(10) });

export const FLIP_BITS: FaultKind<z.infer<typeof flip>> = {
  name: 'flip-bits',
  layer: 'disk',
  about:
    'flip a bit in chunks that a node has stored; a running node is stopped for it and started again, and only the network repairs the chunks',
  capability: 'data',
  schema: flip,
  fields: [
    NODE_FIELD,
    { field: 'chunks', flag: '--chunks <count>', about: 'number of chunks (default: 10)' },
  ],
  startsNodes: true,
  text: ({ node, chunks }) => `flips a bit in ${plural(chunks, 'chunk')} of ${node}`,
  targets: ({ node }) => [node],
  async begin(context, { node: name, chunks }, { signal, hold }) {
    const node = context.node(name);
    if (node.declared !== undefined) {
      throw new HarnessError(
        'FAULT_REFUSED',
        `how ${name} of flavour ${node.flavour} keeps chunks is not known`,
        {
          hint: 'Bits of stored chunks can be flipped on svc nodes and on Bees.',
        },
      );
    }
    const runs = (await node.observe()).state === 'running';
    if (runs) {
      expectReturn(node);
      hold({ node: name, flipped: 0, away: name });
      await node.stop();
    }
    signal.throwIfAborted();
    const flipped = await node.damage(chunks);
    if (runs) {
      hold({ node: name, flipped, away: name });
      await node.start({ ...START, signal });
    }
    return { node: name, flipped };
  },
  async effect(context, { node, flipped }) {
    return {
      'bits flipped': Number(flipped),
      'damaged chunks noticed': await damagedChunks(context, String(node)),
    };
  },
  // Also ends a fault that was stopped half-way.
  end: (context, { away = '' }) => (away === '' ? Promise.resolve() : startAgain(context, String(away))),
  stays: ({ node, flipped }) =>
    Number(flipped) === 0
      ? undefined
      : `a bit of ${plural(Number(flipped), 'chunk')} of ${node} stays flipped`,
};

async function damagedChunks(context: FaultContext, name: string): Promise<number> {
  const node = context.node(name);
  if (!node.running || !isOurs(node)) return 0;
  const text = await node.client.metrics().catch(() => '');
  const samples = parseExposition(text).samples.filter((sample) => DAMAGED.test(sample.name));
  return samples.reduce((sum, { value }) => sum + value, 0);
}
