/**
 * A network in one container, as its main process with the chain as a child. It ends when asked to, or when the network is
 * no longer whole: the container must not seem healthy.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endServer, LOOPBACK, listening } from '../../base/calls.ts';
import { cannotWrite, EXIT, exitCodeOf, HarnessError, messageOf } from '../../base/errors.ts';
import { forTerminal } from '../../base/foreign-text.ts';
import { formatMs } from '../../base/format.ts';
import { checkPortsFree } from '../../base/machine/ports.ts';
import { lineProgress } from '../../base/terminal/progress.ts';
import { Cluster } from '../../cluster/cluster.ts';
import { forgetElsewhere } from '../../cluster/lifecycle/claim.ts';
import { type Incident, incidentText } from '../../cluster/nodes/membership.ts';
import type { ClusterOptions } from '../../cluster/opening.ts';
import { trimHolder } from '../../places/embedded/rest.ts';
import { NETWORK_HELP, networkDefinition } from './network-options.ts';

/** Below the nodes'; repeated in `node/health.sh`. */
const HEALTH_PORT = 1632;
/** A health check may take longer. */
const CHECK_TIMEOUT_MS = 3000;

const FOLDER = '/data';
const LOG_LINES_SHOWN = 15;

type Environment = Readonly<Record<string, string | undefined>>;

export async function network(argv: readonly string[], environment: Environment): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => stopping.abort(new HarnessError('INTERRUPTED', `stopped by ${signal}`)));
  }
  try {
    return await run(argv, environment, stopping.signal);
  } catch (error) {
    // Stopped before it was up.
    if (stopping.signal.aborted) return EXIT.success;
    say(messageOf(error));
    if (error instanceof HarnessError && error.hint !== undefined) say(error.hint);
    return exitCodeOf(error);
  }
}

async function run(argv: readonly string[], environment: Environment, signal: AbortSignal): Promise<number> {
  const definition = await networkDefinition(argv, environment);
  if (definition === undefined) {
    process.stdout.write(NETWORK_HELP);
    return EXIT.success;
  }
  const folder = environment['SVCNET_STATE'] || FOLDER;
  const documentFile = forgotten(folder);
  // No other container uses the folder: what a namespace hides has ended with an earlier start of this one.
  if (definition.input.name !== undefined) forgetElsewhere(folder, definition.input.name);
  const health = await serveHealth();
  const cluster = await startShown({
    ...definition.input,
    source: definition.source,
    stateDir: folder,
    signal,
  });
  using _trimming = trimHolder();
  const document = JSON.stringify(cluster);
  writeFileSync(documentFile, `${document}\n`);
  process.stdout.write(`${document}\n`);
  say(`usable after ${formatMs(cluster.timings.totalMs)}`);
  health.usable(cluster);
  return serve(cluster, health, signal);
}

async function startShown(options: ClusterOptions): Promise<Cluster> {
  const view = lineProgress((text) => process.stderr.write(text));
  try {
    return await Cluster.start({ ...options, onProgress: (progress) => view.update(progress) });
  } finally {
    await view.end();
  }
}

async function serve(cluster: Cluster, health: Health, signal: AbortSignal): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<Incident | undefined>();
  cluster.membership.onIncident((incident) => {
    say(incidentText(incident));
    if (incident.what !== 'was paused' && incident.what !== 'was resumed') resolve(incident);
  });
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  if (signal.aborted) resolve(undefined);
  const incident = await promise;
  if (incident !== undefined) {
    for (const line of await cluster.logOf(incident.part).tail(LOG_LINES_SHOWN)) say(`  ${line}`);
    say('the network is not whole any more: it ends');
  }
  await cluster.stop();
  await health.close();
  return incident === undefined ? EXIT.success : EXIT.checkFailed;
}

function forgotten(folder: string): string {
  const path = join(folder, 'network.json');
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw cannotWrite(folder, error);
  }
  return path;
}

function say(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

interface Health {
  usable(cluster: Cluster): void;
  close(): Promise<void>;
}

/**
 * For `node/health.sh`: each answer is determined anew, so that a hanging network is unhealthy.
 * @throws HarnessError `PORT_IN_USE`
 */
async function serveHealth(): Promise<Health> {
  let cluster: Cluster | undefined;

  async function problem(): Promise<string | undefined> {
    if (cluster === undefined) return 'the network is starting';
    try {
      await checkCluster(cluster);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  const server = process.getBuiltinModule('node:http').createServer((_request, response) => {
    void problem().then((text) =>
      response.writeHead(text === undefined ? 200 : 503).end(`${text ?? 'healthy'}\n`),
    );
  });
  await checkPortsFree([{ port: HEALTH_PORT, by: 'the health check' }]);
  await listening(server, { ...LOOPBACK, port: HEALTH_PORT });
  return {
    usable(started) {
      cluster = started;
    },
    close: () => endServer(server),
  };
}

async function checkCluster({ nodes, chain, clock }: Cluster): Promise<void> {
  using limit = clock.deadline(CHECK_TIMEOUT_MS);
  const { signal } = limit;
  await Promise.all([chain.height(signal), ...nodes.map(({ client }) => client.readiness(signal))]);
}
