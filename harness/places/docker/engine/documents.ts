/**
 * Documents of the Docker Engine API, as far as they are used. Sizes are bytes, durations nanoseconds. Source: the API's
 * reference, version 1.41 and newer.
 */

/** Which engine answers. */
export interface EngineVersion {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly Os: string;
  readonly Arch: string;
}

export type Filters = Readonly<Record<string, readonly string[]>>;

export interface ContainerSpec {
  readonly name?: string;
  readonly Image: string;
  readonly Hostname?: string;
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly Entrypoint?: readonly string[] | undefined;
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly Healthcheck?:
    | {
        readonly Test: readonly string[];
        readonly Interval: number;
        readonly Timeout: number;
        readonly StartPeriod: number;
        readonly Retries: number;
      }
    | undefined;
  /** Such as `1633/tcp`. */
  readonly ExposedPorts?: Readonly<Record<string, Readonly<Record<string, never>>>>;
  readonly NetworkDisabled?: boolean;
  readonly HostConfig?: HostConfig;
  readonly NetworkingConfig?: {
    readonly EndpointsConfig: Readonly<Record<string, { readonly Aliases: readonly string[] }>>;
  };
}

export interface HostConfig {
  readonly NetworkMode?: string;
  readonly AutoRemove?: boolean;
  readonly Binds?: readonly string[];
  readonly PortBindings?: Readonly<Record<string, readonly PortBinding[]>>;
  readonly Mounts?: readonly VolumeMount[];
  readonly CapDrop?: readonly string[];
  readonly SecurityOpt?: readonly string[];
  readonly ReadonlyRootfs?: boolean;
  readonly Tmpfs?: Readonly<Record<string, string>>;
  readonly PidsLimit?: number;
  readonly LogConfig?: { readonly Type: string; readonly Config: Readonly<Record<string, string>> };
  /** Processors, in billionths of one. */
  readonly NanoCpus?: number | undefined;
  readonly Memory?: number | undefined;
  readonly MemorySwap?: number | undefined;
}

export interface PortBinding {
  readonly HostIp: string;
  /** Decimal digits. */
  readonly HostPort: string;
}

interface VolumeMount {
  readonly Type: 'volume';
  readonly Source: string;
  readonly Target: string;
  readonly VolumeOptions: {
    readonly NoCopy: boolean;
    readonly Labels: Readonly<Record<string, string>>;
    readonly DriverConfig: { readonly Name: string; readonly Options: Readonly<Record<string, string>> };
  };
}

export interface ContainerEntry {
  readonly Id: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, object>> };
}

export interface ContainerState {
  readonly Id: string;
  readonly State: {
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Error: string;
    readonly StartedAt: string;
  };
  readonly HostConfig: Pick<HostConfig, 'Memory'>;
  readonly NetworkSettings: {
    readonly Ports: Readonly<Record<string, readonly PortBinding[] | null | undefined>>;
  };
}

export interface LogRange {
  /** Unix time, seconds and nanoseconds: `1700000000.000000001`. */
  readonly since?: string;
  readonly tail?: number;
}

/** Much of it is absent for a container that is not running. */
export interface ContainerStats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: { readonly stats?: { readonly anon?: number; readonly total_rss?: number } };
  readonly networks?: Readonly<Record<string, { readonly rx_bytes: number; readonly tx_bytes: number }>>;
}

export interface ImageEntry {
  readonly Id: string;
  /** Unix time, seconds. */
  readonly Created: number;
}

export interface NetworkEntry {
  readonly Id: string;
  readonly Name: string;
}

export interface VolumeEntry {
  readonly Name: string;
}

export interface Progress {
  readonly stream?: string;
  readonly status?: string;
  readonly error?: string;
}
