import { HarnessError } from '../base/errors.ts';
import { inUnits, NATIVE_DECIMALS, TOKEN_DECIMALS } from '../base/format.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

export interface FundFlags extends ClusterFlags {
  readonly native: string;
  readonly tokens: string;
}

/** @param who node, or address of 40 hex digits */
export async function fund(who: string, flags: FundFlags, context: CommandContext): Promise<void> {
  const native = baseUnits('--native', flags.native, NATIVE_DECIMALS);
  const tokens = baseUnits('--tokens', flags.tokens, TOKEN_DECIMALS);
  const isAddress = /^(0x)?[0-9a-fA-F]{40}$/.test(who);
  if (!isAddress && /^0x/i.test(who)) {
    throw new HarnessError('USAGE', `account: got '${who}', expected a node or an address of 40 hex digits`);
  }
  await onCluster(flags, context, async (cluster) => {
    const account = `0x${(isAddress ? who : cluster.node(who).ethereum).replace(/^0x/, '')}`;
    await cluster.chain.fund(account, { native, tokens });
    const now = {
      native: await cluster.chain.nativeBalance(account),
      tokens: await cluster.chain.tokenBalance(account),
    };
    const document = {
      name: cluster.name,
      account,
      native: now.native.toString(),
      tokens: now.tokens.toString(),
    };
    answer(context, document, [
      `  account  ${account}`,
      `  native   ${inUnits(now.native, NATIVE_DECIMALS)} coins`,
      `  tokens   ${inUnits(now.tokens, TOKEN_DECIMALS)} tokens`,
    ]);
  });
}

function baseUnits(flag: string, text: string, decimals: number): bigint {
  const match = /^(\d{1,20})(?:\.(\d+))?$/.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length > decimals) {
    throw new HarnessError(
      'USAGE',
      `${flag}: got '${text}', expected a number from 0 with at most ${decimals} decimals, such as 1.5`,
    );
  }
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`);
}
