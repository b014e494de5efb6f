import { grouped } from '../../base/format.ts';

export type Unit = 'ms' | 'bytes' | 'MiB/s' | '1/s' | '%' | 'count' | 's';

export const NOTHING = '–';

/** Three significant digits: `41 ms`, `1.27 s`, `9.81 MiB/s`, `12,400`. */
export function quantity(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  switch (unit) {
    case 'ms':
      return duration(value);
    case 's':
      return duration(value * 1000);
    case 'bytes':
      return byteSize(value);
    case 'count':
      return countText(value);
    case '1/s':
      return `${countText(value)}/s`;
    case '%':
      return `${digits(value)} %`;
    case 'MiB/s':
      return `${digits(value)} MiB/s`;
  }
}

export function duration(ms: number): string {
  if (ms < 1000) return `${digits(ms)} ms`;
  if (ms < 60_000) return `${digits(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function byteSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? countText(value) : digits(value)} ${units[unit]}`;
}

function countText(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? grouped(Math.round(value)) : digits(value);
}

export function digits(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return String(Math.round(value));
  const places = size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return String(Number(value.toFixed(places)));
}

/**
 * Since a cluster began, in all outputs: `0:07.250`, `12:30.000`, `1:02:03.004`.
 * @param decimals of the seconds: 3, or fewer where only those are known
 */
export function clock(ms: number, decimals: 0 | 1 | 3 = 3): string {
  const sign = ms < 0 ? '-' : '';
  const unit = 10 ** decimals;
  const units = Math.floor((Math.abs(ms) / 1000) * unit + 1e-6);
  const whole = Math.floor(units / unit);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const fraction = decimals === 0 ? '' : `.${String(units % unit).padStart(decimals, '0')}`;
  return `${sign}${hours > 0 ? `${hours}:${pad(minutes)}` : minutes}:${pad(rest)}${fraction}`;
}

/** `2026-11-22 21:10:02.345 UTC`. @param at ms since the epoch */
export function moment(at: number): string {
  return `${new Date(at).toISOString().slice(0, 23).replace('T', ' ')} UTC`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
