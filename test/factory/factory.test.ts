/**
 * Nothing is started but `svcnet up --preset factory`. The files beside this one share its network on the well-known ports.
 */
import { afterAll, beforeAll } from 'vitest';
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
