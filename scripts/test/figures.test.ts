import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { figuresOf } from '../figures.ts';

const SCRIPT = join(import.meta.dirname, '..', 'figures.ts');
const TEXTS: Readonly<Record<string, string>> = {
  'packages/a/src/main.ts':
    'import { type LogOptions } from "./logs.ts";\nexport interface RunOptions {\n  readonly a: Pick<B, "b">;\n}\n',
  'packages/a/src/one/one.ts': 'export const one = 1;\n',
  'packages/a/src/generated/types.ts': 'export type Parts = Omit<A, "a">;\n',
  'packages/a/test/one.test.ts': 'interface TestOptions {}\n',
};

describe('the figures', () => {
  it('count what people wrote in the source folders', () => {
    const repository = { files: Object.keys(TEXTS), read: (file: string) => TEXTS[file] ?? '' };
    expect(figuresOf(repository, (file) => file.includes('/generated/'))).toEqual([
      {
        workspace: 'packages/a',
        files: 2,
        folders: 2,
        foldersWithOneFile: 2,
        lines: 5,
        linesWithPick: 1,
        optionTypes: 1,
      },
    ]);
  });

  it('are printed for this repository, whose generated code is left out', () => {
    const printed = execFileSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
    const client = /^packages\/client +\d+ +\d+ +\d+ +(\d+)/m.exec(printed);
    expect(Number(client?.[1])).toBeLessThan(5_000);
    expect(printed).toMatch(/^all +\d{3,}/m);
    expect(printed).toMatch(/^Wiring of the gateway \(.+\): \d+ lines\.$/m);
    expect(printed).toMatch(/^Files that docs\/walk\.md names: \d+\.$/m);
  });
});
