/**
 * Bounds a text whose length others control.
 * @returns if shortened, a copy of `max` characters and an ellipsis: a slice would keep the whole text in memory
 */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : Buffer.from(`${text.slice(0, max)}…`).toString();
}
