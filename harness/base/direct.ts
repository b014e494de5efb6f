/**
 * Requests to parts of a cluster. They use no proxy: with `NODE_USE_ENV_PROXY` the runtime's own clients, `fetch`, the
 * agent of `node:http` and the dispatcher of undici, send even what is for loopback to the proxy of `HTTP_PROXY`.
 */
import { Agent as SocketAgent } from 'node:http';
import { Agent, type Dispatcher, request } from 'undici';

/** For clients of undici. */
export const directDispatcher = new Agent();

/** For clients that take an agent of `node:http`. */
export const directAgent = new SocketAgent();

/** @throws Error of the system when it cannot be reached; the signal's reason when aborted */
export function requestDirectly(
  url: string,
  options: Pick<Dispatcher.RequestOptions, 'body' | 'signal'> & {
    readonly method?: Dispatcher.HttpMethod;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<Dispatcher.ResponseData> {
  return request(url, { ...options, dispatcher: directDispatcher });
}
