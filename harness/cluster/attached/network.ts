import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { mistakeLines } from '../../base/foreign-text.ts';
import { allAtMost } from '../../base/wait.ts';
import { Chain } from '../../chain/chain.ts';
import type { ChainRecord } from '../../chain/record.ts';
import { plainHex } from '../../client/json.ts';
import type { BatchRecord, NodeRecord } from '../state/state.ts';
import { NO_CHAIN, type ProbedChain, probeChain } from './probe-chain.ts';
import { type ProbedNode, probeNode } from './probe-node.ts';
import type { NetworkFile } from './schema.ts';

const NODES_AT_ONCE = 32;
/** Blocks by which heights may differ: node and chain are asked at different moments. */
const HEIGHT_TOLERANCE = 100;

export interface Network {
  readonly chain: ChainRecord;
  readonly nodes: readonly NodeRecord[];
  readonly batches: readonly BatchRecord[];
}

type NodeOfFile = NetworkFile['nodes'][number];
interface Found {
  readonly node: NodeOfFile;
  readonly at: string;
  readonly seen: ProbedNode;
}

/** @param source names the file in messages @throws HarnessError `NETWORK_INVALID` with a line per mistake */
export async function findNetwork(
  file: NetworkFile,
  source: string,
  limits: { clock: Clock; signal?: AbortSignal | undefined },
): Promise<Network> {
  const probed = await allAtMost(
    NODES_AT_ONCE,
    file.nodes.map((node, index) => async () => ({
      node,
      at: `nodes[${index}]`,
      probe: await probeNode(node, limits),
    })),
  );
  const found = probed.flatMap(({ node, at, probe }): Found[] =>
    'mistake' in probe ? [] : [{ node, at, seen: probe }],
  );
  const chain = await chainOf(file, found, limits.clock);
  const record = 'record' in chain ? chain.record : undefined;
  const mistakes = [
    ...probed.flatMap(({ node, at, probe }) =>
      'mistake' in probe ? [`${at}: ${node.name} at ${node.api}: ${probe.mistake}`] : [],
    ),
    ...twins(found),
    ...chain.mistakes,
    ...strangers(found),
    ...('record' in chain ? await aliens(chain, found, limits.clock) : []),
    ...foreignBatches(file, found),
  ];
  if (mistakes.length > 0 || record === undefined) {
    throw new HarnessError('NETWORK_INVALID', mistakeLines(mistakes, source));
  }
  return { chain: record, nodes: found.map(recordOf), batches: batchesOf(file, found) };
}

async function chainOf(
  { chain }: NetworkFile,
  found: readonly Found[],
  clock: Clock,
): Promise<ProbedChain | { readonly mistakes: readonly string[] }> {
  const { rpc } = chain;
  if (rpc !== undefined)
    return probeChain(
      { ...chain, rpc },
      found.map(({ seen }) => seen),
      clock,
    );
  const chained = found.find(({ seen }) => seen.chain !== undefined);
  if (chained !== undefined) {
    const id = chained.seen.chain?.wallet.chainId;
    return {
      mistakes: [
        `chain.rpc: got nothing, expected the JSON-RPC endpoint of chain ${id}, which ${chained.node.name} uses`,
      ],
    };
  }
  return { record: NO_CHAIN, height: 0, mistakes: [] };
}

function twins(found: readonly Found[]): string[] {
  return found.flatMap((one, index) => {
    const first = found.findIndex(({ seen }) => seen.overlay === one.seen.overlay);
    const twin = found[first];
    return twin === undefined || first === index
      ? []
      : [
          `${one.at}: ${one.node.name} at ${one.node.api} is the same node as ${twin.node.name} (overlay ${one.seen.overlay})`,
        ];
  });
}

function strangers(found: readonly Found[]): string[] {
  const chained = found.filter(({ seen }) => seen.chain !== undefined);
  const [first] = chained;
  return chained.flatMap(({ node, at, seen }) =>
    seen.chain?.wallet.chainId === first?.seen.chain?.wallet.chainId
      ? []
      : [
          `${at}: ${node.name} is on chain ${seen.chain?.wallet.chainId}, ${first?.node.name} on chain ${first?.seen.chain?.wallet.chainId}: they do not form a network`,
        ],
  );
}

/** Nodes on another chain: another id or height, or accounts and chequebooks that it does not know. */
async function aliens(
  { record, height }: ProbedChain,
  found: readonly Found[],
  clock: Clock,
): Promise<string[]> {
  if (record.rpc === '') return [];
  const chain = new Chain(record, clock);
  try {
    const lines = found.map(async ({ node, at, seen }) => {
      const why = seen.chain && (await alienation(chain, height, { ...seen, chain: seen.chain }));
      return why === undefined
        ? []
        : [`${at}: ${node.name} is not on the chain at ${chain.shownRpc}: ${why}`];
    });
    return (await Promise.all(lines)).flat();
  } finally {
    await chain.close();
  }
}

async function alienation(
  chain: Chain,
  height: number,
  {
    ethereum,
    chain: { wallet, state, chequebook },
  }: ProbedNode & { readonly chain: NonNullable<ProbedNode['chain']> },
): Promise<string | undefined> {
  if (wallet.chainId !== chain.chainId)
    return `its chain has id ${wallet.chainId}, that one ${chain.chainId}`;
  if (Math.abs(state.chainTip - height) > HEIGHT_TOLERANCE) {
    return `its chain is at block ${state.chainTip}, that one at ${height}`;
  }
  if (wallet.nativeBalance > 0n && (await chain.nativeBalance(ethereum)) === 0n) {
    return `its account 0x${ethereum} is empty there`;
  }
  if (chequebook === undefined) return undefined;
  const issuer = await issuerOf(chain, chequebook);
  return issuer === ethereum ? undefined : `its chequebook 0x${chequebook} does not exist there`;
}

async function issuerOf(chain: Chain, chequebook: string): Promise<string | undefined> {
  try {
    return (await chain.view(chequebook, 'issuer()')).toString(16).padStart(40, '0');
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'CHAIN_FAILED') return undefined;
    throw error;
  }
}

function foreignBatches({ batches = [] }: NetworkFile, found: readonly Found[]): string[] {
  return batches.flatMap(({ id, node: owner }, index) => {
    const one = found.find(({ node }) => node.name === owner);
    if (one === undefined || one.seen.batches.some(({ batchID }) => batchID === id)) return [];
    const own = one.seen.batches.map(({ batchID }) => batchID);
    return [
      `batches[${index}].id: ${owner} has no usable batch ${id} (it has ${own.length === 0 ? 'none' : own.join(', ')})`,
    ];
  });
}

function recordOf({ node, seen }: Found): NodeRecord {
  const { flavour, mode, dialect, p2p, overlay, ethereum } = seen;
  return {
    name: node.name,
    flavour,
    mode,
    dialect,
    api: node.api,
    debug: node.debug,
    foreign: true,
    p2p,
    overlay,
    ethereum: plainHex(ethereum),
    privateKey: node.key,
    token: node.token,
    tokenFile: node.tokenFile,
    dataDir: '',
    log: '',
  };
}

function batchesOf({ batches }: NetworkFile, found: readonly Found[]): BatchRecord[] {
  return found.flatMap(({ node, seen }) =>
    seen.batches
      .filter(({ batchID }) => batches === undefined || batches.some(({ id }) => id === batchID))
      .map(({ batchID, depth }) => ({ id: batchID, node: node.name, depth })),
  );
}
