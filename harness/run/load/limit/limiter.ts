/** What prevented more, by measurements of the failed load. */

/** Measurements of one node during one load. */
export interface NodeLoad {
  readonly name: string;
  /** Shares of one core; undefined where nodes share a process. */
  readonly cores: number | undefined;
  /** How often a peer could not be asked because it was owed too much. */
  readonly creditRefusals: number;
  /** Seconds in which a request waited because no peer that could be asked granted credit. */
  readonly creditWaitSeconds: number;
  readonly queueGrowth: number;
  readonly chainErrors: number;
  /** Its reserve takes no more. */
  readonly full: boolean;
}

export interface LoadObservation {
  readonly seconds: number;
  readonly nodes: readonly NodeLoad[];
  /** Processes that hold several nodes, with what these use together, in shares of one core. */
  readonly shared: readonly { readonly nodes: readonly string[]; readonly cores: number }[];
  /** A share of the whole machine, 0 to 1. */
  readonly machineBusy: number;
  readonly cores: number;
  /** Shares of one core; undefined where it cannot be told. */
  readonly k6Cores: number | undefined;
  /** What runs outside cluster and load uses; undefined where nodes do not report what they use. */
  readonly othersCores: number | undefined;
  /** Its answer time at the end of the load; undefined: no answer. */
  readonly chainMs: number | undefined;
}

/** What keeps a rate from being higher. */
export interface Limiter {
  readonly kind: 'generator' | 'others' | 'credit' | 'cpu' | 'queue' | 'store' | 'chain';
  readonly nodes: readonly string[];
  readonly text: string;
}

/** A node is one thread that computes; the rest of a core goes to what helps it. */
const NODE_BUSY_CORES = 0.85;
const MACHINE_BUSY = 0.9;
/** Of all cores, for other programs: it lowers the limit by as much. */
const OTHERS_SHARE = 0.1;
/** More waits for credit per second are not ordinary. */
const REFUSALS_PER_SECOND = 1;
const GROWTH_PER_SECOND = 1;
const CHAIN_SLOW_MS = 1000;

export function limitersOf(observation: LoadObservation): Limiter[] {
  const { seconds, nodes, chainMs } = observation;
  const where = (is: (node: NodeLoad) => boolean) => nodes.filter(is);
  const owing = where(({ creditRefusals }) => creditRefusals / seconds > REFUSALS_PER_SECOND);
  const busy = where(({ cores }) => cores !== undefined && cores >= NODE_BUSY_CORES);
  const queued = where(({ queueGrowth }) => queueGrowth / seconds > GROWTH_PER_SECOND);
  const full = where((node) => node.full);
  const cut = where(({ chainErrors }) => chainErrors > 0);
  const isChainSlow = chainMs === undefined || chainMs >= CHAIN_SLOW_MS;
  const list = (some: readonly NodeLoad[], figure: (node: NodeLoad) => string) =>
    some.map((node) => `${node.name} ${figure(node)}`).join(', ');
  const found: (Limiter | undefined)[] = [
    generatorOf(observation),
    othersOf(observation),
    limiter('store', full, `reserves are full: ${list(full, () => '')}`.replace(/ ,/g, ',').trim()),
    limiter('credit', owing, `peers are owed too much to be asked: ${list(owing, creditOf(seconds))}`),
    limiter('cpu', busy, `processors: ${list(busy, ({ cores = 0 }) => `uses ${cores.toFixed(2)} cores`)}`),
    ...observation.shared
      .filter(({ cores }) => cores >= NODE_BUSY_CORES)
      .map(({ nodes: held, cores }): Limiter => {
        const text = `processors: the process that holds ${held.length} nodes uses ${cores.toFixed(2)} cores, and computes in one thread`;
        return { kind: 'cpu', nodes: held, text };
      }),
    busy.length === 0 && observation.machineBusy >= MACHINE_BUSY
      ? {
          kind: 'cpu',
          nodes: [],
          text: `processors: all ${observation.cores} cores of the machine are ${Math.round(observation.machineBusy * 100)} % busy`,
        }
      : undefined,
    limiter(
      'queue',
      queued,
      `the push queue grows: ${list(queued, ({ queueGrowth }) => `by ${(queueGrowth / seconds).toFixed(1)} chunks a second`)}`,
    ),
    cut.length > 0 || isChainSlow
      ? {
          kind: 'chain',
          nodes: cut.map(({ name }) => name),
          text: `the chain: ${chainMs === undefined ? 'does not answer' : `answers in ${chainMs.toFixed(0)} ms`}, ${cut.reduce((sum, { chainErrors }) => sum + chainErrors, 0)} failed calls`,
        }
      : undefined,
  ];
  return found.filter((one) => one !== undefined);
}

function creditOf(seconds: number): (node: NodeLoad) => string {
  return ({ creditRefusals, creditWaitSeconds }) => {
    const often = `${(creditRefusals / seconds).toFixed(1)} times a second`;
    // A Bee does not count it.
    if (creditWaitSeconds === 0) return often;
    return `${often}, waited ${creditWaitSeconds.toFixed(1)} s of ${seconds.toFixed(0)} s for credit`;
  };
}

function limiter(kind: Limiter['kind'], nodes: readonly NodeLoad[], text: string): Limiter | undefined {
  return nodes.length === 0 ? undefined : { kind, nodes: nodes.map(({ name }) => name), text };
}

/** The machine was exhausted and k6 used more of it than all nodes together, or k6 alone used nearly all of it. */
export function generatorOf({
  k6Cores,
  cores,
  machineBusy,
  nodes,
  shared,
}: LoadObservation): Limiter | undefined {
  if (k6Cores === undefined) return undefined;
  const known = [...nodes, ...shared].flatMap((one) => one.cores ?? []);
  const outweighs = known.length > 0 && k6Cores > known.reduce((sum, one) => sum + one, 0);
  const isMost = k6Cores >= MACHINE_BUSY * cores;
  if (!isMost && !(machineBusy >= MACHINE_BUSY && outweighs)) return undefined;
  const text = `k6 itself: it used ${k6Cores.toFixed(2)} of ${cores} cores, and the machine was ${Math.round(machineBusy * 100)} % busy`;
  return { kind: 'generator', nodes: [], text };
}

export function othersOf({ othersCores, cores, machineBusy }: LoadObservation): Limiter | undefined {
  if (othersCores === undefined || machineBusy < MACHINE_BUSY || othersCores < OTHERS_SHARE * cores)
    return undefined;
  const text = `other programs on this machine: they used ${othersCores.toFixed(2)} of ${cores} cores`;
  return { kind: 'others', nodes: [], text };
}
