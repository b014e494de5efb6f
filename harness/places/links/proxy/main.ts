/**
 * The link proxy's process: `node harness/places/links/proxy/main.ts OPTIONS.json`, token in SVCNET_LABEL. Once it listens
 * it prints a JSON line with its control port. It ends on SIGTERM and, with SVC_STOP_WITH_PARENT, at the end of standard
 * input. Exit codes: 0 stopped, 1 could not listen.
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SharedResults } from '../../../../formats/shared-results.ts';
import { replaceJson } from '../../../base/json-file.ts';
import { MACHINE_CLOCK } from '../../../base/machine/clock.ts';
import { whenRemoved } from '../../../base/own-folder.ts';
import { LinkProxy, type ProxyLine, type ProxyOptions, refusalOf } from './proxy.ts';
import { serveLinks } from './remote.ts';

const [, , file = ''] = process.argv;
const token = process.env['SVCNET_LABEL'] ?? '';
process.once('SIGTERM', () => process.exit(0));
// Ctrl-C is for the process that started this one.
process.on('SIGINT', () => undefined);
if (process.env['SVC_STOP_WITH_PARENT'] === '1') process.stdin.once('close', () => process.exit(0)).resume();

function print(line: ProxyLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const options = JSON.parse(readFileSync(file, 'utf8')) as ProxyOptions;
// The tap verifies every delivery, and a chunk passes here about four times.
const verified = new SharedResults();
SharedResults.findBy(() => verified);
const proxy = new LinkProxy(options, (routes) => replaceJson(file, { ...options, routes }));
try {
  whenRemoved(dirname(file), MACHINE_CLOCK, () => process.exit(1));
  await proxy.start();
  const { port } = await serveLinks(proxy, token, options.control);
  print({ ready: true, control: port });
} catch (error) {
  print({ ready: false, ...refusalOf(error) });
  process.exit(1);
}
