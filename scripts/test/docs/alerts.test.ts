import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const textOf = (path: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', '..', path), 'utf8');

const pairs = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, alert, severity]) => `${alert} ${severity}`).toSorted();

it('docs/operations/alerts.md names every alert with its severity', () => {
  const made = pairs(
    textOf('deploy/prometheus/alerts/runledger.yml'),
    /- alert: (\w+)\n(?:(?!- alert:)[^])*?severity: (\w+)/g,
  );
  expect(made.length).toBeGreaterThan(10);
  expect(pairs(textOf('docs/operations/alerts.md'), /^## (Runledger\w+)\n\n`(\w+)`\. /gm)).toEqual(made);
});
