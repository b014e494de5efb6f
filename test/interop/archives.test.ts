/**
 * Archives as programs write them, uploaded to our node in the dialect `swarm` and to a Bee: references are equal, every
 * file can be read. `SVCNET_TREES` says how many random trees; failures name a tree by its seed.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { percentEncode } from '../../node/api/values/percent.ts';
import { tarEntries } from '../../node/files/collection/tar.ts';
import { http } from '../cluster/node/kit.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { collect, inParts } from '../unit/files/chunk-map.ts';
import { randomTree } from '../unit/files/collection/random-trees.ts';
import { archivesOf } from '../unit/files/collection/tree-archives.ts';
import vectors from '../vectors/archives.json' with { type: 'json' };
import { ARCHIVERS, archiveWith, writeTree } from './archivers.ts';
import { OTHERS, of } from './kit.ts';

const TREES = Number(process.env['SVCNET_TREES'] ?? 12);
/** Those before are recorded. */
const FIRST_TREE = 1000;
const TREE_MS = 20_000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let [ours, theirs] = [] as unknown as [ClusterNode, ClusterNode];
  const folder = temporaryFolder('svcnet-trees');
  beforeAll(async () => {
    const nodes = [{ count: 1 }, { ...side.group, count: 1 }];
    net = await Cluster.start({
      flavours: side.flavours,
      nodes,
      dialect: 'swarm',
      batches: { depth: 23 },
      seed: 92,
    });
    [ours, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  const upload = (node: ClusterNode, archive: Uint8Array) =>
    http(node, '/bzz', {
      method: 'POST',
      headers: {
        'swarm-postage-batch-id': node.batch ?? '',
        'content-type': 'application/x-tar',
        'swarm-collection': 'true',
        // The default of our dialect and of Bee 2.8; that of Bee 2.7 is 0.
        'swarm-redundancy-level': '1',
      },
      body: archive,
    });

  /** What is not as it should be, by archive. */
  const differences: string[] = [];

  /** @returns undefined when the archive is refused, or for having no file */
  async function sameReference(archive: Uint8Array, what: string): Promise<string | undefined> {
    const [own, its] = await Promise.all([upload(ours, archive), upload(theirs, archive)]);
    const [seen, expected] = [own, its].map(
      ({ status, json }) => `${status} ${String(json.reference ?? json.message)}`,
    );
    if (seen !== expected)
      differences.push(`${what}: ${seen} ${JSON.stringify(own.json.reasons)}, a Bee ${expected}`);
    return own.json.reference as string | undefined;
  }

  /** From our node and from the Bee. @returns how many */
  async function readable(archive: Uint8Array, reference: string, what: string): Promise<number> {
    const files = new Map<string, Uint8Array>();
    for await (const { path, body } of tarEntries(inParts(archive, 65_536)))
      files.set(path, await collect(body));
    for (const [path, content] of files) {
      const url = `/bzz/${reference}/${path.split('/').map(percentEncode).join('/')}`;
      // A Bee does not find a path with a line feed, and sends other control characters in a header, which no client takes.
      for (const node of /\p{Cc}/u.test(path) ? [ours] : [ours, theirs]) {
        const answer = await fetch(`${node.api}${url}`);
        const seen = Buffer.from(await answer.arrayBuffer());
        if (answer.status !== 200 || !seen.equals(content))
          differences.push(
            `${what}: ${node.flavour} ${answer.status} ${seen.length} of ${content.length} bytes: ${url}`,
          );
      }
    }
    return files.size;
  }

  test.each(vectors.cases)(
    'tree $seed has the recorded references in every shape',
    async ({ seed, references }) => {
      const seen: Record<string, string | undefined> = {};
      for (const [shape, archive] of archivesOf(randomTree(seed)))
        seen[shape] = await sameReference(archive, `tree ${seed} as ${shape}`);
      expect(seen).toEqual(references);
      expect(differences.splice(0)).toEqual([]);
    },
  );

  test(`${TREES} trees have the same reference from every program`, {
    timeout: TREES * TREE_MS,
  }, async () => {
    let [archives, files] = [0, 0];
    for (let seed = FIRST_TREE; seed < FIRST_TREE + TREES; seed++) {
      const root = join(folder, String(seed));
      mkdirSync(root);
      await writeTree(root, randomTree(seed));
      await Promise.all(
        Object.keys(ARCHIVERS).map(async (name) => {
          const what = `tree ${seed} by ${name}`;
          const out = join(folder, `${seed} ${name}.tar`);
          const archive = await archiveWith(name, root, out, seed);
          const reference = await sameReference(archive, what);
          if (reference !== undefined) files += await readable(archive, reference, what);
          archives += 1;
          for (const made of [out, `${out}.git`]) rmSync(made, { recursive: true, force: true });
        }),
      );
      rmSync(root, { recursive: true });
    }
    console.log(`${TREES} trees, ${archives} archives, ${files} files, ${differences.length} differences`);
    expect(differences).toEqual([]);
    expect(archives).toBe(TREES * Object.keys(ARCHIVERS).length);
  });
});
