import { HarnessError } from '../base/errors.ts';
import { CLEAR_LINE } from '../base/foreign-text.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { pageAssets } from '../inspect/live/assets.ts';
import { servePage } from '../inspect/live/page-server.ts';
import { RunView } from '../inspect/live/run-view.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { RunWatcher } from '../run/run-options.ts';
import { clock } from '../web/base/format.ts';
import { pageBundle } from '../web/pages/bundle.ts';
import type { CommandContext } from './context.ts';

interface RunPage extends AsyncDisposable {
  readonly watcher: RunWatcher;
}

/** @throws HarnessError `USAGE` in machine time */
export function expectSimulated(driver: DriverName): void {
  if (DRIVER_FACTS[driver].simulated) return;
  throw new HarnessError(
    'USAGE',
    `--ui: got driver ${driver}, expected driver simulated, whose nodes only the run itself reaches`,
    {
      hint: 'The page of any other cluster: svcnet ui',
    },
  );
}

export async function openRunPage(
  report: string,
  { signal, out, note, json, style }: CommandContext,
): Promise<RunPage> {
  const page = await servePage(
    { port: 0 },
    {
      clock: MACHINE_CLOCK,
      assets: pageAssets(await pageBundle('live')),
      watcher: (told) =>
        new RunView({
          ...told,
          clock: MACHINE_CLOCK,
          report,
          signal,
          onPaused(atMs, isSeen) {
            const where = isSeen ? 'on the page' : `on its page, which is closed: ${page.url}`;
            note(
              `${style.live ? CLEAR_LINE : ''}  paused at ${clock(atMs)}; continue ${where}, or end the run with Ctrl-C\n`,
            );
          },
        }),
    },
  );
  (json ? note : out)(`\n  page         ${page.url}\n`);
  return { watcher: page.watcher, [Symbol.asyncDispose]: () => page.close() };
}
