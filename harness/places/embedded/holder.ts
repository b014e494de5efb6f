/**
 * Holds the embedded nodes of a cluster that outlives its starter: `node harness/places/embedded/holder.ts FOLDER`, token in
 * SVCNET_LABEL. Its first line names its API's port; it ends on SIGTERM and SIGINT, and with the folder.
 */
import { basename } from 'node:path';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { whenRemoved } from '../../base/own-folder.ts';
import { EmbeddedHost } from './host.ts';
import { trimHolder } from './rest.ts';
import { serveHost } from './wire.ts';

const token = process.env['SVCNET_LABEL'];
if (token === undefined || token === '') {
  process.stderr.write('SVCNET_LABEL: got nothing, expected the token of a cluster\n');
  process.exit(2);
}
const folder = process.argv[2] ?? '';
whenRemoved(folder, MACHINE_CLOCK, () => process.exit(1));
const host = new EmbeddedHost(basename(folder), MACHINE_CLOCK);
const served = await serveHost(host, token);
const trimming = trimHolder();
// The server alone would not keep the process alive.
const staying = setInterval(() => undefined, 2 ** 30);

async function end(): Promise<void> {
  clearInterval(staying);
  trimming[Symbol.dispose]();
  await host.close();
  await served.close();
  process.exit(0);
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
process.stdout.write(`${JSON.stringify({ ready: true, port: served.port })}\n`);
