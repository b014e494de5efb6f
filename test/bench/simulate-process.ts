/** Starts one simulated cluster and prints a line of JSON: `node simulate-process.ts NODES STATE`. */
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';
import { cpuS, took } from './processor-time.ts';

/** Seconds are those of the processor. */
export interface Simulated {
  readonly startS: number;
  /** Until usable. */
  readonly virtualMs: number;
  readonly mib: number;
  readonly peers: number;
  readonly gossip: number;
  readonly streams: number;
  readonly restTimes: number;
  /** Until the network has taken it. */
  readonly chunkMs: number;
}

/** What a start sets off is over by then. */
const SETTLE_MS = 60_000;
const REST_MS = 60_000;
const UPLOAD_SIZE = 2 ** 20;
/** 256 leaves, and three that join them. */
const CHUNKS = 259;

const [count, stateDir = ''] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await simulate(Number(count)))}\n`);

async function simulate(nodes: number): Promise<Simulated> {
  const before = cpuS();
  const others = nodes > 1 ? [{ count: nodes - 1, batches: false as const }] : [];
  await using net = await Cluster.start({
    nodes: [{ count: 1 }, ...others],
    seed: 7,
    driver: 'simulated',
    stateDir,
  });
  const startS = cpuS() - before;
  const virtualMs = net.timings.totalMs;
  await net.clock.sleep(SETTLE_MS);
  const restS = await took(() => net.clock.sleep(REST_MS));
  const counted = await countsOf(net);
  const mib = process.memoryUsage().rss / 2 ** 20;
  const data = seededRandom('simulate').bytes(UPLOAD_SIZE);
  const uploadS = await took(async () => {
    const { reference } = await net.node(0).bytes.upload(data);
    await net.synced(reference);
  });
  return {
    startS,
    virtualMs,
    mib,
    ...counted,
    restTimes: REST_MS / 1000 / restS,
    chunkMs: (uploadS * 1000) / CHUNKS,
  };
}

async function countsOf({ nodes }: Cluster): Promise<Pick<Simulated, 'peers' | 'gossip' | 'streams'>> {
  const texts = await Promise.all(nodes.map((node) => node.client.metrics()));
  const samples = texts.flatMap((text) => parseExposition(text).samples);
  const perNode = (name: string) => {
    const found = samples.filter((sample) => sample.name === name);
    if (found.length === 0) throw new Error(`no node has the metric ${name}`);
    return found.reduce((sum, { value }) => sum + value, 0) / nodes.length;
  };
  return {
    peers: perNode('svc_kademlia_currently_connected_peers'),
    gossip: perNode('svc_hive_broadcast_peers_count'),
    streams: perNode('svc_libp2p_created_stream_count'),
  };
}
