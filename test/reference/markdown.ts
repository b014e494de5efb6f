/** @returns a page that says where it comes from */
export function page(title: string, origin: string, ...blocks: readonly string[]): string {
  const note = `<!-- Generated from ${origin} by \`npm run reference\`. Do not edit. -->`;
  return `${[`# ${title}`, note, ...blocks].join('\n\n')}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map((row) => line(row.map(cell)))].join('\n');
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/** A bar would end the cell, an angle bracket begin an element. */
function cell(text: string): string {
  return text
    .replaceAll('\n', ' ')
    .replaceAll('|', '\\|')
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;')))
    .join('');
}
