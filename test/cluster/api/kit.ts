import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../formats/clock.ts';
import { listen } from '../../../node/api/listen.ts';
import { type Api, createApi } from '../../../node/api/server.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import { type Knobs, knobs, simulatedNode } from '../../unit/api/kit.ts';

type ApiOptions = Parameters<typeof createApi>[0];

export interface Running {
  readonly api: Api;
  /** `host:port` of its main listener. */
  readonly address: string;
  readonly port: number;
  readonly services: NodeServices;
  readonly turn: Knobs;
}

const PLAIN: ApiOptions = {
  address: '127.0.0.1:0',
  dataOnly: false,
  dialect: 'svc',
  corsAllowedOrigins: [],
  allowedHosts: [],
  tokens: {},
  idleTimeoutMs: 120_000,
};

/** Not started; nothing stops it. */
export async function newApi(
  options: Partial<ApiOptions>,
  clock: Clock = systemClock(),
): Promise<Omit<Running, 'address' | 'port'>> {
  const turn = knobs();
  const services = { ...(await simulatedNode(turn)), clock };
  return { api: createApi({ ...PLAIN, ...options }, services, listen), services, turn };
}

export async function startApi(options: Partial<ApiOptions>, clock?: Clock): Promise<Running> {
  const made = await newApi(options, clock);
  await made.api.start();
  onTestFinished(() => made.api.stop());
  const address = String(made.api.addresses.main);
  return { ...made, address, port: Number(address.split(':')[1]) };
}

/** A clock whose waits are shorter. */
export function hurried(times: number): Clock {
  const clock = systemClock();
  return {
    ...clock,
    sleep: (ms, signal) => clock.sleep(ms / times, signal),
    timer: (ms, wake) => clock.timer(ms / times, wake),
    deadline: (ms, parent) => clock.deadline(ms / times, parent),
  };
}
