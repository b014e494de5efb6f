/** `npm run reference`: writes `docs/reference`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from './pages.ts';

const folder = join(import.meta.dirname, '../../docs/reference');
mkdirSync(folder, { recursive: true });
for (const [name, text] of await referencePages()) writeFileSync(join(folder, name), text);
