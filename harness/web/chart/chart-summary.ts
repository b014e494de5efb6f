import { quantity } from '../base/format.ts';
import type { TimeChartData } from './chart-data.ts';

export function chartSummary({ series, unit }: TimeChartData): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${label}: no values`;
    const [min, max] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    return `${label}: ${quantity(min, unit)} to ${quantity(max, unit)}`;
  });
  return `${parts.join('; ')}.`;
}
