/**
 * The image's health check (`node/health.sh`): one HTTP answer, determined anew, so that a hanging network is
 * unhealthy.
 */
import { messageOf } from '../../base/errors.ts';
import { checkPortsFree } from '../../base/machine/ports.ts';
import type { Cluster } from '../../cluster/cluster.ts';

/** Below the nodes' ports; repeated in `node/health.sh`. */
const HEALTH_PORT = 1632;
/** Shorter than a health check may take. */
const CHECK_TIMEOUT_MS = 3000;

export interface Health {
  /** Call when the start is complete. */
  usable(cluster: Cluster): void;
  close(): Promise<void>;
}

/** @throws HarnessError `PORT_IN_USE` */
export async function serveHealth(): Promise<Health> {
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
  server.listen(HEALTH_PORT, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return {
    usable(started) {
      cluster = started;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** @throws when a node or the chain does not answer */
async function checkCluster({ nodes, chain, clock }: Cluster): Promise<void> {
  using limit = clock.deadline(CHECK_TIMEOUT_MS);
  const { signal } = limit;
  await Promise.all([chain.height(signal), ...nodes.map(({ client }) => client.readiness(signal))]);
}
