import { describe, expect, it } from 'vitest';
import { conflictMarks } from '../../checks/conflict-marks.ts';

/** Made here, because this file is checked too. */
const OURS = '<'.repeat(7);
const BASE = '|'.repeat(7);
const BETWEEN = '='.repeat(7);
const THEIRS = '>'.repeat(7);
const THEIRS_AS_QUOTATION = Array.from(THEIRS).join(' ');

const foundIn = (text: string): string[] => conflictMarks({ files: ['docs/a.md'], read: () => text });

describe('an unresolved merge', () => {
  it.each([
    ['our version', `${OURS} HEAD`],
    ['the version before both', `${BASE} 5cc60d1b`],
    ['the line between the versions', BETWEEN],
    ['the line between the versions, with the line end of Windows', `${BETWEEN}\r`],
    ['their version', `${THEIRS} 5cc60d1b (docs: say permanently)`],
    ['our version in a list', `  ${OURS} HEAD`],
    ['our version in a table', `| ${OURS} HEAD  |`],
    ['the line between the versions in a list', `  \\${BETWEEN}`],
    ['the line between the versions in a table', `| ${BETWEEN}       |       |`],
    ['their version as quotations', `${THEIRS_AS_QUOTATION} 5cc60d1b (docs: say permanently)`],
    ['their version as quotations in a list', `  ${THEIRS_AS_QUOTATION} main`],
  ])('is found by the mark of %s', (_, mark) => {
    expect(foundIn(`# Title\n\n${mark}\ntext\n`)).toEqual([
      'docs/a.md:3 is a mark of a merge conflict. Keep what both sides meant, then delete the marks.',
    ]);
  });
});

describe('a file without marks', () => {
  it.each([
    ['shifts of bits', 'const bit = 1 << 7;\nconst sign = 1 >>> 31;'],
    ['a rule of another length', '='.repeat(40)],
    ['a table with empty cells', '|     |     |     |     |     |     |     |'],
    ['a quotation in a quotation', '> > said before'],
    ['a mark inside a sentence', `git writes ${OURS} there.`],
  ])('may hold %s', (_, text) => {
    expect(foundIn(text)).toEqual([]);
  });
});
