import { toHex } from '../../formats/crypto/hex.ts';
import { HarnessError } from '../base/errors.ts';
import { inUnits, NATIVE_DECIMALS, TOKEN_DECIMALS } from '../base/format.ts';
import { renderTable } from '../base/terminal/table.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { seedToJson, spareAccounts } from '../cluster/plan/seed.ts';
import { paint } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

const COLUMNS = [
  { title: 'name', rank: 0 },
  { title: 'account', rank: 1 },
  { title: 'private key', rank: 0 },
  { title: 'coins', rank: 3, align: 'right' },
  { title: 'tokens', rank: 2, align: 'right' },
] as const;

/** Digits have `0x`; amounts are base units. */
interface Account {
  readonly name: string;
  readonly of: 'node' | 'user';
  readonly address: string;
  readonly privateKey: string;
  readonly native: string;
  readonly tokens: string;
}

export async function keys(flags: ClusterFlags & { wide?: boolean }, context: CommandContext): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    const { name, seed, chain } = cluster;
    const pairs = keyPairs(cluster);
    if (pairs.length === 0) throw noKeys(name);
    const accounts = await Promise.all(pairs.map((pair) => withBalances(cluster, pair)));
    const warning =
      seed === undefined
        ? 'Anyone who has a private key can spend the account.'
        : 'These keys are derived from the seed or listed in a cluster file. They are not secret: use them on this chain only.';
    const access = chain.accessToken();
    const document = {
      name,
      seed: seedToJson(seed),
      warning,
      chain: {
        rpc: chain.rpc,
        chainId: chain.chainId,
        tokenContract: chain.contracts.token,
        accessToken: access,
      },
      accounts,
    };
    const rows = accounts.map((account) => [
      account.name,
      account.address,
      account.privateKey,
      inUnits(BigInt(account.native), NATIVE_DECIMALS),
      inUnits(BigInt(account.tokens), TOKEN_DECIMALS),
    ]);
    const table = renderTable(COLUMNS, rows, flags.wide === true ? Number.POSITIVE_INFINITY : context.width);
    const [head = '', ...body] = table.lines;
    answer(context, document, [
      paint(context.style, 'dim', head),
      ...body,
      ...(table.hidden.length === 0 ? [] : [`  not shown: ${table.hidden.join(', ')} (--wide)`]),
      '',
      `  chain ${chain.rpc} · id ${chain.chainId} · token contract ${chain.contracts.token}`,
      ...(access === undefined
        ? []
        : [`  evm_, anvil_ and other calls of a developer: Authorization: Bearer ${access}`]),
      `  ${warning}`,
    ]);
  });
}

type KeyPair = Pick<Account, 'name' | 'of' | 'address' | 'privateKey'>;

function keyPairs({ seed, nodes }: Cluster): KeyPair[] {
  const ofNodes = nodes.flatMap(({ name, ethereum, privateKey: secret }) =>
    secret === undefined ? [] : [{ name, of: 'node' as const, ethereum, secret }],
  );
  const spare = (seed === undefined ? [] : spareAccounts(seed)).map(({ name, ethereum, key }) => ({
    name,
    of: 'user' as const,
    ethereum,
    secret: toHex(key),
  }));
  return [...ofNodes, ...spare].map(({ name, of, ethereum, secret }) => ({
    name,
    of,
    address: `0x${ethereum}`,
    privateKey: `0x${secret}`,
  }));
}

function noKeys(name: string): HarnessError {
  return new HarnessError(
    'NODE_STATE',
    `the private keys of '${name}' are unknown: svcnet did not start it`,
    {
      hint: 'Add them to the network file: nodes: [{ api: …, key: … }]',
    },
  );
}

async function withBalances({ chain }: Cluster, pair: KeyPair): Promise<Account> {
  const [native, tokens] = await Promise.all([
    chain.nativeBalance(pair.address),
    chain.tokenBalance(pair.address),
  ]);
  return { ...pair, native: native.toString(), tokens: tokens.toString() };
}
