export const DRIVER_NAMES = ['process', 'embedded', 'docker', 'simulated'] as const;
/** A driver that a definition can choose. */
export type StartingDriver = (typeof DRIVER_NAMES)[number];
export const DRIVER_DEFAULT: StartingDriver = 'process';
/** `attached`: svcnet did not start the nodes. */
export type DriverName = StartingDriver | 'attached';

interface DriverFacts {
  /** Whether svcnet starts, stops and removes the nodes. */
  readonly owned: boolean;
  /** Nodes are this machine's programs with files in the cluster's folder. */
  readonly local: boolean;
  readonly images: boolean;
  /** Our nodes share a process and can keep data in memory. */
  readonly shared: boolean;
  /** Nodes and chain live in virtual time in their starter's process. */
  readonly simulated: boolean;
  readonly tappable: boolean;
}

export const DRIVER_FACTS: Readonly<Record<DriverName, DriverFacts>> = {
  process: { owned: true, local: true, images: false, shared: false, simulated: false, tappable: true },
  embedded: { owned: true, local: true, images: false, shared: true, simulated: false, tappable: true },
  docker: { owned: true, local: false, images: true, shared: false, simulated: false, tappable: false },
  simulated: { owned: true, local: false, images: false, shared: true, simulated: true, tappable: true },
  attached: { owned: false, local: false, images: false, shared: false, simulated: false, tappable: false },
};

export const LOCAL_DRIVERS = DRIVER_NAMES.filter((name) => DRIVER_FACTS[name].local);
