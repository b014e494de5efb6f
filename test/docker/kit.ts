import Docker from 'dockerode';
import { until } from '../../harness/base/wait.ts';

export const docker = new Docker();

/** Containers, networks and volumes that carry the name of a cluster, running or not. */
export async function leftOf(cluster: string): Promise<string[]> {
  const filters = { label: [`svcnet.name=${cluster}`] };
  const [containers, networks, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listNetworks({ filters }),
    docker.listVolumes({ filters }),
  ]);
  return [
    ...containers.map(({ Names }) => `container ${Names[0]}`),
    ...networks.map(({ Name }) => `network ${Name}`),
    ...(volumes ?? []).map(({ Name }) => `volume ${Name}`),
  ];
}

export function eventually(what: string, probe: () => Promise<string | undefined>): Promise<true> {
  return until<true>(
    what,
    async () => {
      const missing = await probe();
      return missing === undefined ? { done: true } : { missing };
    },
    { timeoutMs: 60_000 },
  );
}
