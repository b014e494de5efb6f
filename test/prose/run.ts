/** `npm run prose`: every page and every error text, against the rules of this project. */
import { findings } from './lint.ts';
import { messageTexts, pages } from './texts.ts';

const texts = [...pages(), ...messageTexts()];
const found = (await Promise.all(texts.map(findings))).flat();
for (const line of found) console.log(line);
console.log(`${texts.length} texts, ${found.length} findings`);
if (found.length > 0) process.exitCode = 1;
