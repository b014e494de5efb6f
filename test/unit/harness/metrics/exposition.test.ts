import { expect, test } from 'vitest';
import { parseExposition, seriesKey } from '../../../../harness/metrics/exposition.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';

test('reads back what a node exposes: kinds, help, labels with quotes and line breaks, and infinity', async () => {
  const metrics = createMetrics({ prefix: 'svc' });
  const live = metrics.register({
    sent: { kind: 'counter', name: 'sent', help: 'Chunks\nsent \\ all.' },
    codes: { kind: 'gauge', name: 'codes', help: 'Codes.', labels: ['code', 'method'] },
    time: { kind: 'histogram', name: 'time', help: 'Time.', buckets: [1] },
  });
  live.sent.inc(3);
  live.codes.set({ code: 'a "b"\n\\', method: 'GET' }, -1.5);
  live.time.observe(2);
  const { families, samples } = parseExposition(await metrics.expose());
  expect(families.get('svc_sent')).toEqual({
    name: 'svc_sent',
    help: 'Chunks\nsent \\ all.',
    kind: 'counter',
  });
  expect(families.get('svc_time')?.kind).toBe('histogram');
  expect(samples).toContainEqual({ name: 'svc_sent', labels: {}, value: 3 });
  expect(samples).toContainEqual({
    name: 'svc_codes',
    labels: { code: 'a "b"\n\\', method: 'GET' },
    value: -1.5,
  });
  expect(samples).toContainEqual({ name: 'svc_time_bucket', labels: { le: '+Inf' }, value: 1 });
});

test('a series has one key, whatever the order of its labels', () => {
  expect(seriesKey({ name: 'up', labels: {} })).toBe('up');
  expect(seriesKey({ name: 'up', labels: { b: '2', a: '1' } })).toBe('up{a="1",b="2"}');
});

test('a page that is not an exposition is refused with its line number', () => {
  expect(() => parseExposition('svc_a 1\n<html>no</html>')).toThrow(
    "line 2: got '<html>no</html>', expected 'name{labels} value'",
  );
  expect(() => parseExposition('svc_a one')).toThrow(SyntaxError);
});

test('the value of a label may hold what other readers take for a line end', () => {
  const labels = { step: 'a\u2028b\u2029c\u0085d\re' };
  const { samples } = parseExposition(`x{step="${labels.step}"} 1\n`);
  expect(samples).toEqual([{ name: 'x', labels, value: 1 }]);
});
