/** A node on the wire, and peers that it must accept, answer, refuse or survive. */

import { fromHex } from '../../../formats/crypto/hex.ts';
import { secretsOf } from '../../../formats/shown-url.ts';
import { isDialable, peerIdOf, withoutPeerId } from '../../../node/p2p/address/underlay.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { chainAt } from '../chain/chain-at.ts';
import type { Graded, Opened, Opening } from '../grade.ts';
import { createFunds, type OwnBatch, swapPrice } from './funds.ts';
import { BACKGROUND_CHECKS, WIRE_ROWS } from './rows/rows.ts';
import { beginBackground, Memory, type WireOptions, type WireSubject } from './subject.ts';
import { Transcript } from './transcript.ts';

/** Node to grade as its peer. */
export interface WireFlags {
  /** Multiaddress with the identity that must be proved at it. */
  readonly peer: string;
  /** Network id of the handshake. */
  readonly networkId: bigint;
  /** Also run rows of hostile input, which a node must survive. */
  readonly hostile?: boolean;
  /** Endpoint of the node's chain. */
  readonly rpc?: string;
  /** File with the addresses of the contracts. */
  readonly contracts?: string;
  /** 32 bytes as hex, of an account that rows may spend from. */
  readonly key?: string;
  /** A batch of that account: `id:depth`. */
  readonly batch?: string;
}

export function wireConformance(flags: WireFlags): Graded<WireSubject> {
  return { kind: 'wire', rows: WIRE_ROWS, open: (run) => open(flags, run) };
}

async function open(flags: WireFlags, run: Opening): Promise<Opened<WireSubject>> {
  const chain = flags.rpc === undefined ? undefined : await chainAt(flags.rpc, flags.contracts, run.clock);
  const key = keyOf(flags);
  if (key !== undefined && chain === undefined) {
    throw new HarnessError('USAGE', '--key: nothing can be spent without --rpc, the chain of the node');
  }
  const options: WireOptions = {
    ...placeOf(flags.peer),
    networkId: flags.networkId,
    hostile: flags.hostile === true,
    swapPrice: chain && (() => swapPrice(chain)),
    ...(chain === undefined || key === undefined
      ? {}
      : { funds: createFunds({ key, chain, clock: run.clock, batch: batchOf(flags.batch) }) }),
  };
  const opened = await openWire(options, run);
  return {
    ...opened,
    secrets: [
      ...(flags.rpc === undefined ? [] : secretsOf(flags.rpc)),
      ...(flags.key === undefined ? [] : [flags.key.trim()]),
    ],
    close: async () => {
      const left = await opened.close();
      await chain?.close();
      return left;
    },
  };
}

/** @throws HarnessError when nothing answers */
export async function openWire(
  options: WireOptions,
  run: Opening,
  background = BACKGROUND_CHECKS,
): Promise<Opened<WireSubject>> {
  const memory = new Memory(options, run);
  const implementation = await agentOf(memory, options);
  const subject: WireSubject = { options, memory };
  const waited = beginBackground(subject, background);
  return {
    subject,
    described: `${options.address}/p2p/${options.peerId}, network ${options.networkId}`,
    implementation,
    secrets: [],
    close: async () => {
      await memory.close();
      await waited;
      return [];
    },
  };
}

async function agentOf(memory: Memory, { address }: WireOptions): Promise<string> {
  try {
    const connection = await memory.dial();
    connection.abort(new Error('another peer answers'));
  } catch (error) {
    throw new HarnessError('NETWORK_INVALID', `nobody answers at ${address}: ${messageOf(error)}`, {
      cause: error,
      hint: 'Start the node, or name an address at which it listens with --peer.',
    });
  }
  try {
    const stranger = await memory.connect(new Transcript(() => undefined));
    const { agentVersion, observed } = await stranger.identify();
    memory.seenAt = observed;
    await stranger.leave();
    return agentVersion;
  } catch {
    // The rows will show what is wrong with it.
    return '';
  }
}

function placeOf(peer: string): { address: string; peerId: string } {
  const peerId = peerIdOf(peer);
  const address = withoutPeerId(peer);
  if (peerId === undefined || !isDialable(address)) {
    throw new HarnessError(
      'USAGE',
      `--peer: got '${peer}', expected a TCP address with an identity, such as /ip4/127.0.0.1/tcp/1634/p2p/12D3Koo…`,
      { hint: 'A node tells its addresses in GET /addresses, as underlay.' },
    );
  }
  return { address, peerId };
}

function keyOf({ key }: WireFlags): Uint8Array | undefined {
  if (key === undefined) return undefined;
  const hex = key.trim().replace(/^0x/, '');
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new HarnessError('USAGE', '--key: expected 64 hex digits');
  return fromHex(hex);
}

function batchOf(text: string | undefined): OwnBatch | undefined {
  if (text === undefined) return undefined;
  const [, id, depth] = /^(?:0x)?([0-9a-fA-F]{64}):(\d\d)$/.exec(text) ?? [];
  if (id === undefined)
    throw new HarnessError('USAGE', `--batch: got '${text}', expected its id, a colon and its depth`);
  return { id, depth: Number(depth) };
}
