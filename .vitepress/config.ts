/** The pages of the repository as a site: `npm run docs` writes it into `.vitepress/dist`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DefaultTheme, defineConfig } from 'vitepress';

const ROOT = join(import.meta.dirname, '..');

/** The table of contents of the README is the sidebar: a row is a group, its links are the pages. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const [, contents = ''] = readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n## Documentation\n');
  const groups = [...contents.matchAll(/^\| ([^|]*) \| (\[.*) \|$/gm)].map(([, text = '', cell = '']) => ({
    text: text.replace(/^./, (letter) => letter.toUpperCase()),
    items: [...cell.matchAll(/\[([^\]]+)\]\(([^)#]+)\.md(#[^)]*)?\)/g)].map(
      ([, title = '', path = '', section = '']) => ({ text: title, link: `/${path}${section}` }),
    ),
  }));
  return [...groups, { text: 'Protocol', items: pagesOf('docs/protocol') }];
}

function pagesOf(folder: string): DefaultTheme.SidebarItem[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => {
      const title = /^# (.*)$/m.exec(readFileSync(join(ROOT, folder, name), 'utf8'))?.[1] ?? name;
      return { text: title, link: `/${folder}/${name.replace('.md', '')}` };
    });
}

export default defineConfig({
  title: 'svcnet',
  description: 'A whole decentralised storage network on one machine',
  // A pattern with `/**` matches the entry itself as well, so pages of the root are named in it.
  srcExclude: ['!(docs|README.md|ARCHITECTURE.md|CONTRIBUTING.md)/**'],
  rewrites: { 'README.md': 'index.md' },
  // Links to sources and folders lead out of the site; the tests of the pages check them.
  ignoreDeadLinks: [/\/(?:LICENSE|README|test|harness|node|chain|scenarios|dashboards)/, /\/index$/],
  cleanUrls: true,
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
