/** k6's lines as operations, by the helper library or its samples. */
import type { ClientErrorClass } from '../../../client/errors.ts';
import { classOfAnswer } from '../../../client/errors.ts';
import { type FailureRecord, type OperationRecord, RECORD_MARK, type TargetNode } from './config.ts';
import { messageIn } from './log.ts';

/** @param line of the console @returns undefined: the script's own */
export function recordOf(line: string): OperationRecord | undefined {
  const text = messageIn(line);
  if (!text.startsWith(RECORD_MARK)) return undefined;
  try {
    return JSON.parse(text.slice(RECORD_MARK.length)) as OperationRecord;
  } catch (error) {
    // The script itself may write such a line.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** k6's error codes of requests without an answer (its documentation, Error codes), as ranges. */
const CLASS_OF_CODE: readonly (readonly [from: number, to: number, ClientErrorClass])[] = [
  [1050, 1050, 'client.timeout'],
  [1100, 1199, 'client.connect'],
  [1210, 1219, 'client.connect'],
  [1200, 1299, 'client.reset'],
  [1500, 1599, 'client.short_body'],
  [1600, 1699, 'client.reset'],
  [1700, 1799, 'client.short_body'],
];

/** Class of the taxonomy (`scenarios.md` 8.4). */
export function classOfFailure({ class: known, status = 0, code = 0, message }: FailureRecord): string {
  if (known !== undefined) return known;
  if (status !== 0) return classOfAnswer(status, message);
  return CLASS_OF_CODE.find(([from, to]) => code >= from && code <= to)?.[2] ?? 'client.reset';
}

interface Sample {
  readonly metric: string;
  readonly type: string;
  readonly data: {
    readonly time: string;
    readonly value: number;
    readonly tags?: Readonly<Record<string, string>>;
  };
}

/**
 * A request of a script without the helper library.
 * @param line of k6's JSON output
 * @returns undefined for all other samples
 */
export function requestOf(
  line: string,
  nodes: readonly TargetNode[],
): Omit<OperationRecord, 'scenarioMs' | 'iteration'> | undefined {
  // Most lines are for other metrics and need not be parsed.
  if (!line.includes('"metric":"http_req_duration"') || !line.includes('"type":"Point"')) return undefined;
  const { data } = JSON.parse(line) as Sample;
  const tags = data.tags ?? {};
  // Others' modules lack our tags: k6 names them by URL.
  const { name = '', method = 'GET' } = tags;
  const node = tags['node'] ?? nodes.find(({ api }) => name.startsWith(api))?.name ?? hostOf(name);
  const operation = tags['endpoint'] ?? `${method} ${pathOf(name)}`;
  const endMs = Date.parse(data.time);
  if (tags['expected_response'] !== 'false')
    return { operation, node, endMs, latencyMs: data.value, bytes: 0 };
  const message = tags['error'] ?? `${operation}: answered with ${tags['status']}`;
  const failure = { status: Number(tags['status'] ?? 0), code: Number(tags['error_code'] ?? 0), message };
  return { operation, node, endMs, failure: failure.status === 0 ? failure : { ...failure, message: '' } };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** The first segment of the path: the rest differs in each request. */
function pathOf(url: string): string {
  if (!URL.canParse(url)) return url;
  return `/${new URL(url).pathname.split('/')[1] ?? ''}`;
}
