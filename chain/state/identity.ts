import { toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { createAccount } from '../account.ts';
import { type DeploymentOptions, deployedCode } from '../deployment/deploy.ts';
import { LocalChainError } from '../errors.ts';

/** Raised when older states can no longer be read. */
const STATE_VERSION = 1;

export type ChainIdentity = Readonly<Record<string, string | number>>;

const DIFFERENCES: Readonly<Record<string, string>> = {
  version: 'the version of the state',
  anvil: 'the version of Anvil',
  'in-process': 'the version of the engine in-process',
  contracts: 'the code of the contracts',
  accounts: 'the accounts (another seed, other nodes or other funds)',
  batches: 'the batches of the start',
  chequebooks: 'the chequebooks of the start',
};
/** Digests mean nothing to people, so messages leave them out. */
const DIGESTS = new Set(['contracts', 'accounts', 'batches', 'chequebooks']);

/** @param engine its version, by name: a state loads only in its engine */
export function identityOf(
  engine: Readonly<Record<string, string>>,
  options: DeploymentOptions & { readonly deployerKey: string },
): ChainIdentity {
  const { chainId, networkId, minimumValidityBlocks, storagePrice, deployerKey } = options;
  return {
    version: STATE_VERSION,
    ...engine,
    contracts: digest(deployedCode()),
    chainId,
    networkId: networkId.toString(),
    minimumValidityBlocks,
    storagePrice,
    deployer: createAccount(deployerKey).address,
    accounts: digest(options.accounts),
    batches: digest(options.batches),
    chequebooks: digest(options.chequebooks),
  };
}

/** @throws LocalChainError `STATE_REFUSED` naming all differences */
export function checkSame(folder: string, saved: ChainIdentity, wanted: ChainIdentity): void {
  const differences = Object.entries(wanted)
    .filter(([key, value]) => saved[key] !== value)
    .map(([key, value]) => {
      const what = DIFFERENCES[key] ?? key;
      return DIGESTS.has(key) ? what : `${what}: ${saved[key] ?? 'nothing'} there, expected ${value}`;
    });
  if (differences.length === 0) return;
  throw new LocalChainError(
    'STATE_REFUSED',
    `the state in ${folder} is that of another chain, which differs in ${differences.join('; ')}: remove the folder, or start the chain with the options of before`,
  );
}

function digest(value: unknown): string {
  const text = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? each.toString() : each,
  );
  return toHex(keccak256(Buffer.from(text)));
}
