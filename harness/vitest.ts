/// <reference types="node" preserve="true" />
/** Registers and declares the matchers as soon as a test or a setup file imports `svcnet/vitest`. */
import { expect } from 'vitest';
import { matchers, type SvcnetMatchers } from './matchers.ts';

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown>
    extends SvcnetMatchers {}
}

expect.extend(matchers);
