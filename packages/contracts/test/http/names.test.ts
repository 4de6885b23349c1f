import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { NewName } from '../../src/http/fields.ts';

const name = Compile(NewName);

describe('the name of a new record', () => {
  it.each([
    ['x'],
    ['GPU host 3'],
    [' padded '],
    ['Größe, 模型, نموذج'],
    // Persian joins some letters less, and an emoji of several people is joined.
    ['\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
    ['\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'],
    ['n'.repeat(128)],
  ])('may be %j', (text) => {
    expect(name.Check(text)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['blanks', ' \u00a0\u2003\u3000 '],
    ['only what joins', '\u200d\u200c'],
    ['a NUL', 'a\u0000b'],
    ['an end of a line', 'a\nb'],
    ['an end of a line first', '\na'],
    ['an end of a line last', 'a\n'],
    ['a line separator', 'a\u2028b'],
    ['an escape of terminals', 'a\u001b[31mb'],
    ['a control of the C1 set', 'a\u0085b'],
    ['a right-to-left override', 'photo\u202egnp.exe'],
    ['an isolate', 'a\u2066b'],
    ['a mark of direction', 'a\u200fb'],
    ['a space without width', 'a\u200bb'],
    ['a byte order mark', '\ufeffa'],
    ['too much', 'n'.repeat(129)],
  ])('is not %s', (_what, text) => {
    expect(name.Check(text)).toBe(false);
  });

  it('is checked fast at any length', () => {
    for (const text of [' ', 'a', ' a', 'a '].map((part) => part.repeat(500_000))) {
      expect(name.Check(`${text}\u0000`)).toBe(false);
    }
  });
});
