import { HarnessError } from '../../base/errors.ts';
import { LISTEN } from '../../flavours/inside-image.ts';
import { engineAddress, remoteEngine } from './engine/engine.ts';

const LOOPBACK = '127.0.0.1';

/** @param listen address on the engine's machine @throws HarnessError when this machine cannot reach it */
export function reachedAt(listen: string): string {
  const remote = remoteEngine();
  if (remote === undefined) return listen === LISTEN ? LOOPBACK : listen;
  if (!listen.startsWith('127.')) return listen === LISTEN ? remote : listen;
  throw new HarnessError(
    'ENGINE_FAILED',
    `${engineAddress()} is another machine: what it publishes at ${listen} cannot be reached from here`,
    { hint: 'Publish it at an address that can be, with listen: 0.0.0.0 in the definition.' },
  );
}

export function urlAt(listen: string, port: number): string {
  return `http://${reachedAt(listen)}:${port}`;
}

/** It controls chain or links: only this machine may reach it. */
export function controlAddress(listen: string): string {
  return remoteEngine() === undefined ? LOOPBACK : listen;
}
