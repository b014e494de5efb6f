/**
 * Bounds others' text.
 * @returns if shortened, a copy of `max` characters and an ellipsis: a slice keeps the whole
 */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : Buffer.from(`${text.slice(0, max)}…`).toString();
}
