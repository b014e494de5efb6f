/** Draws the pictures of the documentation anew: npm run pictures. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { played, RECORDINGS } from './recordings.ts';
import { terminalSvg } from './terminal.ts';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');

for (const recording of RECORDINGS) {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-pictures-'));
  const sessions = await played(recording, folder);
  writeFileSync(join(PICTURES, recording.file), terminalSvg(sessions, recording));
  rmSync(folder, { recursive: true });
}
