import { expect, test } from 'vitest';
import { publishedManifest } from '../../../.ci/manifest.ts';

const source = { name: 'svcnet', private: true, scripts: {}, exports: { '.': './harness/index.ts' } };
const actions = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'someone/svcnet' };

test('a release names the repository of its workflow', () => {
  expect(publishedManifest(source, actions, { release: true })).toMatchObject({
    repository: { type: 'git', url: 'git+https://github.com/someone/svcnet.git' },
    homepage: 'https://github.com/someone/svcnet#readme',
    bugs: 'https://github.com/someone/svcnet/issues',
  });
});

test.each(Object.keys(actions))('a release without %s is refused', (name) => {
  for (const value of [undefined, '']) {
    expect(() => publishedManifest(source, { ...actions, [name]: value }, { release: true })).toThrow(
      `${name} is not set: a release needs the address of its repository, as in GitHub Actions`,
    );
  }
});

test('a package that is not released may leave its repository out, and never guesses half of it', () => {
  for (const environment of [{}, { GITHUB_SERVER_URL: 'https://github.com' }]) {
    const manifest = publishedManifest(source, environment, { release: false });
    expect(Object.keys(manifest)).not.toContain('repository');
    expect(manifest['exports']).toEqual({
      '.': { types: './harness/index.d.ts', default: './harness/index.js' },
      './package.json': './package.json',
    });
  }
});

test('nothing about the repository itself is published', () => {
  const manifest = publishedManifest(source, actions, { release: true });
  expect(manifest).not.toHaveProperty('private');
  expect(manifest).not.toHaveProperty('scripts');
});
