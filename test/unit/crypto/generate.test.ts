import { expect, test } from 'vitest';
import { outdated } from '../../../node/crypto/generate.ts';

test('every compiled module matches its source', async () => {
  expect(await outdated()).toEqual([]);
});
