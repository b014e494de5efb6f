/**
 * Five Bees get another version, one after the other, while all of them take uploads; then one gets the old one again. The
 * first program is the one they get; the last is the one they begin with.
 */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ClientError } from '../../harness/client/errors.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { bytesOf, sameBytes } from '../cluster/node/kit.ts';
import { svcnetHere } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { BEES, eventually } from './kit.ts';

/** Some three chunks. */
const SIZE = 10_000;
const NODES = 5;
/** Between files of a node. */
const PAUSE_MS = 1000;
/** What an upgrade of five may take. */
const ROLLING_MS = 180_000;
const TEST_MS = 900_000;
const READ_MS = 30_000;

interface Kept {
  readonly by: number;
  readonly reference: string;
  readonly data: Uint8Array;
}

const stateDir = temporaryFolder('svcnet-interop-upgrade');
const after = BEES[0]?.binary ?? '';
const before = BEES.at(-1)?.binary ?? '';
const kept: Kept[] = [];
let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({
    name: 'bees',
    nodes: [{ flavour: 'bee', binary: before, count: NODES }],
    seed: 361,
    stateDir,
  });
});
afterAll(() => net.stop());

test(
  'every node has the other program within three minutes, and whatever was acknowledged is readable',
  async () => {
    await using load = new Load(net);
    await load.more();
    const startedAt = performance.now();
    await upgrade('--rolling', after);
    const tookMs = performance.now() - startedAt;
    expect(await versions()).toEqual(net.nodes.map(() => versionOf(after)));
    await load.more();
    const refused = await load.end();
    console.log(
      `upgraded in ${Math.round(tookMs)} ms; ${kept.length} files kept, ${refused} uploads refused`,
    );
    expect(tookMs).toBeLessThan(ROLLING_MS);
    await readAll();
  },
  TEST_MS,
);

test(
  'one that goes back opens its data, and has its peers again with the program of the others',
  async () => {
    const others = net.nodes.map(() => versionOf(after));
    await upgrade('node-2', before);
    expect(await versions()).toEqual(others.with(2, versionOf(before)));
    await upgrade('node-2', after);
    expect(await versions()).toEqual(others);
    await readAll();
  },
  TEST_MS,
);

/** @param which a node, or how all are chosen */
async function upgrade(which: string, binary: string): Promise<void> {
  const args = ['upgrade', which, '--binary', binary, '--name', 'bees'];
  const { code, stdout, stderr } = await svcnetHere(args, { stateDir });
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
  await net.meshed();
}

/** `2.8.1-dev`, as the program prints it. */
function versionOf(binary: string): string {
  return execFileSync(binary, ['version'], { encoding: 'utf8' }).trim();
}

/** What each node says that it is. */
function versions(): Promise<string[]> {
  return Promise.all(net.nodes.map(async ({ client }) => (await client.health()).version));
}

async function readAll(): Promise<void> {
  for (const { by, reference, data } of kept) {
    const reader = net.node((by + 1) % NODES);
    const seen = await eventually(
      `${reader.name} does not read ${reference} of node-${by}`,
      () => read(reader, reference),
      (answer) => answer instanceof Uint8Array,
    );
    expect(sameBytes(seen as Uint8Array, data)).toBe(true);
  }
}

async function read(node: Cluster['nodes'][number], reference: string): Promise<Uint8Array | ClientError> {
  try {
    return await node.bytes.download(reference, { cache: false, timeoutMs: READ_MS });
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
}

/** Every node is given one file after another; while it is stopped or has no peers, it may refuse them. */
class Load implements AsyncDisposable {
  readonly #loops: Promise<void>[];
  #refused = 0;
  #ended = false;

  constructor({ nodes }: Cluster) {
    this.#loops = nodes.map((_, index) => this.#loop(index));
  }

  /** Until each node has acknowledged one more. */
  async more(): Promise<void> {
    const counts = () => net.nodes.map((_, index) => kept.filter(({ by }) => by === index).length);
    const had = counts();
    await eventually(
      'no more files are acknowledged',
      async () => counts(),
      (have) => have.every((count, index) => count > (had[index] ?? 0)),
    );
  }

  /** @returns how many uploads were refused */
  async end(): Promise<number> {
    await this[Symbol.asyncDispose]();
    return this.#refused;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#loops);
  }

  async #loop(by: number): Promise<void> {
    for (let turn = 0; !this.#ended; turn++) {
      const data = bytesOf(`load ${by} ${turn}`, SIZE);
      try {
        const { reference } = await net.node(by).bytes.upload(data, { redundancyLevel: 0 });
        kept.push({ by, reference, data });
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        this.#refused++;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
