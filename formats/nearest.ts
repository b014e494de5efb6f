export function nearest(given: string, known: readonly string[]): string | undefined {
  const allowed = Math.max(2, Math.floor(given.length / 3));
  let best: { word: string; distance: number } | undefined;
  for (const word of known) {
    // The distance is at least the difference in length: a text of any length costs nothing.
    if (Math.abs(word.length - given.length) > allowed) continue;
    const distance = editDistance(given.toLowerCase(), word.toLowerCase());
    if (best === undefined || distance < best.distance) best = { word, distance };
  }
  return best !== undefined && best.distance <= allowed ? best.word : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(substitution, (row[j] as number) + 1, (next[j - 1] as number) + 1);
    }
    row = next;
  }
  return row[b.length] as number;
}
