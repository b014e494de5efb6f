import { expect, test } from 'vitest';
import { outdated } from '../../../node/crypto/generate.ts';

test('every compiled module is that of its source', async () => {
  expect(await outdated()).toEqual([]);
});
