import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const GENERATED = fileURLToPath(new URL('../../dashboards/generated', import.meta.url));

const { SVCNET_PROMETHEUS } = process.env;
/** Beside the program of Prometheus. */
export const PROMTOOL =
  SVCNET_PROMETHEUS === undefined ? 'promtool' : join(dirname(SVCNET_PROMETHEUS), 'promtool');

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

export interface RuleState {
  readonly name: string;
  readonly query: string;
  readonly health: string;
  readonly type: 'recording' | 'alerting';
  readonly state?: string;
  readonly lastError?: string;
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: string;
}

export interface Range {
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
}

export class PrometheusApi {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** With at least one number in the range. @param step seconds */
  async range(query: string, { start, end }: Range, step = 1): Promise<Series[]> {
    const given = { query, start: String(start), end: String(end), step: String(step) };
    const { result } = await this.#get<{ result: Series[] }>('/api/v1/query_range', given);
    return result.filter(({ values = [] }) => values.some(([, value]) => Number.isFinite(Number(value))));
  }

  /** In seconds since the epoch. */
  async instant(query: string, time: number): Promise<Series[]> {
    const { result } = await this.#get<{ result: Series[] }>('/api/v1/query', { query, time: String(time) });
    return result.filter(({ value }) => Number.isFinite(Number(value?.[1])));
  }

  async samples(selector: string, { start, end }: Range): Promise<Series[]> {
    const query = `${selector}[${Math.ceil((end - start) * 1000)}ms]`;
    return (await this.#get<{ result: Series[] }>('/api/v1/query', { query, time: String(end) })).result;
  }

  labelValues(label: string, match?: string): Promise<string[]> {
    return this.#get(`/api/v1/label/${label}/values`, match === undefined ? {} : { 'match[]': match });
  }

  async rules(): Promise<RuleState[]> {
    const { groups } = await this.#get<{ groups: { rules: RuleState[] }[] }>('/api/v1/rules', {});
    return groups.flatMap(({ rules }) => rules);
  }

  async alerts(): Promise<Alert[]> {
    return (await this.#get<{ alerts: Alert[] }>('/api/v1/alerts', {})).alerts;
  }

  async #get<T>(path: string, parameters: Readonly<Record<string, string>>): Promise<T> {
    const query = new URLSearchParams(parameters).toString();
    const answer = await fetch(`${this.#url}${path}?${query}`);
    const document = (await answer.json()) as { status: string; data: T; error?: string };
    if (document.status !== 'success')
      throw new Error(`${document.error}: ${parameters['query'] ?? path} (${answer.status})`);
    return document.data;
  }
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
  readonly regex?: string;
}

export interface GrafanaBoard {
  readonly title: string;
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
}

export function readBoards(): GrafanaBoard[] {
  return readdirSync(GENERATED)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(GENERATED, name), 'utf8')) as GrafanaBoard);
}

export async function choices(
  api: PrometheusApi,
  { name, definition = '', regex = '' }: Variable,
  chosen: Readonly<Record<string, string>>,
): Promise<string[]> {
  const query = substituted(definition, chosen);
  const [, match, label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
  if (match !== undefined) return api.labelValues(label, match);
  const metrics = /^metrics\((.*)\)$/.exec(query)?.[1];
  if (metrics === undefined) throw new Error(`variable ${name} has an unknown query: ${query}`);
  const filter = new RegExp(regex.slice(1, -1));
  const names = (await api.labelValues('__name__')).filter((each) => new RegExp(metrics).test(each));
  return names.map((each) => filter.exec(each)?.[1] ?? '');
}

export function substituted(text: string, chosen: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_whole, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    const value = chosen[name];
    if (value === undefined) throw new Error(`no variable '${name}': ${text}`);
    return value;
  });
}
