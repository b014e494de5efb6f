import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SHIPPED } from '../../../.ci/manifest.ts';
import { anchors, files, headings, prose, read } from './repository.ts';

const all = files();
const pages = all.filter((path) => path.endsWith('.md'));
const folders = new Set(all.flatMap((path) => ancestors(path)));

/** Sources cite them by name and section: `p2p-protocols.md` 4.9. */
const CITED = 'docs/protocol/';
const CITED_PAGES = [
  'contracts',
  'data-formats',
  'http-api-completion',
  'node-behaviour',
  'p2p-protocols',
  'scenarios',
];
const CITATION = new RegExp(
  `\\b([a-z0-9-]+)\\.md\`?,?((?:(?: |, | and | section )\\d+(?:\\.\\d+)?\\b(?![-\\d%]))+)`,
  'g',
);

describe('links', () => {
  test('a link to a page, a heading or a file of the repository leads there', () => {
    const dead = pages.flatMap((page) =>
      linksOf(read(page))
        .filter((target) => !isLive(page, target))
        .map((target) => `${page}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  test('a page of the package links to what the package has', () => {
    const isShipped = (path: string) => SHIPPED.some((each) => path === each || path.startsWith(`${each}/`));
    const dead = pages.filter(isShipped).flatMap((page) =>
      linksOf(read(page))
        .map((target) => target.replace(/#.*$/, ''))
        .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
        .filter((target) => !isShipped(posix.normalize(posix.join(posix.dirname(page), target))))
        .map((target) => `${page}: ${target}`),
    );
    expect(dead).toEqual([]);
    expect(isShipped('README.md')).toBe(true);
  });

  test('a dead file, a dead heading and a dead heading of the same page are found', () => {
    const [page = ''] = pages;
    expect(isLive(page, 'no-such-page.md')).toBe(false);
    expect(isLive('README.md', 'ARCHITECTURE.md#no-such-heading')).toBe(false);
    expect(isLive('README.md', '#no-such-heading')).toBe(false);
    expect(isLive('README.md', 'ARCHITECTURE.md')).toBe(true);
  });

  test('code blocks and inline code have no links', () => {
    expect(linksOf('a [b](c.md) `[d](e.md)`\n```\n[f](g.md)\n```\n')).toEqual(['c.md']);
  });
});

describe('citations', () => {
  test('every page and section cited by a source exists', () => {
    const sections = new Map(
      CITED_PAGES.map((name) => [name, new Set(numbersOf(read(`${CITED}${name}.md`)))]),
    );
    const dead = all
      .filter((path) => /\.(ts|js|sol|md|yml)$/.test(path))
      .flatMap((path) =>
        citationsOf(read(path)).flatMap(({ page, section }) =>
          sections.get(page)?.has(section) === true ? [] : [`${path}: ${page}.md ${section}`],
        ),
      );
    expect(dead).toEqual([]);
  });

  test('citations are read across lines of a comment, with several sections, and each with its own page', () => {
    const text = [
      '/**',
      ' * `p2p-protocols.md` 4.7,',
      ' * `data-formats.md`',
      ' * 9.4, 9.1 and 6; contracts.md 12 and http-api-completion.md section 2. In 3.5 seconds.',
      ' */',
    ].join('\n');
    expect(citationsOf(text).map(({ page, section }) => `${page} ${section}`)).toEqual([
      'p2p-protocols 4.7',
      'data-formats 9.4',
      'data-formats 9.1',
      'data-formats 6',
      'contracts 12',
      'http-api-completion 2',
    ]);
  });
});

describe('the protocol reference', () => {
  test('every source file, test or vector named by a page exists', () => {
    const missing = pages
      .filter((page) => page.startsWith('docs/'))
      .flatMap((page) =>
        [
          ...prose(read(page)).matchAll(
            /`((?:formats|node|chain|harness|scenarios|test|dashboards)\/[\w./*-]+)`/g,
          ),
        ]
          .map(([, name = '']) => name)
          .filter((name) => !exists(name))
          .map((name) => `${page}: ${name}`),
      );
    expect(missing).toEqual([]);
  });

  test('sections are in ascending order, without duplicates', () => {
    for (const name of CITED_PAGES) {
      const numbers = numbersOf(read(`${CITED}${name}.md`));
      expect(numbers, name).toEqual(numbers.toSorted(byNumber));
      expect(new Set(numbers).size, name).toBe(numbers.length);
    }
  });
});

function linksOf(markdown: string): string[] {
  const text = prose(markdown).replace(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

function isLive(page: string, target: string): boolean {
  const [file = '', anchor] = decodeURIComponent(target).split('#');
  const path = file === '' ? page : posix.join(posix.dirname(page), file);
  if (anchor === undefined) return exists(path);
  return all.includes(path) && path.endsWith('.md') && anchors(read(path)).has(anchor);
}

/** @param path of a file or a folder, with `*` for any name */
function exists(path: string): boolean {
  const clean = path.replace(/\/$/, '');
  if (!clean.includes('*')) return all.includes(clean) || folders.has(clean);
  const shape = new RegExp(`^${clean.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`);
  return all.some((file) => shape.test(file));
}

function ancestors(path: string): string[] {
  const folder = posix.dirname(path);
  return folder === '.' ? [] : [folder, ...ancestors(folder)];
}

/** Numbers of a page's sections, in its order. */
function numbersOf(page: string): string[] {
  return headings(page).flatMap((heading) => /^(\d+(?:\.\d+)*)\b/.exec(heading)?.[1] ?? []);
}

function byNumber(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  return (left[0] ?? 0) - (right[0] ?? 0) || (left[1] ?? -1) - (right[1] ?? -1);
}

/** What a text cites by page and section, across the line breaks of comments. */
function citationsOf(text: string): { readonly page: string; readonly section: string }[] {
  const joined = text.replace(/\n\s*(?:\*|\/\/\/?|#)? */g, ' ');
  return [...joined.matchAll(CITATION)].flatMap(([, page = '', list = '']) =>
    [...list.matchAll(/\d+(?:\.\d+)?/g)].map(([section]) => ({ page, section })),
  );
}
