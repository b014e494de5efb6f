/** Bounds a text of others. @returns if shortened, a copy: a slice would keep the whole text */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : Buffer.from(`${text.slice(0, max)}…`).toString();
}
