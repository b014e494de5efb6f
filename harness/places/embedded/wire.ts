import { callRemote, LOOPBACK, type Served, serveCalls } from '../../base/calls.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { whileRunning } from '../../base/machine/processes.ts';
import type { EmbeddedHost } from './host.ts';

const METHODS = [
  'prepare',
  'start',
  'startOf',
  'stop',
  'kill',
  'pause',
  'resume',
  'observe',
  'beginLinkRule',
  'linkEffect',
  'endLinkRule',
  ...(['tapped', 'beginMessages', 'messageEffect', 'endMessages'] as const),
  'saveDisk',
  'wipe',
  'damage',
  'close',
] as const satisfies readonly (keyof EmbeddedHost)[];

export type NodeHost = Pick<EmbeddedHost, (typeof METHODS)[number]>;

export async function serveHost(host: NodeHost, token: string): Promise<Served> {
  const served = await serveCalls(host, METHODS, token);
  served.unref();
  return served;
}

export function remoteHost(
  { pid, port }: { readonly pid: number; readonly port: number },
  token: string,
): NodeHost {
  const unanswered = (cause: unknown) =>
    new HarnessError('PROCESS_FAILED', `the process that holds the cluster's nodes: ${messageOf(cause)}`, {
      cause,
    });
  async function call(method: string, given: readonly unknown[]): Promise<unknown> {
    const url = `http://${LOOPBACK.host}:${port}/${method}`;
    const answer = await whileRunning(pid, (signal) => callRemote(url, given, { token, signal, unanswered }));
    if ('result' in answer) return answer.result;
    throw new HarnessError('PROCESS_FAILED', answer.refused);
  }

  const calls = METHODS.map((method) => [method, (...args: unknown[]) => call(method, args)] as const);
  return Object.fromEntries(calls) as unknown as NodeHost;
}
