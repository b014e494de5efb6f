/** Commands that act on the chain, `stamp`, `mine` and `fund`, on the command line. */
import { Option } from 'commander';
import { bigFlag, type ClusterCommand, durationFlag, type RunCommand, whole } from './values.ts';

const BATCH_DEPTH = { default: 20, min: 17, max: 40 } as const;
/** Blocks per command: mining more takes longer than an RPC call may. */
const MINED_MAX = 10_000;

export function addStamp(about: ClusterCommand, run: RunCommand): void {
  about('stamp', 'buy a postage batch through a node, or for an account, and wait until it is usable')
    .argument('[node]', 'name of the node (default: the first full or light node)')
    .option(
      '--depth <bits>',
      'batch depth: the batch stamps 2^depth chunks',
      whole(BATCH_DEPTH.min, BATCH_DEPTH.max),
      BATCH_DEPTH.default,
    )
    .addOption(
      new Option('--ttl <duration>', 'time to live')
        .argParser(durationFlag)
        .default(durationFlag('24h'), '24h'),
    )
    .option('--amount <units>', 'base units per chunk, instead of --ttl', bigFlag)
    .option('--label <text>', 'label of the batch on its node')
    .option('--owner <account>', 'node or address that will own the batch; the testbed pays')
    .option('--mutable', 'let a full bucket overwrite its oldest stamp')
    .option('--no-wait', 'return when the purchase is mined')
    .addHelpText(
      'after',
      '\nUse --owner when a client stamps its chunks itself, with the key of that account. The batch is then usable\nwhen every running node knows it.',
    )
    .action((node: string | undefined, flags) =>
      run(flags, async (f, c) => (await import('../stamp.ts')).stamp(node, f, c)),
    );
}

export function addMine(about: ClusterCommand, run: RunCommand): void {
  about('mine', 'mine blocks now, regardless of the block time')
    .argument('[blocks]', 'number of blocks', whole(1, MINED_MAX), 1)
    .action((blocks: number, flags) =>
      run(flags, async (f, c) => (await import('../mine.ts')).mine(blocks, f, c)),
    );
}

export function addFund(about: ClusterCommand, run: RunCommand): void {
  about('fund', 'add coins and tokens to an account')
    .argument('<account>', 'name of a node, or an address')
    .option('--native <coins>', 'native coins to add', '1')
    .option('--tokens <tokens>', 'tokens to add', '100')
    .action((who: string, flags) => run(flags, async (f, c) => (await import('../fund.ts')).fund(who, f, c)));
}
