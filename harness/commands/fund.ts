/** `svcnet fund WHO`: add native coin and tokens to an account of the local chain. */
import { Cluster } from '../cluster.ts';
import { HarnessError } from '../errors.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

/** Base units of one coin and one token. */
const NATIVE_DECIMALS = 18;
const TOKEN_DECIMALS = 16;

export interface FundFlags extends ClusterFlags {
  readonly native: string;
  readonly tokens: string;
}

/** @param who a node, or an address of 40 hex digits */
export async function fund(who: string, flags: FundFlags, context: CommandContext): Promise<void> {
  const native = baseUnits('--native', flags.native, NATIVE_DECIMALS);
  const tokens = baseUnits('--tokens', flags.tokens, TOKEN_DECIMALS);
  const cluster = Cluster.attach(flags.name, { stateDir: context.stateDir });
  const isAddress = /^(0x)?[0-9a-fA-F]{40}$/.test(who);
  const account = `0x${(isAddress ? who : cluster.node(who).ethereum).replace(/^0x/, '')}`;
  await cluster.chain.fund(account, { native, tokens });
  const balances = {
    native: (await cluster.chain.nativeBalance(account)).toString(),
    tokens: (await cluster.chain.tokenBalance(account)).toString(),
  };
  answer(context, { name: cluster.name, account, ...balances }, [
    `  account  ${account}`,
    `  native   ${inUnits(balances.native, NATIVE_DECIMALS)} coins`,
    `  tokens   ${inUnits(balances.tokens, TOKEN_DECIMALS)} tokens`,
  ]);
  await cluster.detach();
}

/** `1.5` → base units. @throws HarnessError `USAGE` */
function baseUnits(flag: string, text: string, decimals: number): bigint {
  const match = /^(\d{1,20})(?:\.(\d+))?$/.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length > decimals) {
    throw new HarnessError(
      'USAGE',
      `${flag}: got '${text}', expected a number with at most ${decimals} decimals`,
    );
  }
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`);
}

function inUnits(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}
