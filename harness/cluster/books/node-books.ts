import { orMissing, type ProbeResult } from '../../base/wait.ts';
import { ClientError } from '../../client/errors.ts';
import type { NodeClient } from '../../client/node-client.ts';
import { type Link, linkViolations, type NodeBooks } from './books.ts';

const LINKS_SHOWN = 3;

/** A node of a cluster, as far as its books need it. */
export interface AccountedNode {
  readonly name: string;
  /** 64 lower-case hex digits. */
  readonly overlay: string;
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
  readonly running: boolean;
  readonly wipes: number;
  readonly client: Pick<
    NodeClient,
    'balances' | 'accounting' | 'timeSettlements' | 'settlements' | 'chequebook' | 'peers'
  >;
}

/** Nodes are read one after another, so they may differ while something is under way. */
export async function probeLinks(
  nodes: readonly AccountedNode[],
  signal: AbortSignal,
): Promise<ProbeResult<readonly NodeBooks[]>> {
  const books: NodeBooks[] = [];
  for (const node of nodes.filter(({ running }) => running)) {
    const seen = await orMissing(node.name, async () => ({ done: await readNodeBooks(node, signal) }));
    if ('missing' in seen) return seen;
    books.push(seen.done);
  }
  const wrong = linkViolations(books);
  if (wrong.length === 0) return { done: books };
  const more = wrong.length > LINKS_SHOWN ? ` and ${wrong.length - LINKS_SHOWN} more` : '';
  return { missing: `${wrong.slice(0, LINKS_SHOWN).join('; ')}${more}` };
}

/** @throws ClientError */
export async function readNodeBooks(node: AccountedNode, signal?: AbortSignal): Promise<NodeBooks> {
  const { client } = node;
  const [balances, accounts, byTime, byCheques, chequebook, peers] = await Promise.all([
    client.balances(signal),
    client.accounting(signal),
    client.timeSettlements(signal),
    unlessOff(client.settlements(signal)),
    unlessOff(client.chequebook.address(signal)),
    client.peers(signal),
  ]);
  const connected = new Set(peers.map(({ address }) => address));
  const rows = <R extends { readonly peer: string }>(list: readonly R[]) =>
    new Map(list.map((row) => [row.peer, row]));
  const [balanceOf, accountOf] = [rows(balances), rows(accounts)];
  const [timeOf, chequesOf] = [rows(byTime.settlements), rows(byCheques?.settlements ?? [])];
  const overlays = new Set([...balanceOf.keys(), ...timeOf.keys(), ...chequesOf.keys()]);
  const links = [...overlays].map(
    (peer): Link => ({
      peer,
      balance: balanceOf.get(peer)?.balance ?? 0n,
      limit: connected.has(peer) ? accountOf.get(peer)?.currentThresholdGiven : undefined,
      timeSent: timeOf.get(peer)?.sent ?? 0n,
      timeReceived: timeOf.get(peer)?.received ?? 0n,
      chequeSent: chequesOf.get(peer)?.sent ?? 0n,
      chequeReceived: chequesOf.get(peer)?.received ?? 0n,
    }),
  );
  const has = chequebook !== undefined && BigInt(`0x${chequebook}`) !== 0n;
  return {
    name: node.name,
    overlay: node.overlay,
    account: node.ethereum,
    wipes: node.wipes,
    chequebook: has ? chequebook : undefined,
    links,
  };
}

/** A node with cheques off refuses the request, which counts as nothing. */
export async function unlessOff<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return undefined;
    throw error;
  }
}
