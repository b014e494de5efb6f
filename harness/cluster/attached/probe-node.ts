import type { Clock } from '../../../formats/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { TokenSource } from '../../base/token.ts';
import { DIALECTS, type DialectName } from '../../client/dialect.ts';
import { ClientError } from '../../client/errors.ts';
import { HttpClient } from '../../client/http.ts';
import { plainHex } from '../../client/json.ts';
import type { Wallet } from '../../client/money-types.ts';
import { NodeClient } from '../../client/node-client.ts';
import type { Addresses, ChainState, Stamp } from '../../client/types.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import type { NetworkFile } from './schema.ts';

const ANSWER_LIMIT_MS = 15_000;
/** Our own nodes have Ed25519 keys; a Bee's are on other curves. */
const ED25519_PEER = /\/p2p\/12D3Koo\w+$/;
/** A Bee has more names, for nodes that store nothing or have no network. */
const MODES: Readonly<Record<string, NodeMode>> = {
  full: 'full',
  dev: 'full',
  light: 'light',
  'ultra-light': 'light',
  boot: 'boot',
};

export interface ProbedNode {
  readonly flavour: FlavourName;
  readonly dialect: DialectName;
  readonly mode: NodeMode;
  readonly overlay: string;
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
  readonly p2p: string;
  readonly peers: readonly string[];
  readonly chain: NodeChain | undefined;
  readonly batches: readonly Stamp[];
}

export interface NodeChain {
  readonly wallet: Wallet;
  readonly state: ChainState;
  readonly chequebook: string | undefined;
}

export async function probeNode(
  { name, api, debug, token, tokenFile }: NetworkFile['nodes'][number],
  { clock, signal: interruption }: { clock: Clock; signal?: AbortSignal | undefined },
): Promise<ProbedNode | { readonly mistake: string }> {
  using limit = clock.deadline(ANSWER_LIMIT_MS, interruption);
  const { signal } = limit;
  try {
    const source = { token, tokenFile, foreign: true, clock };
    const about = { node: name, base: debug, ...source };
    const dialect = await dialectOf(about, signal);
    if (dialect === 'locked') return { mistake: mistakenToken(source) };
    if (dialect === undefined) return { mistake: await mistakenEndpoint(about, signal) };
    await using client = new NodeClient({ node: name, api, debug, dialect: DIALECTS[dialect], ...source });
    if (debug !== api) await client.health(signal);
    return await probeWith(client, dialect, signal);
  } catch (error) {
    if (interruption?.aborted === true) throw error;
    return { mistake: signal.aborted ? `did not answer within ${ANSWER_LIMIT_MS / 1000} s` : inWords(error) };
  }
}

async function probeWith(client: NodeClient, dialect: DialectName, signal: AbortSignal): Promise<ProbedNode> {
  const [{ mode }, addresses, peers, chain] = await Promise.all([
    client.node(signal),
    client.addresses(signal),
    client.peers(signal),
    chainOf(client, signal),
  ]);
  const batches = chain === undefined ? [] : await client.stamps.list(signal);
  return {
    dialect,
    flavour: dialect === 'svc' || isOurs(addresses) ? 'svc' : 'bee',
    mode: MODES[mode] ?? 'full',
    overlay: addresses.overlay.toLowerCase(),
    ethereum: plainHex(addresses.ethereum),
    p2p: addresses.underlay[0] ?? '',
    peers: peers.map(({ address }) => address),
    chain,
    // The first is the default: the one that lasts longest.
    batches: batches.filter(({ usable }) => usable).toSorted((a, b) => b.batchTTL - a.batchTTL),
  };
}

function isOurs({ underlay }: Addresses): boolean {
  return underlay.some((address) => ED25519_PEER.test(address));
}

function mistakenToken({ token, tokenFile }: TokenSource): string {
  return token === undefined && tokenFile === undefined
    ? 'requires a token: set token or tokenFile'
    : 'rejected the token';
}

async function mistakenEndpoint(
  about: ConstructorParameters<typeof HttpClient>[0],
  signal: AbortSignal,
): Promise<string> {
  await using http = new HttpClient(about);
  const answer = await http.attempt({ method: 'GET', path: '/readiness', signal });
  return answer.status === 200 && fieldsOf(await answer.text()).includes('apiVersion')
    ? 'serves only data there: name its debug API with debug'
    : 'answers, but is not a storage node: GET /node returns no mode';
}

async function dialectOf(
  about: ConstructorParameters<typeof HttpClient>[0],
  signal: AbortSignal,
): Promise<DialectName | 'locked' | undefined> {
  await using http = new HttpClient(about);
  const answer = await http.attempt({ method: 'GET', path: '/node', signal });
  const body = await answer.text();
  if (answer.status === 401) return 'locked';
  if (answer.status !== 200) return undefined;
  const fields = fieldsOf(body);
  return Object.values(DIALECTS).find(({ modeField }) => fields.includes(modeField))?.name;
}

function fieldsOf(body: string): string[] {
  try {
    return Object.keys((JSON.parse(body) ?? {}) as object);
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

async function chainOf(client: NodeClient, signal: AbortSignal): Promise<NodeChain | undefined> {
  try {
    const [wallet, state] = await Promise.all([client.wallet.balances(signal), client.chainState(signal)]);
    return { wallet, state, chequebook: await chequebookOf(client, signal) };
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

async function chequebookOf(client: NodeClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const address = await client.chequebook.address(signal);
    return BigInt(`0x${address}`) === 0n ? undefined : address;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ClientError && error.status !== undefined;
}

function inWords(error: unknown): string {
  return messageOf(error).replace(/^[\w.-]+: /, '');
}
