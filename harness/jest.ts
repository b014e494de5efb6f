/// <reference types="node" preserve="true" />
/** Registers and declares the matchers as soon as a test or a file of `setupFilesAfterEnv` imports `svcnet/jest`. */
// @ts-expect-error: as the module below.
import { expect } from '@jest/globals';
import { matchers, type SvcnetMatchers } from './matchers.ts';

// @ts-expect-error: jest brings this module; this repository has no jest, the package's tests do.
declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends SvcnetMatchers {}
}

declare global {
  // For projects that use jest's globals.
  namespace jest {
    interface Matchers<R, T = {}> extends SvcnetMatchers {}
  }
}

(expect as { extend(added: typeof matchers): void }).extend(matchers);
