/**
 * Draws a recording of a terminal as SVG: `script -qec 'stty cols 100; svcnet up …' FILE`, then
 * `node test/reference/terminal.ts COMMAND FILE [COMMAND FILE…] > docs/up.svg`. A display that moves the cursor up is not understood.
 */
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const LINE_PX = 18;
const COLUMN_PX = 7.9;
const MARGIN_PX = 16;
/** Longer lines go on in the next row, as on the terminal that was recorded. */
const COLUMNS = 100;

const ROW = new RegExp(`.{1,${COLUMNS}}`, 'gu');

const args = process.argv.slice(2);
const lines: string[] = [];
for (let i = 0; i + 1 < args.length; i += 2) {
  const recorded = readFileSync(args[i + 1] as string, 'utf8').replace(/^Script (?:started|done).*$/gm, '');
  lines.push(`$ ${args[i]}`, ...settled(recorded).flatMap((line) => line.match(ROW) ?? ['']), '');
}
const columns = Math.max(...lines.map((line) => line.length));
const width = Math.ceil(columns * COLUMN_PX + 2 * MARGIN_PX);
const height = lines.length * LINE_PX + 2 * MARGIN_PX - LINE_PX;
const rows = lines.map((line, i) => {
  const y = MARGIN_PX + (i + 0.75) * LINE_PX;
  const weight = line.startsWith('$ ') ? ' class="typed"' : '';
  return `<text x="${MARGIN_PX}" y="${y}"${weight}>${escaped(line)}</text>`;
});
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(args.filter((_, i) => i % 2 === 0).join('; '))}</title>
<style>
rect { fill: #f6f8fa }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; white-space: pre }
.typed { font-weight: 600; fill: #0550ae }
@media (prefers-color-scheme: dark) { rect { fill: #161b22 } text { fill: #e6edf3 } .typed { fill: #79c0ff } }
</style>
<rect width="100%" height="100%" rx="8"/>
${rows.join('\n')}
</svg>
`);

/** Lines without colours; of what was written over from the start of a line, the last. */
function settled(recorded: string): string[] {
  return recorded
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => stripVTControlCharacters(line.split('\r').at(-1) ?? '').trimEnd())
    .join('\n')
    .trim()
    .split('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
