/**
 * As in `docs/guides/preset-factory.md`, nothing is started but `svcnet up --preset factory`. The files beside this one share
 * its network on the well-known ports.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { played } from '../package/guides.ts';
import { accessTests } from './access.ts';
import { chequeTests } from './cheques.ts';
import { feedTests } from './feeds.ts';
import { startPreset, stopPreset } from './kit.ts';
import { messageTests } from './messages.ts';
import { moneyTests } from './money.ts';
import { portTests } from './ports.ts';
import { postageTests } from './postage.ts';
import { stampingTests } from './stamping.ts';
import { statusTests } from './status.ts';
import { uploadTests } from './uploads.ts';

beforeAll(startPreset, 130_000);
afterAll(stopPreset);

test('the guide has its readers do what is done here: start the preset, use its ports, and stop it', () => {
  expect(played('guides/preset-factory.md')).toEqual([
    'npx svcnet up --preset factory',
    'npm test',
    'npx svcnet down',
  ]);
});

statusTests();
portTests();
postageTests();
stampingTests();
uploadTests();
feedTests();
messageTests();
accessTests();
chequeTests();
moneyTests();
