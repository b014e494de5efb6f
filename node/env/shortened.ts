/**
 * What is kept of a text whose length others decide.
 * @returns a copy where it is shorter, of `max` characters and an ellipsis: a part of a text keeps all of it in memory
 */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : Buffer.from(`${text.slice(0, max)}…`).toString();
}
