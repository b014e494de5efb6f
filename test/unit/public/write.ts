/** `npm run api`: run it after a change on purpose. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REPORT_FILE, readSurface, reportOf } from './entries.ts';
import { NODE_OPTIONS_FILE, nodeOptionsSource } from './node-options.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

writeFileSync(join(ROOT, NODE_OPTIONS_FILE), nodeOptionsSource());
writeFileSync(join(ROOT, REPORT_FILE), reportOf(readSurface()));
