/** Loads one simulated cluster and prints a line of JSON: `node sustained-uploads-process.ts NODES RADIUS STATE`. */
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { cpuS, took } from './processor-time.ts';

/** Seconds are those of the processor. */
export interface Sustained {
  readonly startS: number;
  readonly restTimes: number;
  readonly loadedTimes: number;
  readonly chunks: number;
  /** From the last upload until the network has taken all chunks. */
  readonly lateMs: number;
}

/** What a start sets off is over by then. */
const SETTLE_MS = 60_000;
const SECOND_MS = 1000;
const SECONDS = 20;
const UPLOADERS = 10;
/** With the one that joins them, ten chunks. */
const LEAVES = 9;
const LEAF_SIZE = 4096;

const [count, radius, stateDir = ''] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await sustain(Number(count), Number(radius)))}\n`);

async function sustain(nodes: number, minimum: number): Promise<Sustained> {
  const before = cpuS();
  const options = { 'minimum-storage-radius': minimum };
  await using net = await Cluster.start({
    nodes: [
      { count: UPLOADERS, options },
      { count: nodes - UPLOADERS, batches: false, options },
    ],
    seed: 7,
    driver: 'simulated',
    stateDir,
  });
  const startS = cpuS() - before;
  await net.clock.sleep(SETTLE_MS);
  const restS = await took(() => net.clock.sleep(SECONDS * SECOND_MS));
  const references: string[] = [];
  const beganAt = net.clock.monotonic();
  const loadedS = await took(() => load(net, references));
  const endedAt = net.clock.monotonic();
  await Promise.all(references.map((reference) => net.synced(reference)));
  return {
    startS,
    restTimes: SECONDS / restS,
    loadedTimes: (endedAt - beganAt) / SECOND_MS / loadedS,
    chunks: references.length * (LEAVES + 1),
    lateMs: net.clock.monotonic() - endedAt,
  };
}

/** Every second each uploader begins an upload, whether the last one has ended or not. */
async function load(net: Cluster, references: string[]): Promise<void> {
  const random = seededRandom('sustained uploads');
  const uploads: Promise<void>[] = [];
  for (let second = 0; second < SECONDS; second++) {
    for (let uploader = 0; uploader < UPLOADERS; uploader++) {
      const data = random.bytes(LEAVES * LEAF_SIZE);
      const upload = net.node(uploader).bytes.upload(data);
      uploads.push(upload.then(({ reference }) => void references.push(reference)));
    }
    await net.clock.sleep(SECOND_MS);
  }
  await Promise.all(uploads);
}
