import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CHECKS, violationsIn } from '../../src/checks/all-checks.ts';
import { aSoak } from '../fixtures/a-soak.ts';

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const numbers = (text = ''): number[] => text.split(',').map(Number);

describe('a soak in which every guarantee holds', () => {
  it('has no violations', () => {
    expect(violationsIn(aSoak())).toEqual([]);
  });
});

describe('the checks', () => {
  it('are in the table of the README with their invariants', async () => {
    const rows = [...(await read('README.md')).matchAll(/^\| `([a-z-]+)` +\| ([0-9, ]+) +\|/gm)];
    expect(rows.map(([, name, invariants]) => ({ name, invariants: numbers(invariants) }))).toEqual(
      CHECKS.map(({ name, invariants }) => ({ name, invariants })),
    );
  });

  it('cover every invariant of ARCHITECTURE.md, or the README says what does', async () => {
    const [, invariants = ''] = (await read('../../ARCHITECTURE.md')).split('\n## Invariants\n');
    const all = [...(invariants.split('\n## ')[0] ?? '').matchAll(/^(\d+)\. /gm)].map(([, number]) =>
      Number(number),
    );
    const elsewhere = [...(await read('README.md')).matchAll(/^\| (\d+) +\|/gm)].map(([, number]) =>
      Number(number),
    );
    const covered = new Set([...CHECKS.flatMap(({ invariants: checked }) => checked), ...elsewhere]);
    expect([...covered].toSorted((one, other) => one - other)).toEqual(all);
  });
});
