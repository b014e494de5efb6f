import { CONFINEMENT } from '../../base/machine/confinement.ts';
import type { ContainerCommand, NodePlan, PlannedFile } from '../../flavours/flavour.ts';
import { DATA_FOLDER, USER_ID } from '../../flavours/inside-image.ts';
import type { ContainerSpec, HostConfig } from './engine/documents.ts';
import { labelsOf, networkName, type Owner, partName } from './names.ts';

/** Each probe starts a program: one every two seconds for twenty nodes would load two processors. */
const HEALTH = { Interval: 30e9, Timeout: 10e9, StartPeriod: 60e9, Retries: 3 } as const;
/** They can be read back, whatever the engine's default. */
const LOGS = { Type: 'json-file', Config: { 'max-size': '32m', 'max-file': '2' } } as const;

export const CONFINED = {
  CapDrop: [CONFINEMENT.dropped],
  SecurityOpt: [CONFINEMENT.security],
  ReadonlyRootfs: true,
  Tmpfs: { [CONFINEMENT.temporary.folder]: CONFINEMENT.temporary.options },
  PidsLimit: CONFINEMENT.tasksMax,
} as const satisfies HostConfig;
export const UNPRIVILEGED = `${USER_ID}:${USER_ID}`;

interface PublishedPort {
  readonly inside: number;
  readonly outside: number;
  readonly at?: string | undefined;
}

/** A part as a container. */
export interface PartContainer {
  /** Name of a node, `chain` or `link-proxy`. */
  readonly part: string;
  readonly image?: string | undefined;
  readonly command: ContainerCommand;
  readonly network?: string | undefined;
  readonly ports: readonly PublishedPort[];
  readonly resources?: NodePlan['resources'] | undefined;
  /** Paths are relative to the root of the container's volume, which the image's user owns. */
  readonly files: readonly PlannedFile[];
}

export function containerSpec(
  { part, command, ports, resources, network: own }: Omit<PartContainer, 'image' | 'files'>,
  image: string,
  owner: Owner & { readonly listen: string },
): ContainerSpec & { readonly name: string } {
  const network = own ?? networkName(owner);
  const labels = labelsOf(owner, part);
  const { entrypoint, args, env, health } = command;
  return {
    name: partName(owner, part),
    Image: image,
    Hostname: part,
    User: UNPRIVILEGED,
    Labels: labels,
    Entrypoint: entrypoint,
    Cmd: args,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Healthcheck: health && { Test: ['CMD', ...health], ...HEALTH },
    ExposedPorts: Object.fromEntries(ports.map(({ inside }) => [`${inside}/tcp`, {}])),
    HostConfig: {
      NetworkMode: network,
      PortBindings: Object.fromEntries(
        ports.map(({ inside, outside, at = owner.listen }) => [
          `${inside}/tcp`,
          [{ HostIp: at, HostPort: String(outside) }],
        ]),
      ),
      Mounts: [
        {
          Type: 'volume',
          Source: partName(owner, part),
          Target: DATA_FOLDER,
          VolumeOptions: { NoCopy: false, Labels: labels, DriverConfig: { Name: 'local', Options: {} } },
        },
      ],
      LogConfig: LOGS,
      ...CONFINED,
      ...limitsOf(resources),
    },
    NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [part] } } },
  };
}

/** No swap: the memory limit is final. */
function limitsOf({ cpus, memory }: NonNullable<NodePlan['resources']> = {}): HostConfig {
  return {
    NanoCpus: cpus === undefined ? undefined : Math.round(cpus * 1e9),
    Memory: memory,
    MemorySwap: memory,
  };
}
