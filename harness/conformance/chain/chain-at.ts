import { createAccount } from '../../../chain/account.ts';
import { DEPLOYER_KEY } from '../../../chain/deployer-key.ts';
import type { Clock } from '../../../formats/clock.ts';
import { shownUrl } from '../../../formats/shown-url.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { readFileLimited } from '../../base/read-limited.ts';
import { Chain } from '../../chain/chain.ts';
import { CONTRACT_NAMES, type Contracts } from '../../chain/contracts.ts';

/** Bytes; a file has seven addresses. */
const CONTRACTS_MAX = 65_536;
const FIRST_BLOCK = 1;

/**
 * @param file JSON: names and addresses; default: where svcnet deploys
 * @throws HarnessError `USAGE`, `CHAIN_FAILED` when nothing answers
 */
export async function chainAt(rpc: string, file: string | undefined, clock: Clock): Promise<Chain> {
  const contracts = file === undefined ? usualContracts() : readContracts(file);
  const record = {
    rpc,
    networkId: 0,
    contracts,
    startBlock: FIRST_BLOCK,
    blockTimeMs: 0,
    steady: true,
    foreign: true,
  };
  const asking = new Chain({ ...record, chainId: 0 }, clock);
  try {
    return new Chain({ ...record, chainId: Number(await asking.call<string>('eth_chainId')) }, clock);
  } catch (error) {
    throw new HarnessError(
      'CHAIN_FAILED',
      `the chain at ${shownUrl(rpc)} does not answer: ${messageOf(error)}`,
      {
        cause: error,
        hint: 'Start the chain, or name its JSON-RPC endpoint with --rpc.',
      },
    );
  } finally {
    await asking.close();
  }
}

/** The public development account's first seven transactions. */
function usualContracts(): Partial<Contracts> {
  const deployer = createAccount(DEPLOYER_KEY);
  return Object.fromEntries(CONTRACT_NAMES.map((name, nonce) => [name, deployer.contractAt(nonce)]));
}

function readContracts(file: string): Partial<Contracts> {
  const found = parsed(file);
  const entries = Object.entries(found);
  for (const [name, address] of entries) {
    if (!(CONTRACT_NAMES as readonly string[]).includes(name)) {
      throw new HarnessError('USAGE', `${file}: got '${name}', expected ${CONTRACT_NAMES.join(', ')}`);
    }
    if (typeof address !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(address)) {
      throw new HarnessError('USAGE', `${file}: ${name}: expected 0x and 40 hex digits`);
    }
  }
  return found;
}

function parsed(file: string): Partial<Contracts> {
  try {
    const value: unknown = JSON.parse(readFileLimited(file, CONTRACTS_MAX));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw new HarnessError('USAGE', `--contracts: ${messageOf(cause)}`, { cause });
  }
  throw new HarnessError('USAGE', `${file}: expected an object of names and addresses`);
}
