/** The EVM in this process: EDR, a native module that is loaded when it is needed. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { LocalChainError } from '../../errors.ts';
import { BLOCK_GAS, GENESIS_TIMESTAMP_S } from '../engine.ts';

/** The newest hardfork hashes an ever longer history in each block. */
const HARDFORK = 'cancun';
/** The first block's parent used no gas, so the first block asks an eighth less: 10^9, as Anvil's does. */
const FIRST_BASE_FEE_WEI = 1_142_857_142n;
const ADDRESS_SIZE = 20;
const HASH_SIZE = 32;
const OWNED_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const OWNED_ADDRESS = 'f39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const OWNED_WEI = 10_000n * 10n ** 18n;

const require = createRequire(import.meta.url);

interface Edr {
  readonly EdrContext: new () => EdrContext;
  readonly ContractDecoder: new () => object;
  readonly MineOrdering: { readonly Fifo: string };
  readonly L1_CHAIN_TYPE: string;
  l1ProviderFactory(): object;
  l1HardforkFromString(name: string): number;
  /** Contracts that a hardfork begins with. */
  l1GenesisState(hardfork: number): readonly object[];
}

interface EdrContext {
  registerProviderFactory(chainType: string, factory: object): Promise<void>;
  createProvider(
    chainType: string,
    config: object,
    logger: object,
    subscriptions: object,
    decoder: object,
  ): Promise<Provider>;
}

export interface Provider {
  handleRequest(request: string): Promise<{ readonly data: unknown }>;
}

export function inProcessVersion(): string {
  const manifest = join(dirname(require.resolve('@nomicfoundation/edr')), 'package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}

/** One per process: it holds the threads of calls. */
let opened: Promise<{ readonly edr: Edr; readonly context: EdrContext }> | undefined;

async function open(): Promise<{ readonly edr: Edr; readonly context: EdrContext }> {
  let edr: Edr;
  try {
    edr = require('@nomicfoundation/edr') as Edr;
  } catch (cause) {
    throw new LocalChainError(
      'ENGINE_MISSING',
      `the chain in the process needs the package @nomicfoundation/edr for ${process.platform} ${process.arch}: it is an optional dependency, which npm leaves out when asked to or when it runs on Node.js below 22; or choose engine anvil`,
      { cause },
    );
  }
  const context = new edr.EdrContext();
  await context.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
  return { edr, context };
}

/** It mines when it is told to. @throws LocalChainError ENGINE_MISSING */
export async function openProvider(chainId: number): Promise<Provider> {
  opened ??= open();
  const { edr, context } = await opened;
  const genesis = edr.l1GenesisState(edr.l1HardforkFromString(HARDFORK));
  const owned = { address: Buffer.from(OWNED_ADDRESS, 'hex'), balance: OWNED_WEI };
  return context.createProvider(
    edr.L1_CHAIN_TYPE,
    {
      allowBlocksWithSameTimestamp: true,
      allowUnlimitedContractSize: false,
      bailOnCallFailure: true,
      bailOnTransactionFailure: false,
      chainId: BigInt(chainId),
      coinbase: new Uint8Array(ADDRESS_SIZE),
      defaultTransactionGasLimit: BLOCK_GAS,
      genesisState: [...genesis, owned],
      hardfork: HARDFORK,
      initialBaseFeePerGas: FIRST_BASE_FEE_WEI,
      initialParentBeaconBlockRoot: new Uint8Array(HASH_SIZE),
      minGasPrice: 0n,
      mining: { autoMine: false, blockGasLimit: BLOCK_GAS, memPool: { order: edr.MineOrdering.Fifo } },
      network: {
        genesisBlockGasLimit: BLOCK_GAS,
        genesisBlockTime: BigInt(GENESIS_TIMESTAMP_S),
        genesisBlobGas: { gasUsed: 0n, excessGas: 0n },
      },
      networkId: BigInt(chainId),
      observability: {},
      ownedAccounts: [OWNED_KEY],
      precompileOverrides: [],
    },
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined },
    { subscriptionCallback: () => undefined },
    new edr.ContractDecoder(),
  );
}
