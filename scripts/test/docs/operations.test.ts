import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIFETIME_RULES, LIFETIME_SETTINGS, type Lifetime } from '@runledger/contracts/lifetimes';
import { DEFAULT_LOG_SETTINGS } from '@runledger/event-log/provision/log-settings';
import { expect, it } from 'vitest';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md'), 'utf8');

const named = (than: readonly Lifetime[]): string => {
  const names = [...new Set(than)].map((name) => LIFETIME_SETTINGS[name]);
  return than.length > names.length ? `${names.join(', and ')}, twice` : names.join(', and ');
};

it('docs/operations.md has each rule of lifetimes, and no other', () => {
  const section = page.slice(page.indexOf('### Lifetimes'), page.indexOf('### A full disk'));
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, longer, than, otherwise]) => ({ longer, than, otherwise }));
  expect(rows).toEqual(
    LIFETIME_RULES.map(({ longer, than, otherwise }) => ({
      longer: LIFETIME_SETTINGS[longer],
      than: named(than),
      otherwise,
    })),
  );
});

it('docs/operations.md says what the limits of all streams add up to', () => {
  const limits = Object.entries(DEFAULT_LOG_SETTINGS).filter(([name]) => name.endsWith('MaxBytes'));
  const bytes = limits.reduce((sum, [, limit]) => sum + limit, 0);
  expect(page).toContain(`The limits of all streams add up to about ${Math.round(bytes / 1_024 ** 3)} GiB`);
});
