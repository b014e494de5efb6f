import { expect, test } from 'vitest';
import { secretsOf, shownUrl, withoutSecrets, withShownUrls } from '../../../formats/shown-url.ts';
import { resolveOptions } from '../../../node/option-sources.ts';

test.each([
  ['http://127.0.0.1:8545'],
  ['http://127.0.0.1:8545/'],
  ['https://rpc.example/ext/bc'],
  ['https://rpc.example:8443/v3/'],
  ['https://rpc.example/gnosis/100'],
  [''],
  ['no URL at all'],
])("'%s' has nothing to hide", (url) => {
  expect(shownUrl(url)).toBe(url);
});

const KEY = '0123456789abcdef0123456789abcdef';
test.each([
  ['https://me:hush@rpc.example', 'https://rpc.example/…'],
  ['https://hush@rpc.example/v3', 'https://rpc.example/v3/…'],
  [`https://rpc.example/v3/${KEY}`, 'https://rpc.example/v3/…'],
  [`https://rpc.example/${KEY}/mainnet`, 'https://rpc.example/…'],
  ['https://rpc.example/rpc/gnosis/short', 'https://rpc.example/rpc/gnosis/…'],
  ['https://rpc.example/?key=hush', 'https://rpc.example/…'],
  ['https://rpc.example/rpc#hush', 'https://rpc.example/rpc/…'],
  ['tcp://me@engine.example:2375', 'tcp://engine.example:2375/…'],
  // Mistyped ones.
  ['https://me:hu sh@rpc.example/v3', 'https://rpc.example/v3/…'],
  ['https://me:hush@rpc.exa mple', 'https://…'],
  [`rpc.example/v3/${KEY}`, 'rpc.example/v3/…'],
  ['me:hush@rpc.example:8545', 'rpc.example:8545/…'],
  [`https:///v3/${KEY}`, 'https://v3/…'],
])("'%s' is shown as '%s'", (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});

test('the URLs of a text are shown likewise, and the rest of it stays', () => {
  expect(withShownUrls(`got 'eth:0x12@https://rpc.example/v3/${KEY}', and /ip4/127.0.0.1/tcp/1`)).toBe(
    "got 'eth:0x12@https://rpc.example/v3/…', and /ip4/127.0.0.1/tcp/1",
  );
});

test('what an endpoint repeats of a URL is left out, also of one with broken escapes', () => {
  const secrets = secretsOf(`https://me%:hu%sh@rpc.example/v3/${KEY}?key=a%20b`);
  expect(withoutSecrets(`no project ${KEY} for hu%sh and a b`, secrets)).toBe(
    'no project [redacted] for [redacted] and [redacted]',
  );
});

test("an option's mistake shows no credentials", () => {
  const mistake = () =>
    resolveOptions(['--swap-endpoint', 'ws://me:hush@rpc.example/v3/hush0'], {}, () => ({}));
  expect(mistake).toThrow("--swap-endpoint: got 'ws://rpc.example/v3/…', expected");
});
