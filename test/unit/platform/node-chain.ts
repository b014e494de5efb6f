/** The real contracts on a chain in this process, without sockets, for whole nodes of tests. */
import type { ContractAddresses } from '../../../chain/deployment/deploy.ts';
import { type LocalChainOptions, startLocalChain } from '../../../chain/local-chain.ts';
import { checksumAddress } from '../../../formats/crypto/checksum.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { ChainEndpoint } from '../../../node/onchain/rpc.ts';
import { keysOf } from './node-keys.ts';

/** Nodes of a test whose accounts have something. */
const NODES = 10;
const HOST = 'chain.localhost';
const PLACE = { host: HOST, pathname: '/nodes' };

interface NodeChainOptions extends Pick<LocalChainOptions, 'clock' | 'work'> {
  /** Of the nodes' keys. */
  readonly seed: string;
  /** Default: each transaction is a block of its own, at once. */
  readonly blockTimeMs?: number;
}

export interface NodeChain extends AsyncDisposable {
  readonly contracts: ContractAddresses;
  /** @param calls counts what is asked, by method */
  endpoint(calls?: Map<string, number>): ChainEndpoint;
}

export async function startNodeChain({ seed, blockTimeMs = 0, ...at }: NodeChainOptions): Promise<NodeChain> {
  const accounts = Array.from({ length: NODES }, (_, n) => ({
    address: checksumAddress(createSigner(keysOf(seed, n).swarm).address),
    native: 10n ** 20n,
    tokens: 10n ** 20n,
  }));
  const chain = await startLocalChain({
    ...at,
    engine: 'in-process',
    host: HOST,
    allowedHosts: [HOST],
    listen: async () => 1,
    networkId: 1n,
    blockTimeMs,
    accounts,
  });
  return {
    contracts: chain.contracts,
    endpoint: (calls = new Map()) => ({
      shown: 'in-process',
      async post(text, { signal }) {
        const { method } = JSON.parse(text) as { method: string };
        calls.set(method, (calls.get(method) ?? 0) + 1);
        const answer = await chain.gate.ask(PLACE, text, signal);
        if (method === 'eth_sendRawTransaction' && blockTimeMs === 0) await chain.mine();
        return answer;
      },
      close: () => undefined,
    }),
    [Symbol.asyncDispose]: () => chain.stop(),
  };
}
