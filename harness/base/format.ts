import { nearest } from '../../formats/nearest.ts';

/** `, did you mean 'x'?`, or nothing. */
export function suggestion(given: string, known: readonly string[]): string {
  const near = nearest(given, known);
  return near === undefined ? '' : `, did you mean '${near}'?`;
}

/** `1 node`, `3 nodes`, `2 batches` */
export function plural(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${/(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`}`;
}

/** `1.25 ms`, `412 ms`, `1.3 s`, `2 min 5 s`. */
export function formatMs(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(2))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${grouped(Math.floor(hours / 24))} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** Groups of three digits, for amounts of any size. */
export function grouped(value: number | bigint | string): string {
  const [whole = '', fraction] = String(value).split('.');
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? text : `${text}.${fraction}`;
}

/** Powers of ten. */
export const NATIVE_DECIMALS = 18;
export const TOKEN_DECIMALS = 16;

/** All decimals and no trailing zeros: 15 with one decimal is `1.5`. */
export function inUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A column: all amounts have as many decimals as the finest one needs. */
export function tokenColumn(amounts: readonly bigint[]): string[] {
  const texts = amounts.map((amount) => inUnits(amount, TOKEN_DECIMALS).split('.'));
  const decimals = Math.max(0, ...texts.map(([, fraction = '']) => fraction.length));
  return texts.map(([whole = '', fraction = '']) =>
    decimals === 0 ? whole : `${whole}.${fraction.padEnd(decimals, '0')}`,
  );
}

/** `5%`, `0.5 %` → share of 1; undefined: neither. */
export function parsePercent(text: string): number | undefined {
  const [, count] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) / 100;
}

/** Share of 1 → `7 %`. */
export function percentText(share: number): string {
  return `${Number((share * 100).toPrecision(12))} %`;
}

const EXCERPT_MAX = { characters: 16_000, lines: 200 } as const;

export function excerpt(text: string): string {
  const begin = text.slice(0, EXCERPT_MAX.characters);
  const shown = begin.split('\n').slice(0, EXCERPT_MAX.lines).join('\n');
  const left = text.length - shown.length;
  return left === 0 ? text : `${shown}\n… and ${grouped(left)} more characters, in report.json`;
}

/** Removes what differs between failures of one cause: nodes, chunks, counts, durations, places. */
export function general(text: string): string {
  return text
    .replaceAll(/\bhttps?:\/\/\S+/g, '<url>')
    .replaceAll(/\/[\w.-]+(?:\/[\w.-]+)+/g, '<path>')
    .replaceAll(/\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b…?/gi, '<hex>')
    .replaceAll(/\b(?:node|bee|light|boot|dishonest)-\d+\b/g, '<node>')
    .replaceAll(/\d+(?:[.,]\d+)*/g, '<number>')
    .trim();
}
