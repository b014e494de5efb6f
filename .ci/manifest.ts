/** Of the repository's own package.json. */
const KEPT = [
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'type',
  'engines',
  'dependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'publishConfig',
];

/** Read by people: pages of the package link to each other. */
export const SHIPPED = [
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  'docs',
  'examples',
];

export interface SourceManifest extends Readonly<Record<string, unknown>> {
  readonly exports: Readonly<Record<string, string>>;
}

/**
 * @param source the repository's package.json
 * @param environment GitHub Actions' alone says where the repository is
 * @param release the registry takes no provenance without a repository
 * @throws Error for a release whose repository is not known
 */
export function publishedManifest(
  source: SourceManifest,
  environment: Readonly<Record<string, string | undefined>>,
  { release }: { readonly release: boolean },
): Record<string, unknown> {
  const exports = Object.entries(source.exports).map(([entry, path]) => {
    const built = path.replace(/\.[jt]s$/, '');
    return [entry, { types: `${built}.d.ts`, default: `${built}.js` }] as const;
  });
  const [[, main], ...others] = exports as [(typeof exports)[0], ...typeof exports];
  return {
    ...Object.fromEntries(KEPT.map((key) => [key, source[key]])),
    ...addresses(environment, release),
    // Without './': npm ignores a command that begins with it.
    bin: { svcnet: 'harness/bin.js' },
    // Tools that look for a package's version read its manifest.
    exports: { ...Object.fromEntries(exports), './package.json': './package.json' },
    // CommonJS projects with `moduleResolution: node` read these instead of `exports`.
    main: main.default,
    types: main.types,
    typesVersions: { '*': Object.fromEntries(others.map(([entry, { types }]) => [entry.slice(2), [types]])) },
  };
}

function addresses(
  environment: Readonly<Record<string, string | undefined>>,
  release: boolean,
): Record<string, unknown> {
  const [server, repository] = ['GITHUB_SERVER_URL', 'GITHUB_REPOSITORY'].map((name) => {
    const value = environment[name] ?? '';
    if (value === '' && release) {
      throw new Error(
        `${name} is not set: a release needs the address of its repository, as in GitHub Actions`,
      );
    }
    return value;
  });
  if (server === '' || repository === '') return {};
  const page = `${server}/${repository}`;
  return {
    repository: { type: 'git', url: `git+${page}.git` },
    homepage: `${page}#readme`,
    bugs: `${page}/issues`,
  };
}
