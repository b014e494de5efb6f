import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { storeCollection } from '../../../../node/files/collection/collection.ts';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import vectors from '../../../vectors/archives.json' with { type: 'json' };
import { ChunkMap, inParts } from '../chunk-map.ts';
import { randomTree } from './random-trees.ts';
import { archivesOf } from './tree-archives.ts';

/** For uploads to a Bee that name none. */
const LEVEL = 1;

describe('random trees, archived in the shapes of the programs', () => {
  test.each(vectors.cases)('tree $seed has the references that a Bee gives', async ({ seed, references }) => {
    const seen: Record<string, string | undefined> = {};
    for (const [shape, archive] of archivesOf(randomTree(seed))) {
      const entries = tarEntries(inParts(archive, 10_000));
      // Some shapes have no file of some trees.
      const reference = storeCollection(entries, new ChunkMap(), { level: LEVEL }).then(
        toHex,
        ({ code }) => code,
      );
      const result = await reference;
      if (result !== 'NO_FILES') seen[shape] = result;
    }
    expect(seen).toEqual(references);
  });
});
