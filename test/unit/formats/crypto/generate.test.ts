import { expect, test } from 'vitest';
import { outdated } from '../../../../formats/crypto/generate.ts';

test('every compiled module matches its source', async () => {
  expect(await outdated()).toEqual([]);
});
