import { expect, test, vi } from 'vitest';
import { pageAssets } from '../../../../../harness/inspect/live/assets.ts';

test('the page names commands as they are typed where it was opened', () => {
  vi.stubEnv('npm_lifecycle_event', 'npx');
  const assets = pageAssets({ script: "say('try svcnet kill node-0')", style: '' });
  vi.unstubAllEnvs();
  expect(assets.get('page.js')?.body).toBe("say('try npx svcnet kill node-0')");
});
