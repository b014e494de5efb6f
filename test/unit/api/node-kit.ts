import type { DialectName } from '../../../node/api/dialect.ts';
import { type Knobs, startKit } from './kit.ts';

export const PEER = '07'.repeat(32);

export async function ask(
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  turn: (knobs: Knobs) => void = () => undefined,
  dialect: DialectName = 'svc',
) {
  const { api, knobs } = await startKit({ dialect });
  turn(knobs);
  const answer = await api.main.inject({ method, url });
  return { code: answer.statusCode, body: answer.json() };
}
