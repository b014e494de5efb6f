import { spawn } from 'node:child_process';
import { HarnessError } from '../errors.ts';

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };

/**
 * Returns once the browser was started.
 * @param page path or URL
 * @param shown what people open themselves, if different
 * @throws HarnessError `USAGE` when nothing can open it
 */
export async function openInBrowser(page: string, shown = page): Promise<void> {
  const program = process.env['BROWSER'] ?? OPENERS[process.platform] ?? 'xdg-open';
  const opener = spawn(program, [page], { detached: true, stdio: 'ignore' });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  opener.once('spawn', resolve);
  opener.once('error', (cause) =>
    reject(
      new HarnessError('USAGE', `--open: cannot start '${program}'`, {
        cause,
        hint: `Open it yourself: ${shown}\nAnother program can be named with BROWSER.`,
      }),
    ),
  );
  await promise;
  opener.unref();
}
