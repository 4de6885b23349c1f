import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INVARIANTS } from '@runledger/testing/invariants';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

const invariants = (): string[] => {
  const [, section = ''] = read('ARCHITECTURE.md').split(/^## Invariants$/m);
  const [list = ''] = section.split(/^## /m);
  return [...list.matchAll(/^(\d+)\. /gm)].map(([, number = '']) => number);
};

const rows = (): { readonly invariant: string; readonly tests: readonly string[] }[] =>
  [...read('docs/guarantees.md').matchAll(/^- \*\*(\d+)\*\*:.*(?:\n  .*)*/gm)].map(
    ([row, invariant = '']) => ({
      invariant,
      tests: [...row.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link),
    }),
  );

it('every invariant has tests that show it', () => {
  expect(invariants().length).toBeGreaterThan(10);
  expect([...new Set(rows().map(({ invariant }) => invariant))]).toEqual(invariants());
});

// Another test follows all links of all pages.
it('every guarantee is shown by test files', () => {
  for (const row of rows())
    expect(row).toMatchObject({ tests: expect.arrayContaining([expect.stringMatching(/\.test\.ts$/)]) });
});

it('what machines judge has the names and words of the code', () => {
  const page = read('docs/guarantees.md').replaceAll(/\n {2}(?=\S)/g, ' ');
  const named = [...page.matchAll(/^- `([a-z-]+)` \(([0-9, ]+); [a-z ]+\): (.+)$/gm)];
  expect(
    named.map(([, name, numbers = '', words]) => [name, [numbers.split(', ').map(Number), words]]),
  ).toEqual(Object.entries(INVARIANTS));
});
