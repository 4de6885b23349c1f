import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');

it('the test files that vitest.config.ts names exist', () => {
  const named = [
    ...readFileSync(join(ROOT, 'vitest.config.ts'), 'utf8').matchAll(/'(\S+\/\w\S*\.test\.ts)'/g),
  ];
  const files = named.map(([, file = '']) => file).filter((file) => !file.includes('*'));
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
