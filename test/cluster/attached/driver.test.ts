import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { AttachedDriver } from '../../../harness/places/attached.ts';
import { capabilitiesOf, type Driver } from '../../../harness/places/driver.ts';
import { until } from '../../../harness/scenario.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function endpoint(): Promise<{ url: string; asked: () => number; answer: (status: number) => void }> {
  let status = 200;
  let asked = 0;
  const server: Server = createServer((_request, response) => {
    asked++;
    response.writeHead(status).end(JSON.stringify({ status: 'ok', result: '0x5' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    answer(next) {
      status = next;
    },
  };
}

test('looks at the same time share one question, and the next look waits its turn', async () => {
  const { url, asked } = await endpoint();
  const driver = new AttachedDriver(MACHINE_CLOCK);
  closing.push(() => driver.close());
  const looks = Array.from({ length: 20 }, () => driver.observe({ api: url }));
  expect(new Set((await Promise.all(looks)).map(({ state }) => state))).toEqual(new Set(['running']));
  await driver.observe({ api: url });
  expect(asked()).toBe(1);
});

test('an endpoint that has never answered is silent at once, with the reason', async () => {
  const { url, answer } = await endpoint();
  answer(503);
  const driver = new AttachedDriver(MACHINE_CLOCK);
  closing.push(() => driver.close());
  expect(await driver.observe({ api: url })).toEqual({ state: 'silent', silence: 'GET /health: 503' });
  const nobody = await driver.observe({ rpc: 'http://127.0.0.1:1' });
  expect(nobody).toMatchObject({ state: 'silent' });
  expect(nobody.silence).toContain('ECONNREFUSED');
});

test('parts that run elsewhere are never started, stopped or removed', async () => {
  const { url, asked } = await endpoint();
  const driver: Driver = new AttachedDriver(MACHINE_CLOCK);
  closing.push(() => driver.close());
  const handle = { api: url };
  await expect(driver.stop(handle, 1)).rejects.toMatchObject({ code: 'NODE_STATE' });
  expect(capabilitiesOf(driver)).toEqual(new Set());
  expect(await driver.dispose({ token: 'x', parts: [{ name: 'node-0', handle }] }, 1)).toEqual({
    stopped: [],
    forced: [],
  });
  expect(asked()).toBe(0);
});

test('an endpoint that stops answering is silent after some seconds, not at once, and comes back', async () => {
  const { url, answer } = await endpoint();
  const driver = new AttachedDriver(MACHINE_CLOCK);
  closing.push(() => driver.close());
  const stateBecomes = (wanted: string) =>
    until<true>(
      `the endpoint is not ${wanted}`,
      async () => {
        const { state } = await driver.observe({ api: url });
        return state === wanted ? { done: true } : { missing: state };
      },
      { timeoutMs: 120_000 },
    );
  await stateBecomes('running');
  answer(500);
  expect(await driver.observe({ api: url })).toEqual({ state: 'running' });
  await stateBecomes('silent');
  answer(200);
  await stateBecomes('running');
});
