import type { MessageStream, Peer } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { bitsOf } from '../../../../node/protocols/pullsync/rules.ts';
import { Delivery, Get, Offer, PULLSYNC, Want } from '../../../../node/protocols/pullsync/wire.ts';
import { connect, never, stranger } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { chunksInBin, delivered, offered, type PullNode, pullNode, type Stamped } from './pull-nodes.ts';

export const NO_CURSORS = Array.from({ length: 32 }, () => 0n);

export interface Script {
  /** For every Get; `topmost` is the number of chunks. */
  readonly offer: readonly Stamped[];
  readonly topmost?: bigint;
  readonly deliver?: (stream: MessageStream, wanted: readonly Stamped[]) => Promise<void>;
}

interface Server {
  readonly peer: Peer;
  /** Indexes wanted, one list per page. */
  readonly wants: number[][];
}

export async function deliverAll(stream: MessageStream, wanted: readonly Stamped[]): Promise<void> {
  for (const one of wanted) await stream.write(Delivery, delivered(one));
}

export async function pulling(options: { radius?: number; latencyMs?: number } = {}) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const node = await pullNode(1, { clock, network, ...options });
  let servers = 1;
  const server = async (script: Script | ((stream: MessageStream) => Promise<void>)): Promise<Server> => {
    const wants: number[][] = [];
    const handler = typeof script === 'function' ? script : serving(script, wants);
    const other = await stranger(++servers, { clock, network, protocol: PULLSYNC, handler });
    return { peer: await connect(node, other, clock), wants };
  };
  const silent = async (): Promise<{ readonly peer: Peer; ended?: unknown }> => {
    const seen: { ended?: unknown } = {};
    const { peer } = await server(async (stream) => {
      await stream.read(Get);
      await stream.read(Want).catch((error: unknown) => {
        seen.ended = error;
      });
    });
    return Object.assign(seen, { peer });
  };
  const sync = ({ peer }: Server, { bin = 0, start = 1n } = {}) =>
    node.pullsync.sync(peer, bin, start, never);
  return { clock, network, node, server, silent, sync };
}

function serving({ offer, topmost, deliver = deliverAll }: Script, wants: number[][]) {
  return async (stream: MessageStream) => {
    await stream.read(Get);
    await stream.write(Offer, { topmost: topmost ?? BigInt(offer.length), chunks: offer.map(offered) });
    if (offer.length === 0) return;
    const wanted = bitsOf((await stream.read(Want)).bitVector, offer.length);
    wants.push(wanted);
    await deliver(
      stream,
      wanted.map((index) => offer[index] as Stamped),
    );
  };
}

export function inBin(node: PullNode, bin: number, count: number): Stamped[] {
  return chunksInBin(node.overlay, bin, count);
}

export const ALL = { from: 0, to: 31 };
