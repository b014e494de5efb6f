/** Wraps an honest platform, so that no part of the node knows of the tampering. */
import type { NodeOptions } from '../../../node/options.ts';
import type { Platform } from '../../../node/platform/platform.ts';
import type { MemoryDisk } from '../../../node/store/memory-store.ts';
import { wrongClock } from './clock.ts';
import { badDisk } from './disk.ts';
import type { Counts, ServeControl, TamperSettings } from './settings.ts';
import { Surroundings } from './surroundings.ts';
import { Tally } from './tally.ts';
import { Unsynced } from './unsynced.ts';

export interface TamperedPlatform extends AsyncDisposable {
  readonly platform: Platform;
  losePower(): Counts;
}

export interface Tampering {
  readonly dataDir: string;
  readonly tampered: TamperSettings;
  readonly options: NodeOptions;
  readonly serve: ServeControl;
  readonly disk?: MemoryDisk | undefined;
}

export async function tamper(
  base: Platform,
  { dataDir, tampered, options, serve, disk }: Tampering,
): Promise<TamperedPlatform> {
  const tally = new Tally(dataDir, base.clock);
  const surroundings = new Surroundings(dataDir, tally);
  const served = await serve(dataDir, {
    reload: () => surroundings.reload(),
    flush: () => tally.flush(),
  });
  // Faults may have changed before it could be told.
  surroundings.reload();
  const clock = wrongClock(base.clock, surroundings);
  let unsynced: Unsynced | undefined;
  const platform: Platform = {
    random: base.random,
    processMetrics: base.processMetrics,
    workers: base.workers,
    logger: (...how) => base.logger(...how),
    keys: (deps) => base.keys(deps),
    readText: (path) => base.readText(path),
    chainEndpoint: (url) => base.chainEndpoint(url),
    spanExporter: (url) => base.spanExporter(url),
    listen: (...how) => base.listen(...how),
    clock,
    store: (how, deps) =>
      base.store(how, {
        ...deps,
        through(backend) {
          unsynced = disk && new Unsynced(disk, { clock: base.clock, isDurable: how.durability === 'disk' });
          return badDisk(unsynced?.watched(backend) ?? backend, { clock: base.clock, surroundings });
        },
      }),
    host: await hostOf(base, tampered, { options, tally }),
  };
  return {
    platform,
    losePower: () => unsynced?.lose(base.random) ?? {},
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      tally[Symbol.dispose]();
    },
  };
}

async function hostOf(
  base: Platform,
  { behaviours }: TamperSettings,
  { options, tally }: { options: NodeOptions; tally: Tally },
): Promise<Platform['host']> {
  if (behaviours.length === 0) return (how, deps) => base.host(how, deps);
  const { dishonestHost } = await import('../dishonest/host.ts');
  return (how, deps) =>
    dishonestHost(how, deps, {
      behaviours,
      newHost: base.host,
      chain: () => base.chainEndpoint(options['swap-endpoint']),
      count: (behaviour, what, by) => tally.count(behaviour, what, by),
    });
}
