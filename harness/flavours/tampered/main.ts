/**
 * A tampered node in a process: `node harness/flavours/tampered/main.ts start --config FILE`, or `compile`, which fills the
 * compile cache. Exit codes: 0 stopped, 1 failed.
 */
import { readFileSync } from 'node:fs';
import { startNode } from '../../../node/compose.ts';
import { resolveOptions } from '../../../node/option-sources.ts';
import { machinePlatform } from '../../../node/platform/machine.ts';
import { messageOf } from '../../base/errors.ts';
import { whenRemoved } from '../../base/own-folder.ts';
import { serveControl } from './serve.ts';
import { tamperedOf } from './settings.ts';
import { tamper } from './tamper.ts';

const STOP_LIMIT_MS = 10_000;

async function main(argv: readonly string[]): Promise<void> {
  if (argv[0] === 'compile') return;
  const options = resolveOptions(
    argv.slice(1),
    {},
    (path) => JSON.parse(readFileSync(path, 'utf8')) as unknown,
  );
  const dataDir = options['data-dir'];
  const tampered = tamperedOf(dataDir);
  if (tampered === undefined) throw new Error(`nobody has tampered with the node of ${dataDir}`);
  const { signal } = stopRequests();
  const machine = machinePlatform({ dataDir, password: options.password });
  await using made = await tamper(machine, { dataDir, tampered, options, serve: serveControl });
  const node = await startNode(options, made.platform, signal);
  whenRemoved(dataDir, machine.clock, () => process.exit(1));
  const failure = await node.stopped(signal);
  await node.stop();
  if (failure !== undefined) throw failure;
}

function stopRequests(): AbortController {
  const stopping = new AbortController();
  const stop = (why: string) => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort(new Error(why));
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(`stopped by ${signal}`));
  if (process.env['SVC_STOP_WITH_PARENT'] === '1') {
    process.stdin.on('end', () => stop('parent is gone')).on('error', () => stop('parent is gone'));
    process.stdin.resume();
  }
  return stopping;
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`svc: ${messageOf(error)}\n`);
    process.exit(1);
  },
);
