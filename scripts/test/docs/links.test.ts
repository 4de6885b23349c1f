import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGES = globSync('**/*.md', {
  cwd: ROOT,
  exclude: (name) => name === 'node_modules' || name.startsWith('.'),
});

/** Without code, where brackets have another meaning. */
const textOf = (file: string): string =>
  readFileSync(file, 'utf8')
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, 'code');

/** The anchors of headings, as GitHub makes them. */
const anchorsOf = (file: string): Set<string> => {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ +(.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
};

const brokenIn = (page: string): string[] => {
  const file = join(ROOT, page);
  const links = [...textOf(file).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : join(dirname(file), path);
    if (!existsSync(target) || relative(ROOT, target).startsWith('..')) return true;
    return anchor !== undefined && !(statSync(target).isFile() && anchorsOf(target).has(anchor));
  });
};

describe('a link on a page', () => {
  it.each(PAGES)('leads to a file, and to a heading in it: %s', (page) => {
    expect(brokenIn(page)).toEqual([]);
  });
});

// They are in no registry. Take this out once they are.
it('no page installs a package of ours from a registry', () => {
  const fromRegistry =
    /(?:npm|pnpm|yarn|bun|deno|pip|pip3|uv) (?:install|i|add) (?:npm:)?(?:@runledger\/|runledger\b)/;
  expect(PAGES.filter((page) => fromRegistry.test(readFileSync(join(ROOT, page), 'utf8')))).toEqual([]);
  expect('`npm install @runledger/client`').toMatch(fromRegistry);
  expect('pip install runledger').toMatch(fromRegistry);
});
