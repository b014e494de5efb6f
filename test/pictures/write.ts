/** `npm run pictures`: draws all pictures anew. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser } from '../browser/browser.ts';
import { played, RECORDINGS } from './recordings.ts';
import { SCREEN, SCREENS } from './screens.ts';
import { terminalSvg } from './terminal.ts';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-pictures-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const recording of RECORDINGS)
  await inFolder(async (folder) => {
    const sessions = await played(recording, folder);
    writeFileSync(join(PICTURES, recording.file), terminalSvg(sessions, recording));
  });

const browser = await startBrowser([], SCREEN);
for (const [name, take] of Object.entries(SCREENS))
  await inFolder(async (folder) => {
    const { picture, words } = await take(browser, folder);
    writeFileSync(join(PICTURES, `${name}.webp`), picture);
    writeFileSync(join(PICTURES, `${name}.txt`), words);
  });
await browser.close();
