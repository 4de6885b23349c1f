import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIFETIME_RULES, LIFETIME_SETTINGS, type Lifetime } from '@runledger/contracts/lifetimes';
import { DEFAULT_LOG_SETTINGS } from '@runledger/event-log/provision/log-settings';
import { expect, it } from 'vitest';

/** With each paragraph in one line. */
const textOf = (page: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'operations', page), 'utf8').replaceAll(
    /\n +/g,
    ' ',
  );

const named = (than: readonly Lifetime[]): string => {
  const names = [...new Set(than)].map((name) => LIFETIME_SETTINGS[name]);
  return than.length > names.length ? `${names.join(', and ')}, twice` : names.join(', and ');
};

it('docs/operations/limits.md has each rule of lifetimes, and no other', () => {
  const page = textOf('limits.md');
  const section = page.slice(page.indexOf('## Lifetimes'), page.indexOf('## A full disk'));
  const rules = [...section.matchAll(/^- (.+) \*\*at least\*\* (.+): \*\*otherwise\*\* (.+)\.$/gm)]
    .map((rule) => rule.map((part) => part.replaceAll('`', '')))
    .map(([, longer, than, otherwise]) => ({ longer, than, otherwise }));
  expect(rules).toEqual(
    LIFETIME_RULES.map(({ longer, than, otherwise }) => ({
      longer: LIFETIME_SETTINGS[longer],
      than: named(than),
      otherwise,
    })),
  );
});

it('docs/operations/install.md says what the limits of all streams add up to', () => {
  const limits = Object.entries(DEFAULT_LOG_SETTINGS).filter(([name]) => name.endsWith('MaxBytes'));
  const bytes = limits.reduce((sum, [, limit]) => sum + limit, 0);
  const text = textOf('install.md').replaceAll('\n', ' ');
  expect(text).toContain(`The limits of all streams add up to about ${Math.round(bytes / 1_024 ** 3)} GiB`);
});
