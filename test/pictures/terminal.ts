const LINE_PX = 18;
const COLUMN_PX = 7.9;
const MARGIN_PX = 16;
const COLUMNS = 112;
const ROW = new RegExp(`.{1,${COLUMNS}}(?= |$)|.{1,${COLUMNS}}`, 'gu');

/** A reader must be able to stop what moves after five seconds: the recording ends before. */
const TYPED_S = 0.9;
const PRINTED_S = 0.06;

export interface Session {
  readonly command: string;
  /** Without colours. */
  readonly printed: string;
}

/** @param moving rows appear one after the other, once, except for readers who want no motion */
export function terminalSvg(sessions: readonly Session[], { moving }: { readonly moving: boolean }): string {
  const lines = sessions.flatMap(({ command, printed }) => [
    `$ ${command}`,
    ...printed
      .trimEnd()
      .split('\n')
      .flatMap((line) => line.match(ROW) ?? ['']),
    '',
  ]);
  const width = Math.ceil(Math.max(...lines.map((line) => line.length)) * COLUMN_PX + 2 * MARGIN_PX);
  const height = lines.length * LINE_PX + 2 * MARGIN_PX - LINE_PX;
  let atS = 0;
  const rows = lines.map((line, i) => {
    const typed = line.startsWith('$ ');
    if (i > 0) atS += typed || lines[i - 1]?.startsWith('$ ') === true ? TYPED_S : PRINTED_S;
    const delay = moving && i > 0 ? ` style="animation-delay:${atS.toFixed(2)}s"` : '';
    const y = MARGIN_PX + (i + 0.75) * LINE_PX;
    return `<text x="${MARGIN_PX}" y="${y}"${typed ? ' class="typed"' : ''}${delay}>${coloured(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(sessions.map(({ command }) => command).join('; '))}</title>
<style>
rect { fill: #f6f8fa }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; white-space: pre }
.typed { font-weight: 600; fill: #0550ae }
.good { fill: #116329 }
.bad { fill: #b3261e; font-weight: 600 }
@media (prefers-color-scheme: dark) { rect { fill: #161b22 } text { fill: #e6edf3 } .typed { fill: #79c0ff } .good { fill: #56d364 } .bad { fill: #ff7b72 } }
${moving ? '@keyframes appear { from { opacity: 0 } }\n@media (prefers-reduced-motion: no-preference) { text { animation: appear 1ms backwards } }\n' : ''}</style>
<rect width="100%" height="100%" rx="8"/>
${rows.join('\n')}
</svg>
`;
}

export function textOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, row = '']) =>
    row
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

function coloured(line: string): string {
  const text = escaped(line);
  if (/^ *✖/.test(text)) return `<tspan class="bad">${text}</tspan>`;
  return text.replace('✔', '<tspan class="good">✔</tspan>');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
